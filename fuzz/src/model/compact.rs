//! The line ribbon, as DESIGN.md defines it.

use super::bit_of;

/// The first 64 fractional bits of the square roots of 3, 5, 7 and 11.
const C: [u64; 4] =
    [0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1, 0x510E_527F_ADE6_82D1];

/// The digits of a key, one base after the other.
struct Digits(u64);

impl Digits {
    fn next(&mut self, base: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(base);
        self.0 = product as u64;
        (product >> 64) as u64
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Whether a body of `r` fingerprint bits says "maybe" to a hash.
pub(super) fn might_contain(body: &[u8], r: u64, hash: u64) -> bool {
    let lines: Vec<&[u8]> = body.chunks(64).collect();
    let slots = 507 / r;
    let threshold_bits = 8.min(512 - r * slots);
    let tail = lines[lines.len() - 1];

    // Directory bit i is column i mod r of slot S − 1 − ⌊i / r⌋ of the tail.
    let directory = |range: std::ops::Range<u64>| {
        let bit = |i: u64| u64::from(bit_of(tail, i % r * slots + slots - 1 - i / r));
        range.rev().fold(0, |number, i| number << 1 | bit(i))
    };
    let count = directory(0..4) + 1;
    let between: Vec<u64> = (0..count.saturating_sub(2))
        .map(|i| directory(4 + 16 * i..20 + 16 * i))
        .map(|code| (code & 0x7FF) << (code >> 11))
        .collect();
    let mut sizes = between.clone();
    if count > 1 {
        sizes.insert(0, lines.len() as u64 - 1 - between.iter().sum::<u64>());
    }
    sizes.push(1);
    let tail_slots = slots - (4 + 16 * between.len() as u64).div_ceil(r);

    let (mut y, mut start) = (hash, 0);
    for (layer, &size) in sizes.iter().enumerate() {
        let mut digits = Digits(y.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let line = lines[usize::try_from(start + digits.next(size)).expect("a line that is there")];
        let rank = digits.next((1 << threshold_bits) - 1);
        let fingerprint = digits.next(1 << r);
        if rank >= u64::from(line[63] >> (8 - threshold_bits)) {
            let used = if layer + 1 == sizes.len() { tail_slots } else { slots };
            let folds = u128::from(fold(y ^ C[0], C[1])) | u128::from(fold(y ^ C[2], C[3])) << 64;
            return (0..r).all(|column| {
                let chosen = (0..used).filter(|slot| folds >> slot & 1 == 1);
                let ones = chosen.filter(|slot| bit_of(line, column * slots + slot)).count() as u64;
                ones % 2 == fingerprint >> (r - 1 - column) & 1
            });
        }
        start += size;
        let z = (y ^ y >> 32).wrapping_mul(0x9B05_688C_2B3E_6C1F);
        y = z ^ z >> 29;
    }
    // Bumped by the tail.
    true
}
