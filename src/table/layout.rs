//! File header, footer, and the order of the sections between them.

use std::ops::Range;

use crate::error::{Section, TableFault};
use crate::format::crc32;
use crate::line::LINE_BYTES;

/// The first bytes of every file. As in PNG, a byte that no text begins with, and line ends of both kinds that
/// a transfer in text mode would change.
pub const MAGIC: [u8; 8] = *b"\x89BLT\r\n\x1a\n";

/// The last bytes of every file.
pub const END_MAGIC: [u8; 8] = *b"\x89BLT-END";

/// The version that this library writes. It reads all versions up to this one.
pub const VERSION: u16 = 1;

// The file header: each field begins where the one before it ends.
const VERSION_AT: usize = MAGIC.len();
const FLAGS_AT: usize = VERSION_AT + 2;
const HEADER_CRC_AT: usize = FLAGS_AT + 2;

/// Bytes of the file header.
pub const FILE_HEADER_BYTES: usize = HEADER_CRC_AT + 4;

// The footer.
const FILTER_AT: usize = 0;
const INDEX_AT: usize = FILTER_AT + 16;
const PROPERTIES_AT: usize = INDEX_AT + 16;
const FOOTER_VERSION_AT: usize = PROPERTIES_AT + 16;
const FOOTER_FLAGS_AT: usize = FOOTER_VERSION_AT + 2;
const FOOTER_CRC_AT: usize = FOOTER_FLAGS_AT + 2;
const END_MAGIC_AT: usize = FOOTER_CRC_AT + 4;

/// Bytes of the footer.
pub const FOOTER_BYTES: usize = END_MAGIC_AT + END_MAGIC.len();

/// The fewest bytes that any file has: file header and footer.
pub const MIN_FILE_BYTES: u64 = (FILE_HEADER_BYTES + FOOTER_BYTES) as u64;

/// How far before its end a file is searched for a footer, to tell appended bytes from a truncation.
const FOOTER_SEARCH: usize = 64 << 10;

/// The file header of version 1.
#[must_use]
pub(super) fn encode_header() -> [u8; FILE_HEADER_BYTES] {
    let mut bytes = [0; FILE_HEADER_BYTES];
    bytes[..VERSION_AT].copy_from_slice(&MAGIC);
    bytes[VERSION_AT..FLAGS_AT].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32(&bytes[..HEADER_CRC_AT]);
    bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks the file header. A version is believed only when the checksum holds: magic, version and checksum keep
/// their places in all versions.
fn check_header(file: &[u8]) -> Result<(), TableFault> {
    if file.is_empty() {
        return Err(TableFault::Empty { needed: MIN_FILE_BYTES });
    }
    let start = &file[..file.len().min(MAGIC.len())];
    if start != &MAGIC[..start.len()] {
        return Err(TableFault::Magic { expected: MAGIC, got: start.to_vec() });
    }
    let too_short = || TableFault::TooShort { needed: MIN_FILE_BYTES, got: file.len() as u64 };
    let header = file.first_chunk::<FILE_HEADER_BYTES>().ok_or_else(too_short)?;
    let expected = u32::from_le_bytes(field(header, HEADER_CRC_AT));
    let got = crc32(&header[..HEADER_CRC_AT]);
    if expected != got {
        return Err(TableFault::HeaderChecksum { expected, got });
    }
    let version = u16::from_le_bytes(field(header, VERSION_AT));
    if version == 0 {
        return Err(TableFault::NoVersion);
    }
    if version > VERSION {
        return Err(TableFault::Version { newest: VERSION, got: version });
    }
    let flags = u16::from_le_bytes(field(header, FLAGS_AT));
    if flags != 0 {
        return Err(TableFault::Reserved { field: "flags", got: flags.into() });
    }
    if (file.len() as u64) < MIN_FILE_BYTES {
        return Err(too_short());
    }
    Ok(())
}

/// Where a section lies. No bytes at offset 0: the section is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Extent {
    fn is_absent(self) -> bool {
        self == Self::default()
    }

    fn decode(footer: &[u8; FOOTER_BYTES], at: usize) -> Self {
        Self {
            offset: u64::from_le_bytes(field(footer, at)),
            bytes: u64::from_le_bytes(field(footer, at + 8)),
        }
    }

    fn encode(self, footer: &mut [u8; FOOTER_BYTES], at: usize) {
        footer[at..at + 8].copy_from_slice(&self.offset.to_le_bytes());
        footer[at + 8..at + 16].copy_from_slice(&self.bytes.to_le_bytes());
    }
}

/// What the footer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Footer {
    pub(super) filter: Extent,
    pub(super) index: Extent,
    pub(super) properties: Extent,
}

impl Footer {
    pub(super) fn encode(self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        self.filter.encode(&mut bytes, FILTER_AT);
        self.index.encode(&mut bytes, INDEX_AT);
        self.properties.encode(&mut bytes, PROPERTIES_AT);
        bytes[FOOTER_VERSION_AT..FOOTER_FLAGS_AT].copy_from_slice(&VERSION.to_le_bytes());
        let crc = crc32(&bytes[..FOOTER_CRC_AT]);
        bytes[FOOTER_CRC_AT..END_MAGIC_AT].copy_from_slice(&crc.to_le_bytes());
        bytes[END_MAGIC_AT..].copy_from_slice(&END_MAGIC);
        bytes
    }

