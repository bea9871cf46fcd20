//! The directory: how many layers a body has and how many lines each, kept in slots of its last line.
//!
//! The layers follow each other in the body, layer 0 first. The last layer always is one line, the *tail*.
//! The tail needs fewer slots than it has, so its topmost slots are no slots at all: no equation of the tail
//! mentions them, and their bits hold the directory. Small filters pay no byte for it.
//!
//! ```text
//! directory bit i   is bit (i mod r) of slot S − 1 − ⌊i / r⌋ of the tail
//! bits 0..4         number of layers − 1
//! 16 bits each      lines of layer 1, of layer 2, … of the last layer but one
//! ```
//!
//! Layer 0 has the lines that are left. A size is a small floating-point number, the mantissa in the low 11
//! bits and the exponent above it, in its shortest form: exponent 0, or the top bit of the mantissa set. So
//! a layer is at most one part in 1024 larger than it was meant to be, and three layers take 20 bits.

use crate::error::CompactBodyError;
use crate::line::LineBytes;
use crate::sizing::compact::{COUNT_BITS, MANTISSA_BITS, MAX_LAYERS, SIZE_BITS, exponent, slots};

/// Lines of each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    /// Entries from `layers` on are zero.
    lines: [usize; MAX_LAYERS],
    layers: usize,
}

impl Directory {
    /// Lines of each layer, in order. The last is 1.
    pub(super) fn layers(&self) -> &[usize] {
        &self.lines[..self.layers]
    }

    /// Lines of each layer that is neither the first nor the tail.
    #[inline(always)]
    pub(super) fn between(&self) -> &[usize] {
        self.lines.get(1..self.layers - 1).unwrap_or_default()
    }

    /// Takes what the builder made: sizes that [`crate::sizing::compact::round_up`] returned, but for the first, and a last of 1.
    pub(super) fn of_layers(sizes: &[usize]) -> Self {
        let mut lines = [0; MAX_LAYERS];
        lines[..sizes.len()].copy_from_slice(sizes);
        Self { lines, layers: sizes.len() }
    }

    /// Writes the directory into its slots of the tail, which must be zero.
    pub(super) fn store(&self, r: usize, tail: &mut LineBytes) {
        let mut bits = BitCursor { r, next: 0 };
        bits.put(tail, COUNT_BITS, self.layers - 1);
        for &lines in self.between() {
            bits.put(tail, SIZE_BITS, usize::from(encode(lines)));
        }
    }

    /// Reads the directory of a body that has the lines `body`. Every layer it returns lies inside the body.
    pub(super) fn load(r: usize, body: &[LineBytes]) -> Result<Self, CompactBodyError> {
        let Some(tail) = body.last() else { return Err(CompactBodyError::NoLines) };
        let mut bits = BitCursor { r, next: 0 };
        let layers = bits.get(tail, COUNT_BITS) + 1;
        if layers > body.len() || (layers == 1 && body.len() > 1) {
            return Err(CompactBodyError::Layers { layers, lines: body.len() });
        }
        let mut lines = [0; MAX_LAYERS];
        lines[layers - 1] = 1;
        if layers > 1 {
            let mut rest = 1u64;
            for (layer, size) in lines.iter_mut().enumerate().take(layers - 1).skip(1) {
                #[expect(clippy::cast_possible_truncation, reason = "sixteen bits were read")]
                let code = bits.get(tail, SIZE_BITS) as u16;
                let decoded = decode(code).ok_or(CompactBodyError::LayerSize { layer, got: code })?;
                // At most 14 sizes below 2^42: no overflow.
                rest += decoded;
                *size = usize::try_from(decoded).unwrap_or(usize::MAX);
            }
            match usize::try_from(rest).ok().and_then(|rest| body.len().checked_sub(rest)) {
                Some(first) if first > 0 => lines[0] = first,
                _ => return Err(CompactBodyError::TooManyLines { needed: rest, lines: body.len() }),
            }
        }
        for _ in 0..bits.left_in_slot() {
            if bits.get(tail, 1) != 0 {
                return Err(CompactBodyError::ReservedBits { line: body.len() - 1 });
            }
        }
        Ok(Self { lines, layers })
    }
}

fn encode(lines: usize) -> u16 {
    let exponent = exponent(lines);
    debug_assert!(lines > 0 && lines >> exponent << exponent == lines && exponent < 32);
    #[expect(clippy::cast_possible_truncation, reason = "11 bits of mantissa and 5 of exponent")]
    let code = (lines >> exponent) as u16 | (exponent << MANTISSA_BITS) as u16;
    code
}

fn decode(code: u16) -> Option<u64> {
    let mantissa = u64::from(code) & ((1 << MANTISSA_BITS) - 1);
    let exponent = code >> MANTISSA_BITS;
    let shortest = exponent == 0 || mantissa >> (MANTISSA_BITS - 1) == 1;
    (mantissa > 0 && shortest).then_some(mantissa << exponent)
}

/// Walks the directory's bits: up the columns of a slot, down the slots.
struct BitCursor {
    r: usize,
    next: usize,
}

