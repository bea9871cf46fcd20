//! The linear system of one line: S unknown slots of r bits, one equation over GF(2) per key.
//!
//! The equation of a key says that the XOR of the slots that its coefficients name is its fingerprint. Keys
//! come in order of falling rank; the solver wants the longest prefix that has a solution, and the solution.
//!
//! ```text
//! for each equation i, in order:
//!     if it has no coefficient left: if its right side is 0, it follows from the others; else stop: i is the cut
//!     pivot(i) = its lowest coefficient
//!     for every other equation k, before and after i, that has this coefficient:
//!         equation k ^= equation i, coefficients and right side
//! slot pivot(i) = right side of i, for each i before the cut; every other slot = 0
//! ```
//!
//! Tricks:
//! 1. *Eliminate to the right and to the left at once* (Gauss–Jordan). It costs twice the operations of a
//!    triangular elimination, but each step is one sweep over an array with the same few instructions per
//!    equation and no branch, so a vector unit takes four equations at a time; and nothing is left to
//!    substitute back. Inserting equation by equation, as Ribbon does, mispredicts a branch per key.
//! 2. *One or two words per equation.* The right side lies above the coefficients whenever it fits.
//! 3. *The lowest coefficient* as the pivot makes the set of pivots, hence the solution with the free slots
//!    zero, a function of the set of equations: their order does not show in the bytes.
//! 4. *A window.* S + 8 equations are taken at first. More are looked at only if these all agree, which
//!    needs eight equations that follow from others and agree by chance (2^-8r) or by an attacker's choice.
//!
//! How many keys a line holds: with i equations in, the next depends on them with probability 2^(i−S), so the
//! first dependent one comes after S − 1.6 on average, and it disagrees with probability 1 − 2^-r.

use super::key::{Place, coefficients, slot_mask};
use crate::line::LineBytes;
use crate::sizing::compact::slots;

/// Room for the window of the widest shape (126 + 8), in whole vectors.
const ROWS: usize = 136;
/// Equations beyond S that the first window takes.
const SPARE: usize = 8;
/// Equations that one step of a sweep takes: two vectors.
const LANES: usize = 8;

/// Where an equation of an `R`-bit filter keeps its right side: word and shift.
const fn right_side(r: usize) -> (usize, usize) {
    let slots = slots(r);
    if slots + r <= 64 {
        (0, slots)
    } else if slots <= 64 {
        (1, 0)
    } else if slots - 64 + r <= 64 {
        (1, slots - 64)
    } else {
        (2, 0)
    }
}

/// The solver, reusable from line to line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct System<const R: usize> {
    /// `words[w][i]` is word w of equation i.
    words: [[u64; ROWS]; 3],
    /// The slot that equation i determines, or `NONE`.
    pivots: [u8; ROWS],
    held: usize,
}

const NONE: u8 = u8::MAX;

/// The slot that bit `bit` of word `word` stands for.
#[inline(always)]
fn slot_of(word: u8, bit: u32) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "the index of a bit in a word")]
    let bit = bit as u8;
    64 * word + bit
}

impl<const R: usize> System<R> {
    const SLOTS: usize = slots(R);
    const RIGHT: (usize, usize) = right_side(R);

    pub(super) fn new() -> Self {
        Self { words: [[0; ROWS]; 3], pivots: [NONE; ROWS], held: 0 }
    }

    /// Solves for the longest prefix of `keys` that has a solution, using only the first `slots` slots of the
    /// line, and ORs the solution into `line`, whose columns must be zero there.
    ///
    /// Returns the number of keys in the prefix: that of all keys if every key holds.
    #[inline(always)]
    pub(super) fn solve(&mut self, keys: &[u64], lines: usize, slots: usize, line: &mut LineBytes) -> usize {
        debug_assert!(slots <= Self::SLOTS);
        let masks = slot_mask(slots);
        self.held = 0;
        let mut taken = 0;
        loop {
            let first = self.held;
            let count = (keys.len() - taken).min(Self::SLOTS + SPARE - first);
            for &y in &keys[taken..taken + count] {
                self.push(y, lines, masks);
            }
            let cut = self.eliminate(first);
            if let Some(cut) = cut {
                self.held = cut;
                taken += cut - first;
                break;
            }
            taken += count;
            if taken == keys.len() {
                break;
            }
            self.drop_dependent();
        }
        self.store(line);
        taken
    }

    #[inline(always)]
    fn push(&mut self, y: u64, lines: usize, masks: [u64; 2]) {
        let [low, high] = coefficients::<R>(y);
        let right = Place::new(y, lines).fingerprint::<R>();
        let mut row = [low & masks[0], high & masks[1], 0];
        row[Self::RIGHT.0] |= right << Self::RIGHT.1;
        for (column, word) in self.words.iter_mut().zip(row) {
            column[self.held] = word;
        }
        self.held += 1;
    }

