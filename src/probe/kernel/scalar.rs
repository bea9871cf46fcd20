//! The portable kernels: the definition of which bits a hash has in its line.

use crate::line::LineBytes;

/// The step from one probe to the next: 2³² divided by the golden ratio, odd.
pub(super) const STEP: u32 = 0x9E37_79B9;

/// The byte and the mask of the probe at `x`.
#[inline(always)]
const fn place(x: u32) -> (usize, u8) {
    let bit = x >> 23;
    ((bit >> 3) as usize, 1 << (bit & 7))
}

/// True when all `probes` bits of `seed` are set.
///
/// No early exit: an absent key fails at an unpredictable probe, and a mispredicted branch costs as much as
/// three or four probes.
#[inline(always)]
pub(super) fn might_contain(line: &LineBytes, seed: u32, probes: u8) -> bool {
    let mut x = seed;
    let mut missing = 0;
    for _ in 0..probes {
        let (byte, mask) = place(x);
        missing |= !line[byte] & mask;
        x = x.wrapping_mul(STEP);
    }
    missing == 0
}

/// Sets the `probes` bits of `seed`; true when one of them was not set.
#[inline(always)]
pub(super) fn add(line: &mut LineBytes, seed: u32, probes: u8) -> bool {
    let mut x = seed;
    let mut missing = 0;
    for _ in 0..probes {
        let (byte, mask) = place(x);
        missing |= !line[byte] & mask;
        line[byte] |= mask;
        x = x.wrapping_mul(STEP);
    }
    missing != 0
}
