//! Editing files with their checksums mended, as an attacker would. Knows the byte map on its own, not through
//! the library.

use std::ops::Range;

/// CRC32 (IEEE), bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

pub(crate) const HEADER: usize = 16;
pub(crate) const FOOTER: usize = 64;

/// The number of 8 bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// [`u64_at`], for an offset or a length.
pub(crate) fn usize_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64_at(bytes, at)).unwrap()
}

/// Where things lie in a file that is whole.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) blocks: Vec<Range<usize>>,
    pub(crate) filter: Option<Range<usize>>,
    pub(crate) index: Option<Range<usize>>,
    pub(crate) properties: Range<usize>,
    pub(crate) footer: usize,
}

/// Reads the footer, and the index for the data blocks.
pub(crate) fn map(bytes: &[u8]) -> Map {
    let footer = bytes.len() - FOOTER;
    let range = |field: usize| {
        let offset = usize_at(bytes, footer + 16 * field);
        let length = usize_at(bytes, footer + 16 * field + 8);
        (length > 0).then_some(offset..offset + length)
    };
    let index = range(1);
    let mut blocks = Vec::new();
    if let Some(index) = &index {
        let mut start = HEADER;
        for record in 0..usize_at(bytes, index.start) {
            let end = usize_at(bytes, index.start + 8 + 16 * record + 8);
            blocks.push(start..end);
            start = end;
        }
    }
    Map { blocks, filter: range(0), index, properties: range(2).unwrap(), footer }
}

fn write_crc(bytes: &mut [u8], covered: Range<usize>) {
    let crc = crc32(&bytes[covered.clone()]);
    bytes[covered.end..covered.end + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Mends every checksum of a file whose sections lie where `map` says.
pub(crate) fn mend(bytes: &mut [u8], map: &Map) {
    write_crc(bytes, 0..12);
    let sealed = map.blocks.iter().chain(&map.index).chain([&map.properties]);
    for block in sealed {
        write_crc(bytes, block.start..block.end - 4);
    }
    if let Some(filter) = &map.filter {
        let crc = crc32(&bytes[filter.start + 48..filter.end]);
        bytes[filter.start + 40..filter.start + 44].copy_from_slice(&crc.to_le_bytes());
        write_crc(bytes, filter.start..filter.start + 44);
    }
    write_crc(bytes, map.footer..map.footer + 52);
}
