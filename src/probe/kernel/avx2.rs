//! AVX2 kernels: eight probes at once.
//!
//! # Testing a line
//! 1. One multiplication by (STEP⁰, STEP¹, … STEP⁷) gives the states x₀…x₇ of eight probes.
//! 2. The top 4 bits of a state name one of the line's 16 words of 32 bits. A permute picks by the low 3 of
//!    them from the lower half of the line, another from the upper half, and a blend chooses by the top bit.
//! 3. The next 5 bits of the state name the bit in the word: one is shifted left by them.
//! 4. One test says whether any of the wanted bits is missing.
//!
//! With fewer than eight probes the spare lanes repeat probe 0 (they multiply by STEP⁰), which needs no mask
//! and changes no answer. More than eight probes take another round, from the state x₈.
//!
//! A single lookup is one call that does all that depends on the hash, and nothing else: what depends on the filter
//! alone (that it has lines, which multipliers its probes have) is inlined into the caller, whose loop does it once.
//! In a build that has AVX2 anyway, and inside `Backend::run`, the call is inlined too.
//!
//! # Setting bits
//! The states of step 1 without their low 23 bits are the probes' places in the line, 0 to 511. Each place goes to
//! every lane of a vector, less the place at which that lane's word begins: one shifted left by the difference is
//! the probe's bit in the probe's word, and nothing in any other, since a shift by more than 31, or by a negative
//! number, gives nothing. All probes' bits together are a mask of the line, which is loaded, compared and stored
//! once. Setting one bit after the other in memory instead takes a fifth longer, with the words and masks from
//! vectors as well as without.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_mullo_epi32, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_sllv_epi32,
    _mm256_srli_epi32, _mm256_sub_epi32, _mm256_testc_si256,
};

use super::scalar::STEP;
use super::{Part, set_batch, test_batch};
use crate::hash::KeyHash;
use crate::line::{LineBytes, ReadLine};
use crate::probe::blocked::{line_index, probe_seed};

/// Probes in one vector.
const LANES: usize = 8;

/// Lanes that setting bits leaves out where they are spare: with six probes, the number at 1%, a quarter of it.
const SPARE: usize = 2;

/// Eight times STEP⁰, then STEP⁰…STEP⁷. The eight from place `k` on are the multipliers of `k` probes: `LANES − k`
/// spare lanes, then `k` lanes with the powers. Which lane has which probe makes no difference.
static MULTIPLIERS: [u32; 2 * LANES] = {
    let mut all = [1_u32; 2 * LANES];
    let mut power = 1;
    while power < LANES {
        all[LANES + power] = all[LANES + power - 1].wrapping_mul(STEP);
        power += 1;
    }
    all
};

/// STEP⁸: from the state of a probe to that of the eighth after it.
const ROUND: u32 = MULTIPLIERS[2 * LANES - 1].wrapping_mul(STEP);

/// The proof that this CPU has AVX2, BMI1, BMI2 and POPCNT.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let all = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt");
        all.then_some(Self(()))
    }

    #[inline]
    pub(super) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn compiled<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        // SAFETY: `self` exists, so `detect` has seen all four on this CPU.
        unsafe { compiled(work) }
    }

    #[inline]
    pub(super) fn might_contain<L: ReadLine>(self, lines: &[L], hash: KeyHash, probes: u8) -> bool {
        if lines.is_empty() {
            return true;
        }
        let probes = usize::from(probes);
        if probes > LANES {
            // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU; and there is a line.
            return unsafe { might_contain_rounds(lines, hash, probes) };
        }
        // SAFETY: as above.
        unsafe { might_contain(lines, hash, multipliers(probes)) }
    }

    #[inline]
    pub(super) fn add(self, lines: &mut [LineBytes], hash: KeyHash, probes: u8) -> bool {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { add(lines, hash, probes) }
    }

    #[inline]
    pub(super) fn add_batch(self, part: Part<'_>, hashes: &[KeyHash], probes: u8) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { add_batch(part, hashes, probes) }
    }

    #[inline]
    pub(super) fn might_contain_batch<L: ReadLine>(
        self,
        lines: &[L],
        hashes: &[KeyHash],
        probes: u8,
        answers: &mut [bool],
    ) {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { might_contain_batch(lines, hashes, probes, answers) }
    }
}

/// The multipliers of `probes` probes, of which there are at most [`LANES`].
#[inline(always)]
fn multipliers(probes: usize) -> &'static [u32; LANES] {
    MULTIPLIERS[probes.min(LANES)..].first_chunk().unwrap_or(&[1; LANES])
}