    /// Reduces every equation by every other. Equations before `first` are reduced among themselves already.
    /// Returns the index of the first equation that contradicts those before it.
    #[inline(always)]
    fn eliminate(&mut self, first: usize) -> Option<usize> {
        let (right_word, right_shift) = Self::RIGHT;
        // The sweeps run over whole vectors: past the last equation they meet what an earlier line left, in
        // rows that nothing reads.
        let end = self.held.next_multiple_of(LANES);
        debug_assert!(end <= ROWS && first <= self.held);
        for i in 0..self.held {
            let row = [self.words[0][i], self.words[1][i], self.words[2][i]];
            let mut left = row;
            if right_shift == 0 {
                left[right_word] = 0;
            } else {
                left[right_word] &= (1 << right_shift) - 1;
            }
            // The third word never has a coefficient.
            if left[0] != 0 {
                let bit = left[0].trailing_zeros();
                self.sweep::<0>(bit, row, i, end);
                self.pivots[i] = slot_of(0, bit);
            } else if left[1] != 0 {
                let bit = left[1].trailing_zeros();
                self.sweep::<1>(bit, row, i, end);
                self.pivots[i] = slot_of(1, bit);
            } else if row[right_word] == 0 {
                self.pivots[i] = NONE;
            } else {
                return Some(i);
            }
        }
        None
    }

    /// Adds `row`, which is equation `i`, to every other equation that has coefficient `bit` of word `WORD`.
    #[inline(always)]
    fn sweep<const WORD: usize>(&mut self, bit: u32, row: [u64; 3], i: usize, end: usize) {
        let [first, second, third] = &mut self.words;
        let rows = first[..end].chunks_exact_mut(LANES).zip(second[..end].chunks_exact_mut(LANES));
        for ((first, second), third) in rows.zip(third[..end].chunks_exact_mut(LANES)) {
            for lane in 0..LANES {
                let tested = if WORD == 0 { first[lane] } else { second[lane] };
                let mask = 0u64.wrapping_sub(tested >> bit & 1);
                first[lane] ^= row[0] & mask;
                if Self::RIGHT.0 >= 1 {
                    second[lane] ^= row[1] & mask;
                }
                if Self::RIGHT.0 >= 2 {
                    third[lane] ^= row[2] & mask;
                }
            }
        }
        // The sweep cleared equation i itself.
        for (column, word) in self.words.iter_mut().zip(row) {
            column[i] = word;
        }
    }

    /// Makes room for more equations: keeps only those that determine a slot.
    #[cold]
    fn drop_dependent(&mut self) {
        let mut kept = 0;
        for i in 0..self.held {
            if self.pivots[i] != NONE {
                for column in &mut self.words {
                    column[kept] = column[i];
                }
                kept += 1;
            }
        }
        self.held = kept;
    }

    /// ORs the solution of the equations held into the columns of `line`.
    #[inline(always)]
    fn store(&self, line: &mut LineBytes) {
        let (right_word, right_shift) = Self::RIGHT;
        // Slots as two planes of bytes, so that columns come out of 8×8 bit transpositions.
        let mut planes = [[0u8; 128]; 2];
        for i in 0..self.held {
            if self.pivots[i] != NONE {
                let right = (self.words[right_word][i] >> right_shift).to_le_bytes();
                let slot = usize::from(self.pivots[i] & 127);
                planes[0][slot] = right[0];
                if R > 8 {
                    planes[1][slot] = right[1];
                }
            }
        }
        let mut columns = [[0u8; 16]; 16];
        for (plane, columns) in planes.iter().zip(columns.chunks_exact_mut(8)).take(R.div_ceil(8)) {
            for group in 0..Self::SLOTS.div_ceil(8) {
                let mut block = [0; 8];
                block.copy_from_slice(&plane[8 * group..8 * group + 8]);
                let block = transpose(u64::from_le_bytes(block)).to_le_bytes();
                for (column, byte) in columns.iter_mut().zip(block) {
                    column[group] = byte;
                }
            }
        }
        let mut words = [0u64; 8];
        for (j, column) in columns[..R].iter().rev().enumerate() {
            let column = u128::from_le_bytes(*column);
            let (word, shift) = (j * Self::SLOTS / 64, j * Self::SLOTS % 64);
            let beyond = if shift == 0 { 0 } else { column >> (128 - shift) };
            #[expect(clippy::cast_possible_truncation, reason = "the column is taken word by word")]
            let parts = [(column << shift) as u64, ((column << shift) >> 64) as u64, beyond as u64];
            // A column ends before the threshold byte: the parts that `zip` leaves out are zero.
            for (word, part) in words[word..].iter_mut().zip(parts) {
                *word |= part;
            }
        }
        for (bytes, word) in line.chunks_exact_mut(8).zip(words) {
            for (byte, solved) in bytes.iter_mut().zip(word.to_le_bytes()) {
                *byte |= solved;
            }
        }
    }
}

/// Transposes an 8×8 bit matrix, row i being byte i, by swapping ever larger off-diagonal blocks
/// (Warren, Hacker's Delight, §7-3).
#[inline(always)]
const fn transpose(x: u64) -> u64 {
    const fn swap(x: u64, mask: u64, distance: u32) -> u64 {
        let t = (x ^ (x >> distance)) & mask;
        x ^ t ^ (t << distance)
    }
    let x = swap(x, 0x00AA_00AA_00AA_00AA, 7);
    let x = swap(x, 0x0000_CCCC_0000_CCCC, 14);
    swap(x, 0x0000_0000_F0F0_F0F0, 28)
}
