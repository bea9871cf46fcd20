//! Bloomline.

pub mod error;
pub mod filter;
pub mod format;
pub mod hash;
pub mod line;
pub mod mmap;
pub mod probe;
pub mod sizing;

pub use filter::{
    BlockedFilter, Budget, ClassicFilter, FilterBuilder, FilterOptions, FilterReader, LevelOptions,
};
pub use hash::{Hasher, Hashers, KeyHash};
