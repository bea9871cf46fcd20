//! FNV-1a by Fowler, Noll and Vo, 64 bits (crate `fnv`), then a finaliser.
//!
//! FNV-1a takes a byte at a time, by xor and then a multiplication by the prime 2⁴⁰ + 0x1B3. That is easy
//! to write anywhere, and slow on long keys. Raw, it does not suit a Bloom filter: the last byte of a key
//! meets a single multiplication, which adds it, but for carries, to bits 0–16 and 40–47 alone, so that
//! the high half of the hash, where the probes come from, hardly differs among keys that end differently.
//! MurmurHash3's 64-bit finaliser, a bijection of 64-bit numbers, spreads every bit over the whole word
//! and merges no two hashes.

use std::hash::Hasher as _;

/// FNV-1a of the key, finalised.
#[inline]
pub(super) fn hash(key: &[u8]) -> u64 {
    let mut state = fnv::FnvHasher::default();
    state.write(key);
    fmix64(state.finish())
}

/// MurmurHash3's 64-bit finaliser (Appleby, `fmix64`).
#[inline]
const fn fmix64(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x ^= x >> 33;
    x = x.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}
