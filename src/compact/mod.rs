//! The compact filter.

mod build;
mod directory;
mod group;
mod kernel;
mod key;
mod probe;
mod read;
mod shape;
mod system;
#[cfg(test)]
mod tests;

pub use build::{CompactBody, build};
pub use read::{CompactLayout, CompactView};
