//! XXH3, the 64-bit variant, by Yann Collet (crate `xxhash-rust`).
//!
//! The default: the fastest of the four on every key length, of even quality in all 64 bits, and specified
//! for every length and seed. It is not a defence against keys that an attacker chooses.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Hashes the key with XXH3-64 under the seed.
#[inline]
pub(super) fn hash(seed: u64, key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, seed)
}
