//! The test of one line: does every column answer the key's fingerprint? For every machine, column by column.
//!
//! ```text
//! for each column j: parity(column j & coefficients) must be bit r − 1 − j of the fingerprint
//! ```
//!
//! Tricks:
//! 1. *Shift the coefficients, not the columns.* A column starts at any bit. The coefficients are shifted to
//!    where the column lies in an unaligned word; there are at most eight different shifts for all columns,
//!    and the AND with a column in memory cuts the column out as well.
//! 2. *Fold before counting.* A column wider than a word is two or three masked words. Parity is linear, so
//!    their XOR has the same parity, and one population count is enough.
//! 3. *Leave early.* A few columns refute almost every absent key, with a branch that goes the same way for
//!    nearly all absent keys and the other way for all present ones.

use super::key::Place;
use crate::line::LineBytes;
use crate::sizing::compact::slots;

/// Columns to look at before leaving. One absent key in 2^4 goes on.
const FIRST_COLUMNS: usize = 4;

/// Whether the line answers `place`'s fingerprint for `coefficients`.
#[inline(always)]
pub(super) fn holds<const R: usize>(line: &LineBytes, coefficients: [u64; 2], place: Place) -> bool {
    let first = const { if R < FIRST_COLUMNS { R } else { FIRST_COLUMNS } };
    let fingerprint = place.fingerprint::<R>();
    // The columns answer the fingerprint's bits from the top.
    let mut answer = 0;
    macro_rules! columns {
        ($($j:literal)*) => { $(
            if $j < R {
                if $j == first && answer != fingerprint >> (R - first) {
                    return false;
                }
                answer = 2 * answer + u64::from(masked_column::<R>(line, coefficients, $j).count_ones() & 1);
            }
        )* };
    }
    columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    answer == fingerprint
}

/// A word of the parity of column `j` under the mask `coefficients`.
#[inline(always)]
fn masked_column<const R: usize>(line: &LineBytes, coefficients: [u64; 2], j: usize) -> u64 {
    let slots = const { slots(R) };
    let start = j * slots;
    // The column's first byte, or the last from which a word can be read: at most 31 bits early, and then the
    // column is the last of the line and narrow, or wider than a word.
    let byte = (start / 8).min(56);
    let shift = start - 8 * byte;
    let [low, high] = coefficients;
    let mut masked = word_at(line, byte) & (low << shift);
    let width = slots + shift;
    if width > 64 {
        let next = if shift == 0 { high } else { high << shift | low >> (64 - shift) };
        masked ^= part_at(line, byte + 8, width.min(128) - 64) & next;
    }
    if width > 128 {
        masked ^= part_at(line, byte + 16, width - 128) & (high >> (64 - shift));
    }
    masked
}

/// The `bits` bits from byte `at` on, and perhaps more: as few bytes as a load can take, so that the load stays
/// in the line.
#[inline(always)]
fn part_at(line: &LineBytes, at: usize, bits: usize) -> u64 {
    if bits <= 8 {
        u64::from(line[at])
    } else if bits <= 16 {
        u64::from(u16::from_le_bytes([line[at], line[at + 1]]))
    } else if bits <= 32 {
        u64::from(u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]))
    } else if at <= 56 {
        word_at(line, at)
    } else {
        // The last column of a 5-bit line: a word from here would end beyond the line.
        word_at(line, 56) >> (8 * (at - 56))
    }
}

#[inline(always)]
fn word_at(line: &LineBytes, at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&line[at..at + 8]);
    u64::from_le_bytes(word)
}
