//! Checksums made right again after a change, as an attacker would, without which no change gets past them.
//!
//! The byte maps are known here from DESIGN.md and not through the library. Any bytes may come: what isn't there
//! is left alone.

use std::ops::Range;

use arbitrary::Arbitrary;
use bloomline::format::crc32;

/// How much is made right.
#[derive(Arbitrary, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// Nothing: damage.
    Nothing,
    /// The checksums of headers, footer and directory, not those of what they lead to.
    Headers,
    /// Every checksum.
    Checksums,
    /// The sums and lengths that follow from the rest, and every checksum.
    Sums,
}

/// Bytes of a block's header.
pub const HEADER: usize = 48;
/// Where the headers of the layers begin in the block of a scalable filter.
const LAYERS: usize = HEADER + 64;
const SCALABLE: u8 = 4;

/// The number of 8 bytes at `at`, if there is one.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    field.try_into().ok().map(u64::from_le_bytes)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}

/// Puts the CRC of a range right behind it.
fn seal(bytes: &mut [u8], covered: Range<usize>) {
    if let Some(covered_bytes) = bytes.get(covered.clone()) {
        let crc = crc32(covered_bytes).to_le_bytes();
        put(bytes, covered.end, &crc);
    }
}

/// Mends a filter block.
pub fn block(bytes: &mut [u8], mend: Mend) {
    if mend == Mend::Nothing || bytes.len() < HEADER {
        return;
    }
    let scalable = bytes[5] == SCALABLE;
    if mend == Mend::Sums && (scalable || bytes[5] > 1) {
        let bits = (bytes.len() - HEADER) as u64 / 64 * 512;
        put(bytes, 8, &bits.to_le_bytes());
    }
    if scalable {
        container(bytes, mend);
    }
    if mend != Mend::Headers {
        let crc = crc32(&bytes[HEADER..]).to_le_bytes();
        put(bytes, 40, &crc);
    }
    seal(bytes, 0..44);
}

/// Mends the directory of a scalable filter's block, and the headers in it.
fn container(bytes: &mut [u8], mend: Mend) {
    let layers = usize::from(bytes[6]);
    let directory = HEADER..HEADER + (64 + 48 * layers).next_multiple_of(64);
    let (mut at, mut keys) = (directory.end, 0_u64);
    for layer in layer_headers(bytes) {
        let header = layer.start;
        let bits = u64_at(bytes, header + 8).unwrap_or(0);
        keys = keys.saturating_add(u64_at(bytes, header + 16).unwrap_or(0));
        let lines = usize::try_from(bits.div_ceil(512).saturating_mul(64)).unwrap_or(usize::MAX);
        let end = at.saturating_add(lines);
        if let Some(lines) = bytes.get(at..end)
            && mend != Mend::Headers
        {
            let crc = crc32(lines).to_le_bytes();
            put(bytes, header + 40, &crc);
        }
        at = end;
        seal(bytes, header..header + 44);
    }
    if mend == Mend::Sums {
        put(bytes, 16, &keys.to_le_bytes());
    }
    if let Some(all) = bytes.get(directory) {
        let crc = crc32(&[&all[..60], &all[64..]].concat()).to_le_bytes();
        put(bytes, HEADER + 60, &crc);
    }
}

/// Where the headers of the layers of a scalable filter's block lie, those that are there.
pub fn layer_headers(block: &[u8]) -> impl Iterator<Item = Range<usize>> + use<> {
    let (scalable, layers) = block.get(5..7).map_or((false, 0), |bytes| (bytes[0] == SCALABLE, bytes[1]));
    let length = block.len();
    (0..if scalable { usize::from(layers) } else { 0 })
        .map(|layer| LAYERS + 48 * layer..LAYERS + 48 * layer + 48)
        .take_while(move |header| header.end <= length)
}

/// The header and the lines of each layer of a scalable filter's block that was accepted.
pub fn layers(block: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let headers: Vec<_> = layer_headers(block).collect();
    let mut at = headers.last().map_or(HEADER, |header| (header.end - HEADER).next_multiple_of(64) + HEADER);
    let mut with_lines = |header: Range<usize>| {
        let bits = u64_at(block, header.start + 8).unwrap_or(0);
        let start = at;
        at += usize::try_from(bits.div_ceil(512)).expect("lines that are there") * 64;
        (header, start..at)
    };
    headers.into_iter().map(&mut with_lines).collect()
}

/// The fields of a block's header, the first of which is at `start`.
fn header_fields(start: usize) -> impl Iterator<Item = Range<usize>> {
    [0, 4, 5, 6, 7, 8, 16, 24, 32, 34, 36, 40, 44, 48]
        .windows(2)
        .map(|ends| ends[0]..ends[1])
        .collect::<Vec<_>>()
        .into_iter()
        .map(move |field| field.start + start..field.end + start)
}

