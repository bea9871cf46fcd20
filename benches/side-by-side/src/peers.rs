//! The Rust filters that people use, each as its documentation advises for speed.
//!
//! Contenders that take hashes only get the hash of the key by Bloomline's default hasher, XXH3.

use bloomline::sizing::classic_fpp;
use bloomline::{Hasher, KeyHash};
use foldhash::fast::FixedState;
use xorf::Filter as _;

use crate::contender::{BuildFrom, Contender, Filter, count};
use crate::keys::Key;

/// `fastbloom`: unblocked, the best number of probes for the size. From ready hashes.
pub(crate) fn fastbloom(keys: u64, bits_per_key: f64) -> Contender {
    let new = new_fastbloom(keys, bits_per_key);
    Contender {
        name: "fastbloom",
        settings: "with_num_bits, expected_items",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(best_unblocked(bits_per_key)),
        build: Box::new(move |keys| {
            let mut filter = new();
            for hash in &keys.hashes {
                filter.insert_hash(hash.get());
            }
            Box::new(FastbloomOfHashes(filter))
        }),
        build_parallel: None,
    }
}

/// `fastbloom` from keys, with the hasher that its documentation advises for speed.
pub(crate) fn fastbloom_of_keys(keys: u64, bits_per_key: f64) -> Contender {
    let new = new_fastbloom(keys, bits_per_key);
    Contender {
        name: "fastbloom of keys",
        settings: "with_num_bits, expected_items, hasher foldhash::fast; its build time includes hashing",
        build_from: BuildFrom::Keys,
        expected_fpp: Some(best_unblocked(bits_per_key)),
        build: Box::new(move |keys| {
            let mut filter = new();
            filter.insert_all(&keys.keys);
            Box::new(FastbloomOfKeys(filter))
        }),
        build_parallel: None,
    }
}

type Fastbloom = fastbloom::BloomFilter<FixedState>;

fn new_fastbloom(keys: u64, bits_per_key: f64) -> impl Fn() -> Fastbloom {
    let bits = bits(keys, bits_per_key);
    move || {
        let hasher = FixedState::with_seed(0);
        fastbloom::BloomFilter::with_num_bits(bits).hasher(hasher).expected_items(usize_of(keys))
    }
}

struct FastbloomOfHashes(Fastbloom);

impl Filter for FastbloomOfHashes {
    fn bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
        Some(count(hashes, |hash| self.0.contains_hash(hash.get())))
    }

    fn count_keys(&self, _: &[Key]) -> Option<usize> {
        None
    }
}

struct FastbloomOfKeys(Fastbloom);

impl Filter for FastbloomOfKeys {
    fn bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn count_hashes(&self, _: &[KeyHash]) -> Option<usize> {
        None
    }

    fn count_keys(&self, keys: &[Key]) -> Option<usize> {
        Some(count(keys, |key| self.0.contains(key)))
    }
}

/// `sbbf-rs-safe`: the split block filter of Parquet, always eight probes.
pub(crate) fn split_block(keys: u64, bits_per_key: u32) -> Contender {
    Contender {
        name: "sbbf-rs-safe",
        settings: "hashes by XXH3",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(split_block_fpp(bits_per_key.into())),
        build: Box::new(move |added| {
            let mut filter = sbbf_rs_safe::Filter::new(bits_per_key as usize, usize_of(keys));
            for hash in &added.hashes {
                filter.insert_hash(hash.get());
            }
            Box::new(filter)
        }),
        build_parallel: None,
    }
}

impl Filter for sbbf_rs_safe::Filter {
    fn bytes(&self) -> usize {
        self.as_bytes().len()
    }

    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
        Some(count(hashes, |hash| self.contains_hash(hash.get())))
    }

    fn count_keys(&self, keys: &[Key]) -> Option<usize> {
        let hasher = Hasher::default();
        Some(count(keys, |key| self.contains_hash(hasher.hash(key).get())))
    }
}

/// `xorf::BinaryFuse8`: static, built from all hashes at once, about 9 bits per key and one rate.
pub(crate) fn binary_fuse8() -> Contender {
    Contender {
        name: "xorf BinaryFuse8",
        settings: "static; hashes by XXH3",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(1.0 / 256.0),
        build: Box::new(|keys| {
            let hashes = keys.hashes.iter().map(|hash| hash.get());
            Box::new(xorf::BinaryFuse8::try_from_iterator(hashes).expect("distinct hashes"))
        }),
        build_parallel: None,
    }
}

