//! Filters: lines, a schema, a hasher and a count, put together for use.
//!
//! The contract of every type here: after `add(x)` has returned, `might_contain(x)` is true, in this process and
//! after any number of saves and loads. `false` is a fact; `true` is a probability. There are no false
//! negatives, no deletes, no iteration, and a filter is no security boundary.
//!
//! - [`BlockedFilter`] and [`ClassicFilter`] are owned and of fixed size.
//! - [`ScalableFilter`] grows, for a stream of unknown length.
//! - [`AtomicBlockedFilter`], [`AtomicClassicFilter`] and [`ConcurrentScalableFilter`] are shared by threads without
//!   a lock; [`Synchronized`] puts any filter behind one.
//! - [`Merger`] and the `merge` methods make the union of filters.
//! - [`FilterBuilder`] collects keys whose number isn't known yet and writes a block of just the right size.
//! - [`FilterReader`] answers from the bytes of a block, wherever they lie, without copying them.
//! - [`FilterBlock`] is such a block without its hasher: all there is to know of it but what it says of a key.
//! - [`Filter`] and [`Membership`] are what all have in common, and [`open_any`] reads whatever kind a block holds.
//! - [`FilterOptions`] says which kind and how much memory; [`LevelOptions`] says it by level of an LSM tree.

mod any;
mod atomic;
mod block;
pub(crate) mod bloom;
mod builder;
mod concurrent_scalable;
mod interface;
mod merge;
mod options;
mod reader;
mod scalable;
mod synchronized;
mod view;

pub use any::{AnyFilter, open_any};
pub use atomic::{AtomicBlockedFilter, AtomicClassicFilter, AtomicFilter};
pub use block::FilterBlock;
pub use bloom::{BlockedFilter, Bloom, ClassicFilter, Schema};
pub use builder::FilterBuilder;
pub use concurrent_scalable::ConcurrentScalableFilter;
pub use interface::{Filter, Membership};
pub use merge::Merger;
pub use options::{Budget, FilterOptions, LevelOptions};
pub use reader::FilterReader;
pub use scalable::ScalableFilter;
pub use synchronized::Synchronized;

/// Keys hashed and looked up, or added, at a time: enough for the prefetching loops to get going, few enough to
/// stay in the first-level cache.
const CHUNK: usize = 256;

/// Hashes `keys` in chunks and hands each chunk, with the index of its first key, to `use_chunk`.
fn hash_in_chunks<K: AsRef<[u8]>>(
    hasher: &crate::hash::Hasher,
    keys: &[K],
    mut use_chunk: impl FnMut(usize, &[crate::hash::KeyHash]),
) {
    let mut hashes = Vec::with_capacity(CHUNK.min(keys.len()));
    for (index, chunk) in keys.chunks(CHUNK).enumerate() {
        hashes.clear();
        hashes.extend(chunk.iter().map(|key| hasher.hash(key.as_ref())));
        use_chunk(index * CHUNK, &hashes);
    }
}
