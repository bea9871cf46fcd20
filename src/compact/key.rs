//! What a layer asks of a key: which line, which rank, which equation.
//!
//! A layer of `lines` lines turns its 64-bit key `y` into four things:
//!
//! ```text
//! x            = (y · SPREAD mod 2^64) / 2^64          a number in [0, 1)
//! line         = the first digit of x                  in base `lines`
//! rank         = the second digit                      in base 2^T − 1, T bits being those of a threshold
//! fingerprint  = the third digit                       in base 2^r: the right-hand side
//! coefficients = fold(y ^ C0, C1), fold(y ^ C2, C3)    the left-hand side: bit s stands for slot s
//!                where fold(a, b) is the high half of the 128-bit product a·b, XORed with its low half
//! ```
//!
//! A digit is the whole part of base · x, and the part after the point is the x of the next digit: one
//! multiplication each. So line, rank and fingerprint are uniform and independent whenever the key is uniform,
//! as long as log2(lines) + 8 + r stays under 64. Multiplying by `SPREAD` first makes the line depend on every
//! bit of the key, so that an application may shard its keys by either end of the same hash.
//!
//! The coefficients must not be a linear function (over GF(2)) of anything the fingerprint is: if a
//! fingerprint bit were the XOR of some coefficient bits, the solver would find exactly that relation, store
//! it as the column, and the column would accept every key. Hence a second, unrelated multiplication, folded.
//!
//! Layer 0 takes the hash itself as its key. Each later layer takes [`next_layer`] of the key before it, a
//! bijection: distinct hashes stay distinct in every layer.

use crate::sizing::compact::{slots, tau_bits};

/// 2^64 divided by the golden ratio, made odd.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The first 64 fractional bits of the square roots of 3, 5, 7 and 11.
const C: [u64; 4] =
    [0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1, 0x510E_527F_ADE6_82D1];

/// The first 64 fractional bits of the square root of 13.
const REMIX: u64 = 0x9B05_688C_2B3E_6C1F;

/// Number of ranks, one less than that of thresholds: a threshold above every rank bumps every key.
pub(super) const fn ranks(r: usize) -> u8 {
    u8::MAX >> (8 - tau_bits(r))
}

/// Where a key falls in a layer: the line, and the digits after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the line in its layer, less than the layer's number of lines.
    pub(super) line: usize,
    /// What comes after the first digit, as a fraction of 2^64.
    rest: u64,
}

impl Place {
    /// Places key `y` in a layer of `lines` lines.
    #[inline(always)]
    pub(super) fn new(y: u64, lines: usize) -> Self {
        let (line, rest) = digit(y.wrapping_mul(SPREAD), lines as u64);
        #[expect(clippy::cast_possible_truncation, reason = "less than `lines`, a usize")]
        let line = line as usize;
        Self { line, rest }
    }

    /// Less than [`ranks`]. Keys of low rank are the first that a line bumps: those below its threshold.
    #[inline(always)]
    pub(super) fn rank<const R: usize>(self) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "less than 255")]
        {
            digit(self.rest, u64::from(ranks(R))).0 as u8
        }
    }

    /// R bits: bit R − 1 − j is the right-hand side for column j.
    #[inline(always)]
    pub(super) fn fingerprint<const R: usize>(self) -> u64 {
        digit(self.rest, u64::from(ranks(R))).1 >> (64 - R)
    }
}

/// The first digit of `x` / 2^64 in base `base`, and what comes after it, again as a fraction of 2^64.
#[inline(always)]
fn digit(x: u64, base: u64) -> (u64, u64) {
    let product = u128::from(x) * u128::from(base);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    {
        ((product >> 64) as u64, product as u64)
    }
}

/// The slots whose XOR a key reads: bit s of the pair, low word first, stands for slot s.
#[inline(always)]
pub(super) fn coefficients<const R: usize>(y: u64) -> [u64; 2] {
    let [low, high] = const { slot_mask(slots(R)) };
    [fold(y ^ C[0], C[1]) & low, if high == 0 { 0 } else { fold(y ^ C[2], C[3]) & high }]
}

/// Ones for the first `slots` slots, of which there are 1 to 128.
pub(super) const fn slot_mask(slots: usize) -> [u64; 2] {
    if slots > 64 { [u64::MAX, u64::MAX >> (128 - slots)] } else { [u64::MAX >> (64 - slots), 0] }
}

/// The key of the next layer.
#[inline(always)]
pub(super) fn next_layer(y: u64) -> u64 {
    let y = (y ^ (y >> 32)).wrapping_mul(REMIX);
    y ^ (y >> 29)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let (high, low) = digit(a, b);
    high ^ low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants are what their docs say, to 62 bits: s² ≤ k·2^124 < (s+1)².
    #[test]
    fn constants_are_square_roots() {
        let named = [(3u128, C[0]), (5, C[1]), (7, C[2]), (11, C[3]), (13, REMIX)];
        for (k, constant) in named {
            let whole = k.isqrt();
            let s = (whole << 62) | u128::from(constant >> 2);
            assert!(s * s <= k << 124, "sqrt({k})");
            assert!((k << 124) - s * s <= 2 * s, "sqrt({k})");
            assert_eq!(constant & 1, 1, "sqrt({k}) must be odd to be a bijective factor");
        }
    }

    #[test]
    fn next_layer_is_a_bijection() {
        // Each step has an inverse: the odd factor modulo 2^64, the xor-shifts by repetition.
        let mut inverse = REMIX;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(REMIX.wrapping_mul(inverse)));
        }
        for i in 0..1000u64 {
            let y = i.wrapping_mul(0xD134_2543_DE82_EF95) ^ (i << 50);
            let x = next_layer(y);
            let x = x ^ (x >> 29) ^ (x >> 58);
            let x = x.wrapping_mul(inverse);
            assert_eq!(x ^ (x >> 32), y);
        }
    }

    #[test]
    fn digits_stay_below_their_bases() {
        // SPREAD · y = 2^64 − 1: the greatest number of all.
        let y = 0u64.wrapping_sub(0xF1DE_83E1_9937_733D);
        assert_eq!(y.wrapping_mul(SPREAD), u64::MAX);
        let greatest = Place::new(y, 9);
        assert_eq!((greatest.line, greatest.rank::<8>(), greatest.rank::<11>()), (8, 254, 62));
        assert_eq!(greatest.fingerprint::<8>(), 255);
        let least = Place::new(0, 9);
        assert_eq!((least.line, least.rank::<8>(), least.fingerprint::<8>()), (0, 0, 0));
        // Digits 4, 100 and 7, and half a unit of the last.
        let number = ((4 * 255 + 100) * 512 + 15) as u128;
        let x = u64::try_from((number << 64) / (9 * 255 * 512)).unwrap();
        let place = Place::new(x.wrapping_mul(0xF1DE_83E1_9937_733D), 9);
        assert_eq!((place.line, place.rank::<8>(), place.fingerprint::<8>()), (4, 100, 7));
    }
}