impl BitCursor {
    /// Bits of the present slot that are not taken.
    fn left_in_slot(&self) -> usize {
        self.next.next_multiple_of(self.r) - self.next
    }

    /// Position in the line of the next bit. Sixteen layers take 228 bits, so the slot never underflows.
    fn advance(&mut self) -> usize {
        let slots = slots(self.r);
        let (slot, column) = (slots - 1 - self.next / self.r, self.next % self.r);
        self.next += 1;
        column * slots + slot
    }

    fn put(&mut self, line: &mut LineBytes, width: usize, value: usize) {
        for i in 0..width {
            let bit = self.advance();
            line[bit / 8] |= u8::from(value >> i & 1 == 1) << (bit % 8);
        }
    }

    fn get(&mut self, line: &LineBytes, width: usize) -> usize {
        (0..width).fold(0, |value, i| {
            let bit = self.advance();
            value | usize::from(line[bit / 8] >> (bit % 8) & 1) << i
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::compact::{MAX_R, MIN_R, round_up, tail_slots};

    fn body(sizes: &[usize], r: usize) -> Vec<LineBytes> {
        let mut body = vec![[0u8; 64]; sizes.iter().sum()];
        Directory::of_layers(sizes).store(r, body.last_mut().unwrap());
        body
    }

    #[test]
    fn round_trips_and_keeps_out_of_the_tails_slots() {
        let deep: Vec<usize> = (0..15).rev().map(|i| round_up((1 << i) + i)).chain([1]).collect();
        for r in MIN_R..=MAX_R {
            for sizes in [&[1][..], &[9, 1], &[58, 7, 1], &[70_000, round_up(9_001), 2047, 1, 1], &deep] {
                let lines = body(sizes, r);
                assert_eq!(Directory::load(r, &lines).unwrap().layers(), sizes, "r {r}");
                let tail = lines.last().unwrap();
                let left = tail_slots(r, sizes.len());
                assert!(2 * left > slots(r) - 2, "r {r}: {left}");
                for bit in (0..512).filter(|bit| bit / slots(r) >= r || bit % slots(r) < left) {
                    assert_eq!(tail[bit / 8] >> (bit % 8) & 1, 0, "r {r}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn sizes_lose_at_most_a_thousandth() {
        for lines in (1..5000).chain([123_457, 1 << 30, (1 << 30) + 1, (1 << 41) - 1]) {
            let rounded = round_up(lines);
            assert!(rounded >= lines && (rounded - lines) * 1024 <= lines, "{lines} became {rounded}");
            assert_eq!(decode(encode(rounded)), Some(rounded as u64));
        }
    }

    #[test]
    fn only_the_shortest_form_of_a_size_is_one() {
        assert_eq!(decode(0), None);
        assert_eq!(decode(3 << 11), None);
        assert_eq!(decode(3 << 11 | 1023), None);
        assert_eq!(decode(3 << 11 | 1024), Some(8192));
        let accepted: std::collections::HashSet<_> = (0..=u16::MAX).filter_map(decode).collect();
        let codes = (0..=u16::MAX).filter(|&code| decode(code).is_some()).count();
        assert_eq!(accepted.len(), codes, "two codes for one size");
    }

    #[test]
    fn lies_are_named() {
        use CompactBodyError as E;
        let lies = |mut lines: Vec<LineBytes>, r, bit_of_directory: usize| {
            let mut cursor = BitCursor { r, next: bit_of_directory };
            let bit = cursor.advance();
            lines.last_mut().unwrap()[bit / 8] ^= 1 << (bit % 8);
            Directory::load(r, &lines)
        };
        assert_eq!(Directory::load(8, &[]), Err(E::NoLines));
        // Two layers become one.
        assert_eq!(lies(body(&[9, 1], 8), 8, 0), Err(E::Layers { layers: 1, lines: 10 }));
        // One layer becomes nine.
        assert_eq!(lies(body(&[1], 8), 8, 3), Err(E::Layers { layers: 9, lines: 1 }));
        // Layer 1 grows from 7 lines to 71; then its exponent from 0 to 1; then its only line vanishes.
        assert_eq!(lies(body(&[58, 7, 1], 8), 8, 10), Err(E::TooManyLines { needed: 72, lines: 66 }));
        assert_eq!(lies(body(&[58, 7, 1], 8), 8, 15), Err(E::LayerSize { layer: 1, got: 7 | 1 << 11 }));
        assert_eq!(lies(body(&[58, 1, 1], 8), 8, 4), Err(E::LayerSize { layer: 1, got: 0 }));
        // Taking the first layer's last line is as wrong as taking more.
        assert_eq!(lies(body(&[2, 1, 1], 8), 8, 5), Err(E::TooManyLines { needed: 4, lines: 4 }));
        // 20 bits in slots of 8: four bits are reserved.
        assert_eq!(lies(body(&[58, 7, 1], 8), 8, 23), Err(E::ReservedBits { line: 65 }));
    }
}
