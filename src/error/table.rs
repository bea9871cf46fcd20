//! What can go wrong with table and filter files.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{FilterError, FormatError};

/// A table or filter file that could not be written or read. Every message names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The system refused an operation.
    #[error("{}: cannot {operation}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as a verb phrase: `"open it"`.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not one that this library can answer from.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TableFault,
    },
    /// The filter of a table could not be built.
    #[error("{}: cannot build its filter: {source}", path.display())]
    Filter {
        /// The file that was being written.
        path: PathBuf,
        /// Why not.
        source: FilterError,
    },
    /// A key was added that does not come after the one before it.
    #[error("{}: keys must ascend and be unique: {} was added after {}", path.display(), Key(key), Key(previous))]
    KeyOrder {
        /// The file that is being written.
        path: PathBuf,
        /// The last key that was taken.
        previous: Vec<u8>,
        /// The key that was refused.
        key: Vec<u8>,
    },
    /// A key or value is longer than the format takes.
    #[error("{}: a {what} has at most {max} bytes, got {got}", path.display())]
    TooLong {
        /// The file that is being written.
        path: PathBuf,
        /// `"key"` or `"value"`.
        what: &'static str,
        /// The most bytes that are taken.
        max: u64,
        /// The bytes that were given.
        got: u64,
    },
    /// An entry was added, or the file finished, after writing had failed.
    #[error("{}: an earlier write failed, so the file was given up", path.display())]
    GivenUp {
        /// The file that was being written.
        path: PathBuf,
    },
    /// The caller's [`Cancel`](crate::table::Cancel) gave the file up. Nothing was published: what was at the path
    /// is still there.
    #[error("{}: writing it was cancelled", path.display())]
    Interrupted {
        /// The file that was being written.
        path: PathBuf,
    },
    /// Entries were asked for from a file that holds a filter only.
    #[error("{}: a filter file: it holds no entries to look up", path.display())]
    FilterOnly {
        /// The file.
        path: PathBuf,
    },
}

impl TableError {
    /// True where the file is not a whole, valid file: damaged, truncated, or never one of this library's.
    ///
    /// False where the file may well be good and something else is amiss: it can't be opened, is of a newer
    /// version, or needs a hasher that was not given.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.is_damage())
    }
}

