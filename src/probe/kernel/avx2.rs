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
//! # Setting bits
//! A vector can't scatter, and two probes may meet in one word, so each probe is made a mask of the whole line: its
//! bit number, less 32·j in lane j, is the shift of a one, and a shift by less than 0 or more than 31 gives zero. The
//! masks are collected in registers, and the line is read and written once: no byte is stored and then waited for by
//! the next probe. That also makes "was any of them new?" one test.

use std::arch::x86_64::{
    __m256i, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_sub_epi32, _mm256_testc_si256,
};

use super::scalar::STEP;
use super::{set_batch, test_batch};
use crate::hash::KeyHash;
use crate::line::{LineBytes, ReadLine};

/// Probes in one vector.
const LANES: usize = 8;

/// Row `k` holds STEP⁰…STEP^(k−1), then STEP⁰ for the spare lanes; row 8 is full.
static MULTIPLIERS: [[u32; LANES]; LANES + 1] = {
    let mut rows = [[1; LANES]; LANES + 1];
    let mut row = 1;
    while row <= LANES {
        let (mut lane, mut power) = (0, 1_u32);
        while lane < row {
            rows[row][lane] = power;
            power = power.wrapping_mul(STEP);
            lane += 1;
        }
        row += 1;
    }
    rows
};

/// STEP⁸: from the state of a probe to that of the eighth after it.
const ROUND: u32 = MULTIPLIERS[LANES][LANES - 1].wrapping_mul(STEP);

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
    pub(super) fn might_contain<L: ReadLine>(self, line: &L, seed: u32, probes: u8) -> bool {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { might_contain(line, seed, probes) }
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

    #[inline]
    pub(super) fn add(self, line: &mut LineBytes, seed: u32, probes: u8) -> bool {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { add(line, seed, probes) }
    }

    #[inline]
    pub(super) fn add_batch(self, lines: &mut [LineBytes], hashes: &[KeyHash], probes: u8) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen AVX2 on this CPU.
        unsafe { add_batch(lines, hashes, probes) }
    }
}

/// A mask of the line's lower and upper half with the bits of every probe.
#[inline]
#[target_feature(enable = "avx2")]
fn masks(seed: u32, probes: u8) -> (__m256i, __m256i) {
    let one = _mm256_set1_epi32(1);
    let first = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
    let second = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
    let (mut lower, mut upper) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let mut x = seed;
    for _ in 0..probes {
        let bit = _mm256_set1_epi32((x >> 23).cast_signed());
        lower = _mm256_or_si256(lower, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, first)));
        upper = _mm256_or_si256(upper, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, second)));
        x = x.wrapping_mul(STEP);
    }
    (lower, upper)
}

/// Sets the bits of a hash; true when one of them was not set.
#[inline]
#[target_feature(enable = "avx2")]
fn add(line: &mut LineBytes, seed: u32, probes: u8) -> bool {
    let (lower, upper) = halves(line);
    let (lower_mask, upper_mask) = masks(seed, probes);
    let known = _mm256_testc_si256(lower, lower_mask) & _mm256_testc_si256(upper, upper_mask);
    let set: [__m256i; 2] = [_mm256_or_si256(lower, lower_mask), _mm256_or_si256(upper, upper_mask)];
    *line = bytemuck::must_cast(set);
    known == 0
}

#[target_feature(enable = "avx2")]
fn add_batch(lines: &mut [LineBytes], hashes: &[KeyHash], probes: u8) -> u64 {
    // The usual numbers of probes are unrolled.
    macro_rules! unrolled {
        ($($probes:literal)*) => {
            match probes {
                $($probes => set_batch(lines, hashes, |line, seed| add(line, seed, $probes)),)*
                _ => set_batch(lines, hashes, |line, seed| add(line, seed, probes)),
            }
        };
    }
    unrolled!(4 5 6 7 8 9)
}

/// One to eight probes: a single round.
#[inline]
#[target_feature(enable = "avx2")]
fn test_round(lower: __m256i, upper: __m256i, seed: u32, multipliers: &[u32; LANES]) -> bool {
    let states = _mm256_mullo_epi32(_mm256_set1_epi32(seed.cast_signed()), bytemuck::must_cast(*multipliers));
    // The permutes read the low 3 bits of each index, the blend the top bit of each state.
    let words = _mm256_srli_epi32::<28>(states);
    let from_lower = _mm256_permutevar8x32_epi32(lower, words);
    let from_upper = _mm256_permutevar8x32_epi32(upper, words);
    let picked = _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(from_lower),
        _mm256_castsi256_ps(from_upper),
        _mm256_castsi256_ps(states),
    ));
    let shifts = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(states));
    let wanted = _mm256_sllv_epi32(_mm256_set1_epi32(1), shifts);
    _mm256_testc_si256(picked, wanted) != 0
}

/// The two halves of the line, from any address. The words of a line that others write to go into the vectors
/// one by one.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &impl ReadLine) -> (__m256i, __m256i) {
    let [lower, upper]: [[u8; 32]; 2] = bytemuck::must_cast(line.load());
    (bytemuck::must_cast(lower), bytemuck::must_cast(upper))
}

#[inline]
#[target_feature(enable = "avx2")]
fn might_contain(line: &impl ReadLine, seed: u32, probes: u8) -> bool {
    let (lower, upper) = halves(line);
    let mut left = usize::from(probes);
    let mut seed = seed;
    while left > LANES {
        if !test_round(lower, upper, seed, &MULTIPLIERS[LANES]) {
            return false;
        }
        seed = seed.wrapping_mul(ROUND);
        left -= LANES;
    }
    test_round(lower, upper, seed, &MULTIPLIERS[left])
}

#[target_feature(enable = "avx2")]
fn might_contain_batch(lines: &[impl ReadLine], hashes: &[KeyHash], probes: u8, answers: &mut [bool]) {
    if let Some(multipliers) = MULTIPLIERS.get(usize::from(probes)) {
        // One round with the same multipliers for all keys: they stay in a register.
        test_batch(lines, hashes, answers, |line, seed| {
            let (lower, upper) = halves(line);
            test_round(lower, upper, seed, multipliers)
        });
    } else {
        test_batch(lines, hashes, answers, |line, seed| might_contain(line, seed, probes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_the_powers_of_the_step() {
        let mut power = 1_u32;
        for lane in 0..LANES {
            for (row, multipliers) in MULTIPLIERS.iter().enumerate() {
                assert_eq!(multipliers[lane], if lane < row { power } else { 1 });
            }
            power = power.wrapping_mul(STEP);
        }
        assert_eq!(power, ROUND);
    }
}
