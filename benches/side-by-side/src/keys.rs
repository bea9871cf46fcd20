//! The keys: 16 random bytes each, made by number, and their hashes.

use std::ops::Range;

use bloomline::{Hasher, KeyHash};

/// An application's key.
pub(crate) type Key = [u8; 16];

/// Keys and, in the same order, their hashes by Bloomline's default hasher. Contenders that take hashes get the
/// same ones.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
    pub(crate) hashes: Vec<KeyHash>,
}

impl Keys {
    /// The keys of some numbers. Keys of different numbers differ.
    pub(crate) fn numbered(numbers: Range<u64>) -> Self {
        Self::of(numbers.map(key).collect())
    }

    /// `count` keys picked at random from those of the numbers under `numbers`.
    pub(crate) fn sample(numbers: u64, count: u64) -> Self {
        let pick = |i: u64| ((u128::from(mix(!i)) * u128::from(numbers)) >> 64) as u64;
        Self::of((0..count).map(|i| key(pick(i))).collect())
    }

    /// The first `count` of these keys.
    pub(crate) fn first(&self, count: usize) -> Self {
        Self { keys: self.keys[..count].to_vec(), hashes: self.hashes[..count].to_vec() }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    fn of(keys: Vec<Key>) -> Self {
        let hasher = Hasher::default();
        let hashes = keys.iter().map(|key| hasher.hash(key)).collect();
        Self { keys, hashes }
    }
}

/// `SplitMix64`'s finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits.
fn mix(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn key(number: u64) -> Key {
    let first = mix(number);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_le_bytes());
    key[8..].copy_from_slice(&mix(first ^ u64::MAX).to_le_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_the_numbered_keys_and_spread() {
        let all = Keys::numbered(0..1000);
        let sample = Keys::sample(1000, 5000);
        assert!(sample.keys.iter().all(|key| all.keys.contains(key)));
        let met = all.keys.iter().filter(|key| sample.keys.contains(key)).count();
        assert!(met > 980, "5000 draws of 1000 keys meet all but about 7, not {met}");
    }
}
