//! What a filter block says of a hash, bit by bit from DESIGN.md and through no code of the library's: the model
//! that every reader is held against. For blocks that were accepted; it trusts their bytes.

pub(crate) mod compact;

use crate::mend::{self, HEADER, u64_at};

const CLASSIC: u8 = 1;
const BLOCKED: u8 = 2;
const COMPACT: u8 = 3;

/// Whether a block says "maybe" to a hash.
pub fn might_contain(block: &[u8], hash: u64) -> bool {
    let (kind, probes, bits) = describe(block);
    let body = &block[HEADER..];
    match kind {
        _ if bits == 0 => false,
        COMPACT => compact::might_contain(body, probes.into(), hash),
        CLASSIC | BLOCKED => bloom(kind, probes, bits, body, hash),
        _ => mend::layers(block).into_iter().any(|(header, lines)| {
            let (kind, probes, bits) = describe(&block[header]);
            bloom(kind, probes, bits, &block[lines], hash)
        }),
    }
}

/// Kind, probes and bits in a header.
fn describe(header: &[u8]) -> (u8, u8, u64) {
    (header[5], header[6], u64_at(header, 8).expect("a header"))
}

fn bloom(kind: u8, probes: u8, bits: u64, lines: &[u8], hash: u64) -> bool {
    let probed = if kind == BLOCKED { blocked(probes, bits, hash) } else { classic(probes, bits, hash) };
    probed.into_iter().all(|bit| bit_of(lines, bit))
}

/// Bit `bit` of lines.
pub(crate) fn bit_of(lines: &[u8], bit: u64) -> bool {
    let byte = usize::try_from(bit / 8).expect("a bit that is there");
    lines[byte] >> (bit % 8) & 1 == 1
}

/// The bits of a hash in a blocked filter.
fn blocked(probes: u8, bits: u64, hash: u64) -> Vec<u64> {
    let line = ((hash & 0xFFFF_FFFF) * (bits / 512)) >> 32;
    let mut x = (hash >> 32) as u32;
    let mut probe = || {
        let bit = line * 512 + u64::from(x >> 23);
        x = x.wrapping_mul(0x9E37_79B9);
        bit
    };
    (0..probes).map(|_| probe()).collect()
}

/// The bits of a hash in a classic filter.
fn classic(probes: u8, bits: u64, hash: u64) -> Vec<u64> {
    const PHI: u64 = 0x9E37_79B9_7F4A_7C15;
    let z = hash.rotate_left(32).wrapping_mul(PHI);
    let (mut x, mut y) = (hash, (z ^ z >> 32) | 1);
    let probe = |i: u64| {
        let bit = (u128::from(x) * u128::from(bits)) >> 64;
        x = x.wrapping_add(y);
        y = y.wrapping_add((i + 1).wrapping_mul(PHI));
        bit as u64
    };
    (0..u64::from(probes)).map(probe).collect()
}