/// What is worth changing in a block: the fields, and the lines.
pub fn block_parts(block: &[u8]) -> Vec<Range<usize>> {
    let mut parts: Vec<_> = header_fields(0).collect();
    let mut lines = HEADER;
    if block.get(5) == Some(&SCALABLE) {
        let directory =
            [0, 8, 16, 24, 25, 26, 60, 64].windows(2).map(|ends| HEADER + ends[0]..HEADER + ends[1]);
        parts.extend(directory.collect::<Vec<_>>());
        for header in layer_headers(block) {
            parts.extend(header_fields(header.start));
            lines = header.end;
        }
    }
    parts.push(lines..block.len());
    // The directory of a compact filter is in its last line.
    parts.push(block.len().saturating_sub(64).max(lines)..block.len());
    parts
}

/// The sections of a table file, by its footer and index.
#[derive(Debug, Default)]
pub struct Sections {
    /// The data blocks, as far as the index makes sense.
    pub blocks: Vec<Range<usize>>,
    /// The filter block.
    pub filter: Option<Range<usize>>,
    /// The index block.
    pub index: Option<Range<usize>>,
    /// The properties block.
    pub properties: Option<Range<usize>>,
}

const FOOTER: usize = 64;
const FILE_HEADER: usize = 16;

/// Reads the footer of a table file.
pub fn sections(file: &[u8]) -> Sections {
    let Some(footer) = file.len().checked_sub(FOOTER) else { return Sections::default() };
    let section = |field: usize| {
        let start = usize::try_from(u64_at(file, footer + 16 * field)?).ok()?;
        let bytes = usize::try_from(u64_at(file, footer + 16 * field + 8)?).ok()?;
        let end = start.checked_add(bytes)?;
        (bytes > 0 && end <= footer).then_some(start..end)
    };
    let mut sections =
        Sections { blocks: Vec::new(), filter: section(0), index: section(1), properties: section(2) };
    let Some(index) = &sections.index else { return sections };
    let mut start = FILE_HEADER;
    let mut record = index.start.saturating_add(8);
    for _ in 0..u64_at(file, index.start).unwrap_or(0) {
        let end = u64_at(file, record.saturating_add(8)).and_then(|end| usize::try_from(end).ok());
        let Some(end) = end.filter(|&end| record + 16 <= index.end && start < end && end <= footer) else {
            break;
        };
        sections.blocks.push(start..end);
        (start, record) = (end, record + 16);
    }
    sections
}

/// Mends a table or filter file.
pub fn table(file: &mut [u8], mend: Mend) {
    if mend == Mend::Nothing || file.len() < FILE_HEADER + FOOTER {
        return;
    }
    let sections = sections(file);
    seal(file, 0..12);
    let sealed = sections.blocks.iter().chain(&sections.index).chain(&sections.properties);
    for block in sealed.filter(|_| mend != Mend::Headers) {
        if let Some(end) = block.end.checked_sub(4) {
            seal(file, block.start..end);
        }
    }
    if let Some(filter) = sections.filter {
        block(&mut file[filter], mend);
    }
    let footer = file.len() - FOOTER;
    seal(file, footer..footer + 52);
}

/// What is worth changing in a table or filter file.
pub fn table_parts(file: &[u8]) -> Vec<Range<usize>> {
    let sections = sections(file);
    let footer = file.len().saturating_sub(FOOTER);
    let mut parts = vec![0..8, 8..10, 10..12, 12..16];
    for field in [0, 8, 16, 24, 32, 40, 48, 50, 52, 56, 64].windows(2) {
        parts.push(footer + field[0]..footer + field[1]);
    }
    if let (Some(last), Some(filter)) = (sections.blocks.last(), &sections.filter) {
        // The padding.
        parts.push(last.end..filter.start);
    }
    for block in sections.blocks {
        // Its beginning, where an entry is sure to be, and its end: restart points, their number, type, CRC.
        parts.extend([block.start..block.end.min(block.start + 8), block.end.saturating_sub(17)..block.end]);
        parts.push(block);
    }
    if let Some(filter) = sections.filter {
        let fields = block_parts(&file[filter.clone()]);
        parts.extend(fields.into_iter().map(|field| filter.start + field.start..filter.start + field.end));
    }
    if let Some(index) = sections.index {
        let fields = (index.start..index.end).step_by(8).map(|at| at..index.end.min(at + 8));
        parts.extend(fields.take(9));
        parts.push(index);
    }
    if let Some(properties) = sections.properties {
        parts.extend([properties.start..properties.end.min(properties.start + 6), properties]);
    }
    parts
}