/// What is wrong with a file. Offsets are in bytes from the start of the file.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TableFault {
    /// The path leads to something that has no bytes to map.
    #[error("a regular file is needed, got {got}")]
    NotAFile {
        /// What it leads to: `"a directory"`.
        got: &'static str,
    },
    /// The file has no bytes.
    #[error("an empty file: a filter or table file has at least {needed} bytes")]
    Empty {
        /// Bytes of the smallest file.
        needed: u64,
    },
    /// The file begins well and is shorter than any file can be.
    #[error("truncated: a filter or table file has at least {needed} bytes, got {got}")]
    TooShort {
        /// Bytes of the smallest file.
        needed: u64,
        /// Bytes of this one.
        got: u64,
    },
    /// The first bytes are not those of this library's files.
    #[error("not a filter or table file: it begins with \"{}\", not with \"{}\"", got.escape_ascii(), expected.escape_ascii())]
    Magic {
        /// The magic of this library's files.
        expected: [u8; 8],
        /// The first bytes, at most 8.
        got: Vec<u8>,
    },
    /// The file header is damaged.
    #[error("damaged file header: its CRC32 is {got:#010x} where {expected:#010x} was written")]
    HeaderChecksum {
        /// The checksum that the header carries.
        expected: u32,
        /// The checksum of its bytes.
        got: u32,
    },
    /// The file was written by a newer version of the library.
    #[error("format version {got} is newer than this program, which reads up to {newest}")]
    Version {
        /// The newest version that this library reads.
        newest: u16,
        /// The version of the file.
        got: u16,
    },
    /// The file says version 0, which there never was: versions begin at 1.
    #[error("format version 0, which does not exist: versions begin at 1")]
    NoVersion,
    /// A field that is zero in this version holds something.
    #[error("the field `{field}` must be 0, got {got}")]
    Reserved {
        /// The field's name in the byte map.
        field: &'static str,
        /// What it holds.
        got: u64,
    },
    /// The file does not end with a footer.
    #[error("truncated, or damaged at its end: the last bytes are \"{}\", not \"{}\"", got.escape_ascii(), expected.escape_ascii())]
    MissingFooter {
        /// The magic that ends a file.
        expected: [u8; 8],
        /// The bytes that end this one.
        got: [u8; 8],
    },
    /// A whole file is followed by more bytes.
    #[error("bytes after the end: the file should have {expected} bytes, got {got}")]
    TrailingBytes {
        /// Bytes of the file by its footer.
        expected: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// The footer is damaged.
    #[error("damaged footer: its CRC32 is {got:#010x} where {expected:#010x} was written")]
    FooterChecksum {
        /// The checksum that the footer carries.
        expected: u32,
        /// The checksum of its bytes.
        got: u32,
    },
    /// The versions in file header and footer differ.
    #[error("the footer says format version {got}, the file header {expected}")]
    FooterVersion {
        /// The version in the file header.
        expected: u16,
        /// The version in the footer.
        got: u16,
    },
    /// A section does not begin where the one before it ends.
    #[error("the {section} should begin at byte {expected}, the footer says {got}")]
    SectionStart {
        /// Which section.
        section: Section,
        /// Where the layout puts it.
        expected: u64,
        /// Where the footer puts it.
        got: u64,
    },
    /// A section is shorter than it can be, or reaches past the footer.
    #[error("the {section} must have {min} to {max} bytes, the footer says {got}")]
    SectionBytes {
        /// Which section.
        section: Section,
        /// The fewest bytes that it has.
        min: u64,
        /// The most bytes that there is room for.
        max: u64,
        /// The bytes that the footer gives it.
        got: u64,
    },
    /// A section that the file can't do without is not there.
    #[error("the {section} is missing")]
    SectionMissing {
        /// Which section.
        section: Section,
    },
    /// Sections end before the footer begins, or the other way round.
    #[error("the sections end at byte {got}, the footer begins at byte {expected}")]
    SectionsEnd {
        /// Where the footer begins.
        expected: u64,
        /// Where the sections end.
        got: u64,
    },
    /// A block has another type than its place asks for.
    #[error("the block of the {section} at byte {offset} should be of type {expected}, got {got}")]
    BlockType {
        /// The section that the block belongs to.
        section: Section,
        /// Where the block begins.
        offset: u64,
        /// The type that belongs there.
        expected: u8,
        /// The type found.
        got: u8,
    },
    /// A block is damaged.
    #[error(
        "damaged block of the {section} at byte {offset}: its CRC32 is {got:#010x} where {expected:#010x} was written"
    )]
    BlockChecksum {
        /// The section that the block belongs to.
        section: Section,
        /// Where the block begins.
        offset: u64,
        /// The checksum that the block carries.
        expected: u32,
        /// The checksum of its bytes.
        got: u32,
    },
    /// A block's checksum is right and its contents are not what any writer writes.
    #[error("malformed {section} at byte {offset}: {what}")]
    Malformed {
        /// The section.
        section: Section,
        /// Where.
        offset: u64,
        /// What was found there, against what was expected.
        what: &'static str,
    },
    /// A block's checksum is right and it holds more of something than the format allows.
    #[error("malformed {section} at byte {offset}: {what}: at most {max}, got {got}")]
    Limit {
        /// The section.
        section: Section,
        /// Where.
        offset: u64,
        /// What is limited: `"bytes of a key"`, `"bytes of a value"`, `"entries from one restart point to the
        /// next"`.
        what: &'static str,
        /// The most that there may be.
        max: u64,
        /// What there is; for entries, as far as they were counted.
        got: u64,
    },
    /// Padding holds something.
    #[error("the padding byte at {offset} must be 0, got {got}")]
    Padding {
        /// Where.
        offset: u64,
        /// What it holds.
        got: u8,
    },
    /// The filter block can't be used.
    #[error("filter block: {0}")]
    Filter(#[from] FormatError),
    /// The filter says that a key of the table is absent.
    #[error("the filter denies a key that the block at byte {offset} holds")]
    FilterDeniesKey {
        /// Where the data block begins.
        offset: u64,
    },
    /// Two places that should tell the same number don't.
    #[error("{field}: {expected} by the properties, {got} in the data blocks")]
    CountMismatch {
        /// What is counted.
        field: &'static str,
        /// What the properties say.
        expected: u64,
        /// What the data blocks hold.
        got: u64,
    },
    /// Two places that should tell the same key don't.
    #[error("{field}: {} was expected, the data blocks hold {}", Key(expected), Key(got))]
    KeyMismatch {
        /// Which key.
        field: &'static str,
        /// The key by index or properties.
        expected: Vec<u8>,
        /// The key in the data blocks.
        got: Vec<u8>,
    },
}

impl TableFault {
    /// True where the file is not a whole, valid file. See [`TableError::is_damage`].
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NotAFile { .. } | Self::Version { .. } => false,
            Self::Filter(fault) => !matches!(
                fault,
                FormatError::Version { .. }
                    | FormatError::UnknownKind { .. }
                    | FormatError::WrongKind { .. }
                    | FormatError::Hasher(_)
                    | FormatError::OutOfMemory { .. }
            ),
            _ => true,
        }
    }
}

/// The sections of a file, as errors name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// The data blocks.
    Data,
    /// The filter block.
    Filter,
    /// The index block.
    Index,
    /// The properties.
    Properties,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "data",
            Self::Filter => "filter",
            Self::Index => "index",
            Self::Properties => "properties",
        })
    }
}

/// Shows a key on one line, whatever its bytes, and only the start of a long one.
struct Key<'a>(&'a [u8]);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 64;
        match self.0.get(..SHOWN) {
            Some(start) if self.0.len() > SHOWN => {
                write!(f, "\"{}…\" ({} bytes)", start.escape_ascii(), self.0.len())
            }
            _ => write!(f, "\"{}\"", self.0.escape_ascii()),
        }
    }
}