/// `xorf::BinaryFuse16`: the same with 16-bit fingerprints.
pub(crate) fn binary_fuse16() -> Contender {
    Contender {
        name: "xorf BinaryFuse16",
        settings: "static; hashes by XXH3",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(1.0 / 65536.0),
        build: Box::new(|keys| {
            let hashes = keys.hashes.iter().map(|hash| hash.get());
            Box::new(xorf::BinaryFuse16::try_from_iterator(hashes).expect("distinct hashes"))
        }),
        build_parallel: None,
    }
}

macro_rules! impl_fuse {
    ($fuse:ty, $fingerprint:ty) => {
        impl Filter for $fuse {
            fn bytes(&self) -> usize {
                self.fingerprints.len() * size_of::<$fingerprint>()
            }

            fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
                Some(count(hashes, |hash| self.contains(&hash.get())))
            }

            fn count_keys(&self, keys: &[Key]) -> Option<usize> {
                let hasher = Hasher::default();
                Some(count(keys, |key| self.contains(&hasher.hash(key).get())))
            }
        }
    };
}

impl_fuse!(xorf::BinaryFuse8, u8);
impl_fuse!(xorf::BinaryFuse16, u16);

/// The seed of `bloomfilter`. Its halves key the two hashes of a key and must differ: with equal halves the two
/// hashes are one, and the rate is four times what it should be.
const SEED: [u8; 32] = *b"the one half and the other half.";

/// `bloomfilter`: unblocked, two `SipHash` calls per key; takes no hashes.
pub(crate) fn bloomfilter(keys: u64, bits_per_key: f64) -> Contender {
    let bits = bits(keys, bits_per_key);
    Contender {
        name: "bloomfilter",
        settings: "new_with_seed; takes keys only, so its build time includes hashing",
        build_from: BuildFrom::Keys,
        expected_fpp: Some(best_unblocked(bits_per_key)),
        build: Box::new(move |keys| {
            let mut filter = bloomfilter::Bloom::new_with_seed(bits / 8, keys.len(), &SEED)
                .expect("a seed needs no entropy");
            for key in &keys.keys {
                filter.set(key);
            }
            Box::new(filter)
        }),
        build_parallel: None,
    }
}

impl Filter for bloomfilter::Bloom<Key> {
    fn bytes(&self) -> usize {
        usize_of(self.len() / 8)
    }

    fn count_hashes(&self, _: &[KeyHash]) -> Option<usize> {
        None
    }

    fn count_keys(&self, keys: &[Key]) -> Option<usize> {
        Some(count(keys, |key| self.check(key)))
    }
}

/// The rate of an unblocked filter with the best number of probes.
pub(crate) fn best_unblocked(bits_per_key: f64) -> f64 {
    (1..=64).map(|probes| classic_fpp(bits_per_key, probes)).fold(1.0, f64::min)
}

/// The rate of a split block filter: blocks of 256 bits in eight words, one bit in each word. A block holds a
/// Poisson number of keys with mean 256 / bits per key.
pub(crate) fn split_block_fpp(bits_per_key: f64) -> f64 {
    let mean = 256.0 / bits_per_key;
    let mut weight = (-mean).exp();
    let mut rate = 0.0;
    for keys in 0..1000 {
        let set = 1.0 - (31.0_f64 / 32.0).powi(keys);
        rate += weight * set.powi(8);
        weight *= mean / f64::from(keys + 1);
    }
    rate
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of filters in memory")]
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 keys")]
fn bits(keys: u64, bits_per_key: f64) -> usize {
    (keys as f64 * bits_per_key).ceil() as usize
}

fn usize_of(n: u64) -> usize {
    usize::try_from(n).expect("sizes of filters in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theory_gives_the_published_rates() {
        // Parquet's split block filter: 1.27% at 10 bits per key, 0.131% at 16. Unblocked: 0.82% at 10.
        assert!((split_block_fpp(10.0) / 0.0127 - 1.0).abs() < 0.01);
        assert!((split_block_fpp(16.0) / 0.00131 - 1.0).abs() < 0.01);
        assert!((best_unblocked(10.0) / 0.0082 - 1.0).abs() < 0.01);
    }
}
