//! Bloomline answers one question, in one cache miss and before any disk I/O: **is this key definitely absent?**
//!
//! The contract: after `add(x)` has returned, `might_contain(x)` is true, in this process and after any number of
//! saves and loads. `false` is a fact; `true` is a probability. There are no false negatives, no deletes, no
//! iteration, and a filter is no security boundary.
//!
//! # Which type
//! | You have | Use |
//! |---|---|
//! | keys, and about how many there will be | [`BlockedFilter`] |
//! | the same, and memory dearer than time | [`ClassicFilter`]: 3% smaller at 1%, and a cache miss for each probe |
//! | all keys at once, and memory dear | [`FilterBuilder`] of [`Kind::Compact`](format::Kind): a quarter smaller |
//! | a stream of keys of unknown length | [`ScalableFilter`] |
//! | threads that share one filter | [`AtomicBlockedFilter`], [`ConcurrentScalableFilter`] |
//! | any filter, and threads | [`Synchronized`] |
//! | filters of shards to unite | [`Merger`] |
//! | sorted keys of a file that your engine writes | [`FilterBuilder`], then [`FilterReader`] over its bytes |
//! | a block of bytes, from a mapped file or a cache | [`FilterReader`] |
//! | sorted keys and values, to file and to look up | [`TableWriter`], [`TableReader`] |
//!
//! # A filter in memory, saved and read again
//! ```
//! use bloomline::sizing::BlockedParams;
//! use bloomline::{BlockedFilter, FilterReader, Hashers};
//!
//! let mut filter = BlockedFilter::new(BlockedParams::for_fpp(1_000_000, 0.01)?)?;
//! filter.add(b"apple");
//! assert!(filter.might_contain(b"apple"));
//! assert!(!filter.might_contain(b"plum"));
//!
//! let block = filter.encode();
//! let reader = FilterReader::open(&block, &Hashers::new())?;
//! assert!(reader.might_contain(b"apple"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`table::write_filter_file`] makes a file of a filter, whole or not at all, and [`TableReader::filter`] asks it
//! through a shared mapping.
//!
//! # How the modules stand on each other
//! [`hash`], [`funnel`], [`sizing`], [`mmap`] and [`line`](mod@line) are the parts; [`probe`] is the schema of a
//! Bloom filter with its kernels and [`compact`] the other kind; [`format`](mod@format) is the block; [`filter`] puts
//! the parts together and [`table`] files them. Imports point one way, but for [`error`], whose enums carry the small
//! value types (an id, a kind) of the modules that raise them.

pub mod compact;
pub mod error;
pub mod filter;
pub mod format;
pub mod funnel;
pub mod hash;
pub mod line;
pub mod mmap;
pub mod probe;
pub mod sizing;
mod stripes;
mod sync;
pub mod table;

pub use filter::{
    AnyFilter, AtomicBlockedFilter, AtomicClassicFilter, BlockedFilter, Budget, ClassicFilter,
    ConcurrentScalableFilter, Filter, FilterBuilder, FilterOptions, FilterReader, LevelOptions, Membership,
    Merger, ScalableFilter, Synchronized,
};
pub use hash::{Hasher, Hashers, KeyHash};
pub use table::{TableOptions, TableReader, TableWriter};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
