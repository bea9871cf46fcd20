//! Whether DESIGN.md allows a block, checked field by field and through no code of the library's.

use std::ops::Range;

use bloomline::format::crc32;

use crate::mend::{self, HEADER, u64_at};
use crate::model::{bit_of, compact};

const CLASSIC: u8 = 1;
const BLOCKED: u8 = 2;
const COMPACT: u8 = 3;
const SCALABLE: u8 = 4;

/// Whether the block is sound but perhaps for its hasher.
pub fn sound(block: &[u8]) -> bool {
    let Some(header) = block.get(..HEADER) else { return false };
    let lines = &block[HEADER..];
    sound_header(header)
        && lines_of(header) == Some(lines.len())
        && match header[5] {
            COMPACT => lines.is_empty() || compact::sound(lines, header[6].into()),
            SCALABLE => sound_container(block),
            _ => padded(header, lines),
        }
        && crc_at(header, 40) == crc32(lines)
}

fn crc_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64_at(bytes, at).expect("eight bytes")
}

/// Bytes of the lines that a header asks for.
fn lines_of(header: &[u8]) -> Option<usize> {
    usize::try_from(number(header, 8).div_ceil(512)).ok()?.checked_mul(64)
}

/// Magic, CRC, version, flags, reserved bytes, kind and parameters.
fn sound_header(header: &[u8]) -> bool {
    let (kind, probes, bits) = (header[5], header[6], number(header, 8));
    let fixed = header.starts_with(b"\x89BLF\x01") && header[7] == 0 && header[34..36] == [0, 0];
    let parameters = match kind {
        CLASSIC..=COMPACT if bits == 0 => probes == 0 && number(header, 16) == 0,
        CLASSIC => (1..=64).contains(&probes) && bits <= 1 << 48,
        BLOCKED => (1..=30).contains(&probes) && bits.is_multiple_of(512) && bits <= 1 << 39,
        COMPACT => (4..=16).contains(&probes) && bits.is_multiple_of(512),
        SCALABLE => (1..=64).contains(&probes) && bits > 0 && bits.is_multiple_of(512),
        _ => false,
    };
    fixed && parameters && crc_at(header, 44) == crc32(&header[..44])
}

/// No bit set past those of a filter.
fn padded(header: &[u8], lines: &[u8]) -> bool {
    let all = lines.len() as u64 * 8;
    (number(header, 8)..all).all(|bit| !bit_of(lines, bit))
}

/// The directory of a scalable filter's block, and its layers.
fn sound_container(block: &[u8]) -> bool {
    let layers = usize::from(block[6]);
    let directory: Range<usize> = HEADER..HEADER + (64 + 48 * layers).next_multiple_of(64);
    let Some(bytes) = block.get(directory) else { return false };
    let rate = |at| f64::from_bits(number(bytes, at));
    let (growth, kind) = (bytes[24], bytes[25]);
    let options = number(bytes, 0) > 0
        && rate(8) > 0.0
        && rate(8) < 1.0
        && (0.5..=0.9).contains(&rate(16))
        && matches!(growth, 2 | 4)
        && matches!(kind, CLASSIC | BLOCKED);
    let zeros = bytes[26..60].iter().chain(&bytes[64 + 48 * layers..]).all(|&byte| byte == 0);
    if !options || !zeros || crc_at(bytes, 60) != crc32(&[&bytes[..60], &bytes[64..]].concat()) {
        return false;
    }
    let headers: Vec<&[u8]> = bytes[64..64 + 48 * layers].chunks(48).collect();
    // Before the lines are looked for, since these may claim any number.
    let alike = |header: &[u8]| {
        sound_header(header) && header[5] == kind && number(header, 8) > 0 && header[24..40] == block[24..40]
    };
    let lines = headers.iter().try_fold(0_usize, |sum, header| sum.checked_add(lines_of(header)?));
    if !headers.iter().all(|header| alike(header)) || lines != Some(block.len() - HEADER - bytes.len()) {
        return false;
    }
    let keys = headers.iter().fold(0_u64, |sum, header| sum.saturating_add(number(header, 16)));
    let mut capacity = number(bytes, 0);
    keys == number(block, 16)
        && mend::layers(block).into_iter().all(|(header, lines)| {
            let (header, lines) = (&block[header], &block[lines]);
            let room = capacity <= number(header, 8);
            capacity = capacity.saturating_mul(growth.into());
            room && padded(header, lines) && crc_at(header, 40) == crc32(lines)
        })
}
