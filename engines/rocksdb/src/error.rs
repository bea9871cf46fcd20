//! What can go wrong, each with what was expected and what was found.

use std::path::PathBuf;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bits per key are not a number in the range that RocksDB's format can use.
    #[error("bits per key must be from 1 to 100, got {got}")]
    BitsPerKey {
        /// What was asked for.
        got: f64,
    },
    /// RocksDB's filter trailer has room for 1 to 30 probes.
    #[error("probes must be from 1 to 30, got {got}")]
    Probes {
        /// What was asked for.
        got: u32,
    },
    /// A compact filter's false-positive rate is a power of two from 2⁻⁴ to 2⁻¹⁶.
    #[error(
        "a compact filter's false-positive rate must be from 0.0000152587890625 (2^-16) to below 1, got {got}"
    )]
    FalsePositiveRate {
        /// What was asked for.
        got: f64,
    },
    /// A per-level policy was given as the policy of a level.
    #[error("a per-level policy cannot be the policy of a level")]
    NestedLevels,
    /// A budget for [`crate::Monkey`] is out of range.
    #[error("{field} must be {expected}, got {got}")]
    Budget {
        /// The field of the budget.
        field: &'static str,
        /// The range that it accepts.
        expected: &'static str,
        /// What was asked for.
        got: f64,
    },
    /// A policy's text could not be read.
    #[error("not a filter policy: {reason} in {text:?}")]
    Parse {
        /// The part that could not be read.
        text: String,
        /// What was expected there.
        reason: &'static str,
    },
    /// The table factory of the options is not RocksDB's block-based one, so it has no filters.
    #[error("the options' table factory is not block-based and takes no filter policy")]
    NotBlockBased,
    /// The RocksDB that is linked differs from the headers that this crate was compiled against.
    #[error("the linked RocksDB is not the version that bloomline-rocksdb was compiled against")]
    LibraryVersion,
    /// A table file could not be inspected.
    #[error("cannot inspect {}: {reason}", path.display())]
    Inspect {
        /// The file or folder.
        path: PathBuf,
        /// RocksDB's or the system's words.
        reason: String,
    },
    /// A file is damaged, or no table file.
    #[error("{}: damaged, or no table file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// RocksDB's words.
        reason: String,
    },
}

impl Error {
    /// True where a file was read and is not a whole, valid table file; false where it could not be read.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}
