//! Bloomline.

pub mod error;
pub mod format;
pub mod hash;
pub mod line;
pub mod mmap;
pub mod probe;
pub mod sizing;
