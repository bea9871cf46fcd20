//! The line ribbon, as DESIGN.md defines it.

use std::ops::Range;

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

/// Slots of a line, and bits of its threshold.
fn shape(r: u64) -> (u64, u64) {
    let slots = 507 / r;
    (slots, 8.min(512 - r * slots))
}

/// The directory in the tail: bit i is column i mod r of slot S − 1 − ⌊i / r⌋.
struct Directory<'a> {
    tail: &'a [u8],
    r: u64,
}

impl Directory<'_> {
    fn bits(&self, range: Range<u64>) -> u64 {
        let (slots, _) = shape(self.r);
        let bit = |i: u64| u64::from(bit_of(self.tail, i % self.r * slots + slots - 1 - i / self.r));
        range.rev().fold(0, |number, i| number << 1 | bit(i))
    }

    /// The codes of the sizes of the layers that are neither the first nor the tail.
    fn codes(&self) -> Vec<u64> {
        (0..self.layers().saturating_sub(2)).map(|i| self.bits(4 + 16 * i..20 + 16 * i)).collect()
    }

    fn layers(&self) -> u64 {
        self.bits(0..4) + 1
    }

    /// Bits that are used, and those of whole slots.
    fn length(&self) -> (u64, u64) {
        let bits = 4 + 16 * self.codes().len() as u64;
        (bits, bits.next_multiple_of(self.r))
    }
}

/// The number of lines that a code says.
fn size(code: u64) -> u64 {
    (code & 0x7FF) << (code >> 11)
}

/// Whether DESIGN.md allows a body of `r` fingerprint bits.
pub(crate) fn sound(body: &[u8], r: u64) -> bool {
    let lines: Vec<&[u8]> = body.chunks(64).collect();
    let (slots, threshold_bits) = shape(r);
    let directory = Directory { tail: lines[lines.len() - 1], r };
    let codes = directory.codes();
    let shortest = |&code: &u64| size(code) > 0 && (code >> 11 == 0 || code & 0x400 != 0);
    // Layer 0 has at least one line, and the tail has one.
    let needed = codes.iter().fold(2_u64, |sum, &code| sum.saturating_add(size(code)));
    let layers_fit = match directory.layers() {
        1 => lines.len() == 1,
        _ => codes.iter().all(shortest) && needed <= lines.len() as u64,
    };
    let (used, whole) = directory.length();
    let spare = r * slots..512 - threshold_bits;
    layers_fit
        && directory.bits(used..whole) == 0
        && lines.iter().all(|line| spare.clone().all(|bit| !bit_of(line, bit)))
}

/// Whether a body of `r` fingerprint bits says "maybe" to a hash.
pub(super) fn might_contain(body: &[u8], r: u64, hash: u64) -> bool {
    let lines: Vec<&[u8]> = body.chunks(64).collect();
    let (slots, threshold_bits) = shape(r);
    let directory = Directory { tail: lines[lines.len() - 1], r };
    let mut sizes: Vec<u64> = directory.codes().into_iter().map(size).collect();
    if directory.layers() > 1 {
        sizes.insert(0, lines.len() as u64 - 1 - sizes.iter().sum::<u64>());
    }
    sizes.push(1);
    let tail_slots = slots - directory.length().1 / r;

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
