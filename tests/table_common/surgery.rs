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
        mend_filter(&mut bytes[filter.clone()], &[]);
    }
    write_crc(bytes, map.footer..map.footer + 52);
}

/// Where the lines of each layer lie in the block of a scalable filter that is whole; nothing for other kinds.
pub(crate) fn layers(block: &[u8]) -> Vec<Range<usize>> {
    const SCALABLE: u8 = 4;
    if block[5] != SCALABLE {
        return Vec::new();
    }
    let count = usize::from(block[6]);
    let mut start = 48 + (64 + 48 * count).next_multiple_of(64);
    let header = |layer| 48 + 64 + 48 * layer;
    (0..count)
        .map(|layer| {
            let lines = usize_at(block, header(layer) + 8).div_ceil(512);
            let range = start..start + 64 * lines;
            start = range.end;
            range
        })
        .collect()
}

/// Mends every checksum of a filter block whose [`layers`] lay there before it was edited, from the inside out.
pub(crate) fn mend_filter(block: &mut [u8], layers: &[Range<usize>]) {
    for (layer, lines) in layers.iter().enumerate() {
        let crc = crc32(&block[lines.clone()]);
        let header = 48 + 64 + 48 * layer;
        block[header + 40..header + 44].copy_from_slice(&crc.to_le_bytes());
        write_crc(block, header..header + 44);
    }
    if let Some(first) = layers.first() {
        let directory = &block[48..first.start];
        let crc = crc32(&[&directory[..60], &directory[64..]].concat());
        block[48 + 60..48 + 64].copy_from_slice(&crc.to_le_bytes());
    }
    let crc = crc32(&block[48..]);
    block[40..44].copy_from_slice(&crc.to_le_bytes());
    write_crc(block, 0..44);
}
