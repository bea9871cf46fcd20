//! Fuzz targets for Bloomline. What a target does with an input is the `run` of the module of its name, so that
//! a plain test can run the corpus as well (`tests/corpus.rs`); `fuzz_targets` only hands the input over.
//!
//! Each target holds the library against a model: a filter against the definition of its bits, a table against a
//! sorted map, a sequence of operations against a set and a twin filled key by key. An input either is bytes as
//! they are or describes how to make sound ones and change them, with the checksums made right again.

pub mod answers;
pub mod block;
pub mod cli;
pub mod container;
pub mod edit;
pub mod judge;
pub mod memory;
pub mod mend;
pub mod model;
pub mod operations;
pub mod recipe;
pub mod table;