/// The states of one to eight probes.
#[inline]
#[target_feature(enable = "avx2")]
fn states(seed: u32, multipliers: &[u32; LANES]) -> __m256i {
    _mm256_mullo_epi32(_mm256_set1_epi32(seed.cast_signed()), bytemuck::must_cast(*multipliers))
}

/// The hashes, each as its two halves, the lower first: a half that is loaded by itself goes from memory to all lanes
/// in one instruction, which is a twelfth of a batched lookup.
#[inline(always)]
fn split(hashes: &[KeyHash]) -> &[[u32; 2]] {
    // SAFETY: a `KeyHash` is a transparent `u64`, which has the size of two `u32`s and at least their alignment;
    // every bit pattern is a value of both. The machine is little-endian: it has AVX2.
    unsafe { std::slice::from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
}

/// Each state's bit in its word.
#[inline]
#[target_feature(enable = "avx2")]
fn wanted(states: __m256i) -> __m256i {
    let shifts = _mm256_and_si256(_mm256_srli_epi32::<23>(states), _mm256_set1_epi32(31));
    _mm256_sllv_epi32(_mm256_set1_epi32(1), shifts)
}

/// Whether the wanted bits are all set.
#[inline]
#[target_feature(enable = "avx2")]
fn test(lower: __m256i, upper: __m256i, states: __m256i, wanted: __m256i) -> bool {
    // The permutes read the low 3 bits of each index, the blend the top bit of each state.
    let words = _mm256_srli_epi32::<28>(states);
    let from_lower = _mm256_permutevar8x32_epi32(lower, words);
    let from_upper = _mm256_permutevar8x32_epi32(upper, words);
    let picked = _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(from_lower),
        _mm256_castsi256_ps(from_upper),
        _mm256_castsi256_ps(states),
    ));
    _mm256_testc_si256(picked, wanted) != 0
}

/// One to eight probes: a single round.
#[inline]
#[target_feature(enable = "avx2")]
fn test_round(lower: __m256i, upper: __m256i, seed: u32, multipliers: &[u32; LANES]) -> bool {
    let states = states(seed, multipliers);
    test(lower, upper, states, wanted(states))
}

/// The line with just the bits of one to `LANES − SPARE` probes, in two halves. The first `SPARE` lanes are not
/// looked at.
#[inline]
#[target_feature(enable = "avx2")]
fn mask<const SPARE: usize>(seed: u32, multipliers: &[u32; LANES]) -> (__m256i, __m256i) {
    let bits = _mm256_srli_epi32::<23>(states(seed, multipliers));
    // Shuffles that stay in a half of the vector are the cheapest.
    let first = _mm256_permute2x128_si256::<0x00>(bits, bits);
    let second = _mm256_permute2x128_si256::<0x11>(bits, bits);
    let one = _mm256_set1_epi32(1);
    let lower_starts = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
    let upper_starts = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
    let mut lower = _mm256_setzero_si256();
    let mut upper = _mm256_setzero_si256();
    let all = [
        _mm256_shuffle_epi32::<0x00>(first),
        _mm256_shuffle_epi32::<0x55>(first),
        _mm256_shuffle_epi32::<0xAA>(first),
        _mm256_shuffle_epi32::<0xFF>(first),
        _mm256_shuffle_epi32::<0x00>(second),
        _mm256_shuffle_epi32::<0x55>(second),
        _mm256_shuffle_epi32::<0xAA>(second),
        _mm256_shuffle_epi32::<0xFF>(second),
    ];
    for bit in all.into_iter().skip(SPARE) {
        // From the start of the bit's own word it is 0 to 31 bits; from all others it is farther, or negative,
        // which is very far as an unsigned number, and a shift by 32 or more gives 0.
        lower = _mm256_or_si256(lower, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, lower_starts)));
        upper = _mm256_or_si256(upper, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, upper_starts)));
    }
    (lower, upper)
}

/// Sets the bits of one to `LANES − SPARE` probes; true when one of them was not set.
#[inline]
#[target_feature(enable = "avx2")]
fn set_round<const SPARE: usize>(line: &mut LineBytes, seed: u32, multipliers: &[u32; LANES]) -> bool {
    let (lower, upper) = halves(line);
    let (lower_mask, upper_mask) = mask::<SPARE>(seed, multipliers);
    let known = _mm256_testc_si256(lower, lower_mask) & _mm256_testc_si256(upper, upper_mask);
    let halves: [[u8; 32]; 2] = [
        bytemuck::must_cast(_mm256_or_si256(lower, lower_mask)),
        bytemuck::must_cast(_mm256_or_si256(upper, upper_mask)),
    ];
    *line = bytemuck::must_cast(halves);
    known == 0
}

