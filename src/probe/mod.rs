//! Probing: which bits of a filter's lines stand for a hash, and how they are tested and set.
//!
//! Two schemas. **Blocked**: the low half of the hash picks a line, the high half all the bits in it, so a
//! lookup is one cache miss. **Classic**: every probe goes to a line of its own, for fewer bits per key and more
//! misses. Both are written once as a portable definition in this module and its [`kernel`]s; SIMD kernels give
//! the same bits and answers faster.
//!
//! [`Probe`] is what a filter needs of a schema. It is implemented by the value objects of
//! [`sizing`](crate::sizing), works on lines at any address, and neither owns memory nor counts keys.

mod batch;
mod blocked;
mod classic;
pub mod kernel;
mod partition;

pub use kernel::Backend;
pub(crate) use partition::{add_parallel, hash_and_add_parallel};

use crate::hash::KeyHash;
use crate::line::{AtomicLine, LineBytes, ReadLine};
use crate::sizing::{BlockedParams, ClassicParams};

/// A probing schema with its size: implemented by [`BlockedParams`] and [`ClassicParams`], and by nothing else.
///
/// Every method that takes `lines` wants exactly [`line_count`](Self::line_count) of them. Where there are fewer
/// than a probe needs, it panics; only blocked lookups in no lines at all say "maybe". Reading works on plain lines and on those that other threads
/// are adding to; the two have adding methods of their own, [`add`](Self::add) and
/// [`add_shared`](Self::add_shared), which set the same bits.
pub trait Probe: Copy + Eq + std::fmt::Debug + Send + Sync + sealed::Sealed + 'static {
    /// Bits of the filter.
    fn bits(&self) -> u64;

    /// Probes of a key.
    fn probes(&self) -> u8;

    /// Lines that hold the bits; `None` where they are more than this machine can address.
    fn line_count(&self) -> Option<usize>;

    /// The false-positive rate to expect with `keys` distinct keys.
    fn expected_fpp(&self, keys: u64) -> f64;

    /// The false-positive rate of lines with just these bits set: what an absent key, hashed at random, meets.
    fn fill_fpp<L: ReadLine>(&self, lines: &[L]) -> f64;

    /// The number of distinct keys that most likely set these bits; `None` where every bit is set.
    fn keys_from_fill<L: ReadLine>(&self, lines: &[L]) -> Option<u64>;

    /// False when the hash was certainly never added.
    fn might_contain<L: ReadLine>(&self, backend: Backend, lines: &[L], hash: KeyHash) -> bool;

    /// [`might_contain`](Self::might_contain) for many hashes, with every line fetched ahead of its test.
    ///
    /// # Panics
    /// Where `answers` is not as long as `hashes`.
    fn might_contain_batch<L: ReadLine>(
        &self,
        backend: Backend,
        lines: &[L],
        hashes: &[KeyHash],
        answers: &mut [bool],
    );

    /// Sets the bits of a hash; true when at least one of them was not set, so the hash was certainly new.
    fn add(&self, backend: Backend, lines: &mut [LineBytes], hash: KeyHash) -> bool;

    /// [`add`](Self::add) for many hashes, with every line fetched ahead; returns how many were certainly new.
    fn add_batch(&self, backend: Backend, lines: &mut [LineBytes], hashes: &[KeyHash]) -> u64;

    /// [`add`](Self::add) to lines that other threads add to and read at the same time. Once it has returned, a
    /// lookup that it happened before finds the hash. Where every bit is there already nothing is written. Two
    /// threads that add the same new hash at once may both be told that it was new; one of them is.
    fn add_shared(&self, lines: &[AtomicLine], hash: KeyHash) -> bool;

    /// [`add_shared`](Self::add_shared) for many hashes, with every line fetched ahead; returns how many were
    /// new.
    fn add_shared_batch(&self, lines: &[AtomicLine], hashes: &[KeyHash]) -> u64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::BlockedParams {}
    impl Sealed for super::ClassicParams {}
}

/// Bits set in a line.
pub(crate) fn ones(line: &impl ReadLine) -> u32 {
    line.load().iter().map(|byte| byte.count_ones()).sum()
}