    /// Reads the footer, of which only the magic is known to be right.
    fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Self, TableFault> {
        let expected = u32::from_le_bytes(field(bytes, FOOTER_CRC_AT));
        let got = crc32(&bytes[..FOOTER_CRC_AT]);
        if expected != got {
            return Err(TableFault::FooterChecksum { expected, got });
        }
        let version = u16::from_le_bytes(field(bytes, FOOTER_VERSION_AT));
        if version != VERSION {
            return Err(TableFault::FooterVersion { expected: VERSION, got: version });
        }
        let flags = u16::from_le_bytes(field(bytes, FOOTER_FLAGS_AT));
        if flags != 0 {
            return Err(TableFault::Reserved { field: "footer flags", got: flags.into() });
        }
        Ok(Self {
            filter: Extent::decode(bytes, FILTER_AT),
            index: Extent::decode(bytes, INDEX_AT),
            properties: Extent::decode(bytes, PROPERTIES_AT),
        })
    }
}

/// The sections of a file, checked to lie in order, each within the file and none over another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sections {
    /// From the end of the file header to the start of the next section: data blocks, then padding if a filter
    /// follows. Empty for a filter file.
    pub(super) data: Range<usize>,
    pub(super) filter: Option<Range<usize>>,
    /// `None` for a filter file.
    pub(super) index: Option<Range<usize>>,
    pub(super) properties: Range<usize>,
}

impl Sections {
    /// Finds the sections from file header and footer, in O(1).
    pub(super) fn locate(file: &[u8]) -> Result<Self, TableFault> {
        check_header(file)?;
        // `check_header` has seen that the file has room for a footer.
        let footer = file.last_chunk::<FOOTER_BYTES>().ok_or_else(|| missing_footer(file))?;
        if !footer.ends_with(&END_MAGIC) {
            return Err(whole_file_before(file)
                .map_or_else(|| missing_footer(file), |expected| trailing(file, expected)));
        }
        Self::from_footer(Footer::decode(footer)?, (file.len() - FOOTER_BYTES) as u64)
    }

    fn from_footer(footer: Footer, footer_at: u64) -> Result<Self, TableFault> {
        let mut end = FILE_HEADER_BYTES as u64;
        let mut data = end..end;
        let (filter, index) = (footer.filter, footer.index);
        if filter.is_absent() && index.is_absent() {
            return Err(TableFault::SectionMissing { section: Section::Index });
        }
        // The first section after the data blocks tells where they end; it can't begin before they do.
        let (after_data, section) =
            if filter.is_absent() { (index, Section::Index) } else { (filter, Section::Filter) };
        if after_data.offset < end || (index.is_absent() && after_data.offset != end) {
            return Err(TableFault::SectionStart { section, expected: end, got: after_data.offset });
        }
        if !filter.is_absent() && filter.offset % LINE_BYTES as u64 != FILTER_PHASE {
            let expected = filter_offset(filter.offset).unwrap_or(u64::MAX);
            return Err(TableFault::SectionStart { section, expected, got: filter.offset });
        }
        data.end = after_data.offset;
        end = after_data.offset;

        let mut take = |extent: Extent, section, min: u64| {
            if extent.offset != end {
                return Err(TableFault::SectionStart { section, expected: end, got: extent.offset });
            }
            let max = footer_at.saturating_sub(end);
            if extent.bytes < min || extent.bytes > max {
                return Err(TableFault::SectionBytes { section, min, max, got: extent.bytes });
            }
            // At most `footer_at`, which is the length of something in memory.
            end += extent.bytes;
            Ok(as_range(extent.offset..end))
        };
        let filter = if filter.is_absent() {
            None
        } else {
            Some(take(filter, Section::Filter, crate::format::HEADER_BYTES as u64)?)
        };
        let index = if index.is_absent() {
            None
        } else {
            Some(take(index, Section::Index, super::index::MIN_BYTES as u64)?)
        };
        let properties = take(footer.properties, Section::Properties, super::sealed::TRAILER_BYTES as u64)?;
        if end != footer_at {
            return Err(TableFault::SectionsEnd { expected: footer_at, got: end });
        }
        Ok(Self { data: as_range(data), filter, index, properties })
    }
}

/// Where in a line's 64 bytes a filter block begins, so that its body lies on a line boundary.
const FILTER_PHASE: u64 = FILE_HEADER_BYTES as u64;

/// The first offset from `end` on at which a filter block may begin.
pub(super) fn filter_offset(end: u64) -> Option<u64> {
    let line = LINE_BYTES as u64;
    let past = end % line;
    end.checked_add((FILTER_PHASE + line - past) % line)
}

/// A range of offsets that was checked against the length of the mapping.
fn as_range(range: Range<u64>) -> Range<usize> {
    let offset = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
    offset(range.start)..offset(range.end)
}

fn missing_footer(file: &[u8]) -> TableFault {
    TableFault::MissingFooter { expected: END_MAGIC, got: file.last_chunk().copied().unwrap_or_default() }
}

fn trailing(file: &[u8], expected: usize) -> TableFault {
    TableFault::TrailingBytes { expected: expected as u64, got: file.len() as u64 }
}

/// Where a whole file ends before the end of `file`, if it does not far from there.
fn whole_file_before(file: &[u8]) -> Option<usize> {
    let first = file.len().saturating_sub(FOOTER_SEARCH);
    (first..file.len()).rev().find(|&end| {
        let Some((sections, footer)) = file[..end].split_last_chunk::<FOOTER_BYTES>() else { return false };
        footer.ends_with(&END_MAGIC)
            && Footer::decode(footer)
                .is_ok_and(|footer| Sections::from_footer(footer, sections.len() as u64).is_ok())
    })
}

/// The `N` bytes at `at`, a constant that leaves room for them.
fn field<const N: usize, const OF: usize>(bytes: &[u8; OF], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}
