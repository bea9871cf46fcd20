//! Changes to bytes that were whole, aimed at the parts of their format.

use std::ops::Range;

use arbitrary::Arbitrary;

/// One change, somewhere in one part.
#[derive(Arbitrary, Debug, Clone)]
pub struct Edit {
    part: u8,
    at: u16,
    change: Change,
}

#[derive(Arbitrary, Debug, Clone)]
enum Change {
    Flip(u8),
    Byte(u8),
    Number(Number),
    Fill(u8),
    Cut,
    Insert(u8),
    Remove(u8),
}

/// Numbers that formats go wrong at.
#[derive(Arbitrary, Debug, Clone)]
enum Number {
    Small(u8),
    Power(u8),
    BelowPower(u8),
    Plus(i8),
    Length(i8),
    Any(u64),
}

impl Number {
    fn of(&self, old: u64, length: usize) -> u64 {
        match *self {
            Self::Small(value) => value.into(),
            Self::Power(bit) => 1 << (bit % 64),
            Self::BelowPower(bit) => u64::MAX >> (bit % 64),
            Self::Plus(more) => old.wrapping_add_signed(more.into()),
            Self::Length(more) => (length as u64).wrapping_add_signed(more.into()),
            Self::Any(value) => value,
        }
    }
}

impl Edit {
    /// Changes `bytes`, of which `parts` are the parts: fields, sections, or anything else worth aiming at.
    ///
    /// A number takes the place of the rest of its part, as far as 8 bytes go, so that a field is changed whole.
    pub fn apply(&self, bytes: &mut Vec<u8>, parts: &[Range<usize>]) {
        let parts: Vec<_> =
            parts.iter().filter(|part| part.start < part.end && part.end <= bytes.len()).collect();
        let Some(part) = parts.get(usize::from(self.part) % parts.len().max(1)) else { return };
        let at = part.start + usize::from(self.at) % part.len();
        match &self.change {
            Change::Flip(bit) => bytes[at] ^= 1 << (bit % 8),
            Change::Byte(byte) => bytes[at] = *byte,
            Change::Fill(byte) => bytes[at..part.end].fill(*byte),
            Change::Number(number) => {
                let start = if part.len() <= 8 { part.start } else { at };
                let place = start..part.end.min(start + 8);
                let mut old = [0; 8];
                old[..place.len()].copy_from_slice(&bytes[place.clone()]);
                let new = number.of(u64::from_le_bytes(old), bytes.len()).to_le_bytes();
                let width = place.len();
                bytes[place].copy_from_slice(&new[..width]);
            }
            Change::Cut => bytes.truncate(at),
            Change::Insert(count) => drop(bytes.splice(at..at, std::iter::repeat_n(0, (*count).into()))),
            Change::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + usize::from(*count)))),
        }
    }
}
