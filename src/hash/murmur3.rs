//! MurmurHash3 x64 128 by Austin Appleby (crate `mur3`).
//!
//! The hash of choice where files are shared with systems that already use it. Only the first 64 bits of
//! the result are kept, `h1`, which the reference code writes first.

/// The first 64 bits of the MurmurHash3 x64 128 result under the seed.
#[inline]
pub(super) fn hash(seed: u32, key: &[u8]) -> u64 {
    mur3::murmurhash3_x64_128(key, seed).0
}
