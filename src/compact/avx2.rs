//! The test of one line, eight columns at a time.
//!
//! ```text
//! lanes of two vectors: columns 0 2 4 6 and 1 3 5 7, each under its coefficients
//! fold every byte to a nibble of the same parity, look that up, add up the bytes of a lane
//! answers = the lowest bits of the eight sums, column 0's at the top
//! ```
//!
//! The columns start at bits that are constants for each r. So their lanes are loaded from where they lie, from the
//! byte in which they begin, and the coefficients are shifted to them, lane by lane. For r from 9 on a column and
//! the bits before it fit a word, and a vector has four lanes; below, a lane is two words, which fold into one.
//!
//! Testing eight columns costs about what four cost one by one, so up to r = 8 nothing leaves early. That saves a branch
//! which one absent key in 2^4 mispredicts in the [portable test](super::probe).

use std::arch::x86_64::{
    __m128i, __m256i, _mm_set_epi64x, _mm_shuffle_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_bslli_epi128, _mm256_castsi256_ps, _mm256_movemask_ps, _mm256_or_si256, _mm256_sad_epu8,
    _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setr_epi8, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi64, _mm256_sllv_epi64, _mm256_srli_epi16,
    _mm256_srlv_epi64, _mm256_sub_epi64, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::key::Place;
use super::probe;
use crate::line::LineBytes;
use crate::sizing::compact::slots;

/// Columns that are tested together.
const COLUMNS: usize = 8;

/// [`probe::holds`](super::probe::holds), with its answers.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn holds<const R: usize>(line: &LineBytes, coefficients: [u64; 2], place: Place) -> bool {
    if R == 4 {
        // A column of 126 bits and the bits before it are more than two words.
        return probe::holds::<R>(line, coefficients, place);
    }
    let fingerprint = place.fingerprint::<R>();
    if R <= COLUMNS {
        return answers::<R, false>(line, coefficients) >> (COLUMNS.saturating_sub(R)) == fingerprint;
    }
    // One absent key in 2^8 goes on.
    answers::<R, false>(line, coefficients) == fingerprint >> R.saturating_sub(COLUMNS)
        && answers::<R, true>(line, coefficients) == fingerprint & 0xFF
}

/// What eight columns answer, the first at the top: the first eight, or the `LAST` ones. Where there are fewer than
/// eight, the last one stands in for those that are missing.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn answers<const R: usize, const LAST: bool>(line: &LineBytes, coefficients: [u64; 2]) -> u64 {
    let first = if LAST { R.saturating_sub(COLUMNS) } else { 0 };
    let even = parities(four::<R>(line, coefficients, [first, first + 2, first + 4, first + 6]));
    let odd = parities(four::<R>(line, coefficients, [first + 1, first + 3, first + 5, first + 7]));
    // One bit of each half of a lane is its sign.
    let signs = _mm256_or_si256(_mm256_slli_epi64::<63>(even), _mm256_slli_epi64::<31>(odd));
    u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(signs)).cast_unsigned())
}

/// For each lane a number with the lane's parity as its lowest bit.
#[inline]
#[target_feature(enable = "avx2")]
fn parities(lanes: __m256i) -> __m256i {
    let nibbles = _mm256_xor_si256(lanes, _mm256_srli_epi16::<4>(lanes));
    let nibbles = _mm256_and_si256(nibbles, _mm256_set1_epi8(15));
    let parity = _mm256_setr_epi8(
        0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, //
        0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0,
    );
    _mm256_sad_epu8(_mm256_shuffle_epi8(parity, nibbles), _mm256_setzero_si256())
}

/// Words with the parities of four columns under their coefficients, the first in the highest lane.
#[inline]
#[target_feature(enable = "avx2")]
fn four<const R: usize>(line: &LineBytes, coefficients: [u64; 2], columns: [usize; 4]) -> __m256i {
    let last = R - 1;
    let [a, b, c, d] = columns;
    let (a, b, c, d) = (a.min(last), b.min(last), c.min(last), d.min(last));
    if const { slots(R) + 7 <= 64 } {
        // One by one: code that `map` calls is not compiled for AVX2.
        let (a, b) = (word::<R>(line, a), word::<R>(line, b));
        let (c, d) = (word::<R>(line, c), word::<R>(line, d));
        let words = _mm256_setr_epi64x(d.0, c.0, b.0, a.0);
        let shifts = _mm256_setr_epi64x(d.1, c.1, b.1, a.1);
        let mask = _mm256_sllv_epi64(_mm256_set1_epi64x(coefficients[0].cast_signed()), shifts);
        _mm256_and_si256(words, mask)
    } else {
        let upper = two::<R>(line, coefficients, a, c);
        let lower = two::<R>(line, coefficients, b, d);
        // Lanes d, c, b, a from the lowest on.
        _mm256_xor_si256(_mm256_unpacklo_epi64(lower, upper), _mm256_unpackhi_epi64(lower, upper))
    }
}

/// Two columns under their coefficients, in two words each, the first in the upper half.
#[inline]
#[target_feature(enable = "avx2")]
fn two<const R: usize>(line: &LineBytes, coefficients: [u64; 2], upper: usize, lower: usize) -> __m256i {
    let (upper, upper_shift) = two_words::<R>(line, upper);
    let (lower, lower_shift) = two_words::<R>(line, lower);
    let words = _mm256_set_m128i(upper, lower);
    let shifts = _mm256_setr_epi64x(lower_shift, lower_shift, upper_shift, upper_shift);
    let [low, high] = coefficients.map(u64::cast_signed);
    let both = _mm256_broadcastsi128_si256(_mm_set_epi64x(high, low));
    // What moves from the low word to the high one; a shift by 64 bits gives nothing.
    let rest = _mm256_sub_epi64(_mm256_set1_epi64x(64), shifts);
    let carried = _mm256_srlv_epi64(_mm256_bslli_epi128::<8>(both), rest);
    _mm256_and_si256(words, _mm256_or_si256(_mm256_sllv_epi64(both, shifts), carried))
}

/// A word with column `j`, and the bits in it before the column.
#[inline(always)]
fn word<const R: usize>(line: &LineBytes, j: usize) -> (i64, i64) {
    let start = j * slots(R);
    // The column's first byte, or the last one from which a word can be read.
    let byte = (start / 8).min(64 - 8);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&line[byte..byte + 8]);
    #[expect(clippy::cast_possible_wrap, reason = "less than 64")]
    (i64::from_le_bytes(bytes), (start - 8 * byte) as i64)
}

/// Two words with column `j`, and the bits in them before the column, at most seven.
#[inline]
#[target_feature(enable = "avx2")]
fn two_words<const R: usize>(line: &LineBytes, j: usize) -> (__m128i, i64) {
    let start = j * slots(R);
    // The column's first byte, or the last one from which two words can be read. Their first bytes are dropped then.
    let byte = (start / 8).min(64 - 16);
    let dropped = start / 8 - byte;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&line[byte..byte + 16]);
    let mut words = bytemuck::must_cast(bytes);
    if dropped > 0 {
        // An index with its top bit set stands for a zero.
        let mut index = [0x80_u8; 16];
        for (to, from) in (dropped..16).enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "less than 16")]
            {
                index[to] = from as u8;
            }
        }
        words = _mm_shuffle_epi8(words, bytemuck::must_cast(index));
    }
    #[expect(clippy::cast_possible_wrap, reason = "less than 8")]
    (words, (start % 8) as i64)
}