/// The two halves of the line, from any address. The words of a line that others write to go into the vectors
/// one by one.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &impl ReadLine) -> (__m256i, __m256i) {
    let [lower, upper]: [[u8; 32]; 2] = bytemuck::must_cast(line.load());
    (bytemuck::must_cast(lower), bytemuck::must_cast(upper))
}

/// The hash's line.
///
/// # Safety
/// There is at least one line.
#[inline(always)]
unsafe fn line_of<L: ReadLine>(lines: &[L], hash: KeyHash) -> &L {
    // SAFETY: the number is a fraction, less than one, of that of the lines, of which there is one. The compiler
    // doesn't see that, and the check would be a tenth of a lookup.
    unsafe { lines.get_unchecked(line_index(hash, lines.len())) }
}

/// A lookup of one to eight probes.
///
/// # Safety
/// There is at least one line.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn might_contain(lines: &[impl ReadLine], hash: KeyHash, multipliers: &[u32; LANES]) -> bool {
    // SAFETY: the caller vouches for it.
    let (lower, upper) = halves(unsafe { line_of(lines, hash) });
    test_round(lower, upper, probe_seed(hash), multipliers)
}

/// A lookup of any number of probes. Out of line, so that the usual one is short.
///
/// # Safety
/// There is at least one line.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn might_contain_rounds(lines: &[impl ReadLine], hash: KeyHash, probes: usize) -> bool {
    // SAFETY: the caller vouches for it.
    test_rounds(unsafe { line_of(lines, hash) }, probe_seed(hash), probes)
}

/// Any number of probes, round after round.
#[inline]
#[target_feature(enable = "avx2")]
fn test_rounds(line: &impl ReadLine, mut seed: u32, probes: usize) -> bool {
    let (lower, upper) = halves(line);
    let mut left = probes;
    while left > LANES {
        if !test_round(lower, upper, seed, multipliers(LANES)) {
            return false;
        }
        seed = seed.wrapping_mul(ROUND);
        left -= LANES;
    }
    test_round(lower, upper, seed, multipliers(left))
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(lines: &mut [LineBytes], hash: KeyHash, probes: u8) -> bool {
    let index = line_index(hash, lines.len());
    let probes = usize::from(probes);
    if probes > LANES {
        return set_rounds(&mut lines[index], probe_seed(hash), probes);
    }
    if probes <= LANES - SPARE {
        return set_round::<SPARE>(&mut lines[index], probe_seed(hash), multipliers(probes));
    }
    set_round::<0>(&mut lines[index], probe_seed(hash), multipliers(probes))
}

/// Any number of probes, round after round.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn set_rounds(line: &mut LineBytes, mut seed: u32, probes: usize) -> bool {
    let mut new = false;
    let mut left = probes;
    while left > LANES {
        new |= set_round::<0>(line, seed, multipliers(LANES));
        seed = seed.wrapping_mul(ROUND);
        left -= LANES;
    }
    new | set_round::<0>(line, seed, multipliers(left))
}

#[target_feature(enable = "avx2")]
fn add_batch(part: Part<'_>, hashes: &[KeyHash], probes: u8) -> u64 {
    let probes = usize::from(probes);
    if probes > LANES {
        set_batch(part, split(hashes), |line, seed| set_rounds(line, seed, probes))
    } else {
        let multipliers = multipliers(probes);
        if probes <= LANES - SPARE {
            set_batch(part, split(hashes), |line, seed| set_round::<SPARE>(line, seed, multipliers))
        } else {
            set_batch(part, split(hashes), |line, seed| set_round::<0>(line, seed, multipliers))
        }
    }
}

#[target_feature(enable = "avx2")]
fn might_contain_batch(lines: &[impl ReadLine], hashes: &[KeyHash], probes: u8, answers: &mut [bool]) {
    let probes = usize::from(probes);
    if probes > LANES {
        test_batch(lines, split(hashes), answers, |line, seed| test_rounds(line, seed, probes));
    } else {
        // The same multipliers for all keys: they stay in a register.
        let multipliers = multipliers(probes);
        test_batch(lines, split(hashes), answers, |line, seed| {
            let (lower, upper) = halves(line);
            test_round(lower, upper, seed, multipliers)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_the_powers_of_the_step() {
        let mut powers = vec![1_u32];
        for _ in 0..LANES {
            powers.push(powers[powers.len() - 1].wrapping_mul(STEP));
        }
        for probes in 1..=LANES {
            let (spare, used) = multipliers(probes).split_at(LANES - probes);
            assert!(spare.iter().all(|&spare| spare == 1));
            assert_eq!(used, &powers[..probes]);
        }
        assert_eq!(ROUND, powers[LANES]);
    }
}
