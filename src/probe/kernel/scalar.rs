//! The portable kernels: the definition of which bits a hash has in its line.

use crate::line::{AtomicLine, LineBytes, ReadLine};

/// The step from one probe to the next: 2³² divided by the golden ratio, odd.
pub(super) const STEP: u32 = 0x9E37_79B9;

/// The bit of the probe at `x`.
#[inline(always)]
const fn bit(x: u32) -> usize {
    (x >> 23) as usize
}

/// True when all `probes` bits of `seed` are set.
///
/// No early exit: an absent key fails at an unpredictable probe, and a mispredicted branch costs as much as
/// three or four probes.
#[inline(always)]
pub(super) fn might_contain(line: &impl ReadLine, seed: u32, probes: u8) -> bool {
    let mut x = seed;
    let mut all = 1;
    for _ in 0..probes {
        all &= line.shifted(bit(x));
        x = x.wrapping_mul(STEP);
    }
    all & 1 == 1
}

/// Sets the `probes` bits of `seed`; true when one of them was not set.
#[inline(always)]
pub(super) fn add(line: &mut LineBytes, seed: u32, probes: u8) -> bool {
    let mut x = seed;
    let mut missing = 0;
    for _ in 0..probes {
        let (byte, mask) = (&mut line[bit(x) / 8], 1 << (bit(x) % 8));
        missing |= !*byte & mask;
        *byte |= mask;
        x = x.wrapping_mul(STEP);
    }
    missing != 0
}

/// [`add`] to a line that other threads add to: each word that has a probe is written at most once, and not at
/// all where its bits are there.
#[inline(always)]
pub(in crate::probe) fn add_shared(line: &AtomicLine, seed: u32, probes: u8) -> bool {
    let mut masks = [0_u64; 8];
    let mut touched = 0_u32;
    let mut x = seed;
    for _ in 0..probes {
        let (word, in_word) = (bit(x) / 64, bit(x) % 64);
        masks[word] |= 1 << in_word;
        touched |= 1 << word;
        x = x.wrapping_mul(STEP);
    }
    let mut new = false;
    while touched != 0 {
        let word = touched.trailing_zeros() as usize;
        new |= line.set(word, masks[word]);
        touched &= touched - 1;
    }
    new
}
