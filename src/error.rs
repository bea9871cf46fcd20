//! The error enums of the library.
//!
//! Each variant carries what was expected and what was found. The enums only borrow plain value types
//! (ids, sizes) from the modules that raise them.

use thiserror::Error;

use crate::hash::HasherId;

/// Why a hasher can't be made, or can't answer for a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HasherError {
    /// The seed is larger than the hash function takes.
    #[error("seed {seed} is out of range for {hasher}: the largest is {max}")]
    SeedOutOfRange {
        /// The hasher asked for.
        hasher: HasherId,
        /// The seed asked for.
        seed: u64,
        /// The largest seed that the hasher takes; 0 where it takes none.
        max: u64,
    },
    /// The keys were hashed with a secret key, and none was given.
    #[error("needs the secret key of {hasher}, and none was given")]
    SecretKeyNeeded {
        /// The keyed hasher.
        hasher: HasherId,
    },
    /// None of the secret keys given is the one that the keys were hashed with.
    #[error(
        "needs another secret key of {hasher}: its check is {expected:#010x}, the key given has {got:#010x}"
    )]
    WrongSecretKey {
        /// The keyed hasher.
        hasher: HasherId,
        /// The check value that the right key has.
        expected: u32,
        /// The check value of the last key tried.
        got: u32,
    },
    /// The hasher of this id and seed hashes the check text to something else: a damaged header, or a
    /// faulty implementation on the side of the writer or of the reader.
    #[error(
        "needs {hasher} with seed {seed} and check {expected:#010x}, but that hasher's check is {got:#010x} here"
    )]
    CheckMismatch {
        /// The hasher asked for.
        hasher: HasherId,
        /// The seed asked for.
        seed: u64,
        /// The check value asked for.
        expected: u32,
        /// The check value worked out here.
        got: u32,
    },
    /// The application hasher given was made with another seed.
    #[error("needs {hasher} with seed {expected}, got it with seed {got}")]
    SeedMismatch {
        /// The application hasher.
        hasher: HasherId,
        /// The seed asked for.
        expected: u64,
        /// The seed of the hasher that was given.
        got: u64,
    },
    /// The application's own hasher is needed, and it was not given.
    #[error("needs {hasher}, which its application must supply")]
    ApplicationHasherNeeded {
        /// The application hasher.
        hasher: HasherId,
    },
    /// A hasher of a storage engine is needed: this crate knows its name, but does not compute it.
    #[error("needs {hasher}, which only the storage engine that it belongs to can supply")]
    EngineHasherNeeded {
        /// The engine's hasher.
        hasher: HasherId,
    },
    /// The id is not in the registry of this version.
    #[error("needs {hasher}: no hasher with that id is known to this version")]
    UnknownHasher {
        /// The id that was found.
        hasher: HasherId,
    },
    /// An application hasher was given an id outside the range kept for applications.
    #[error("an application hasher's id is {first:#06x} or above, got {got:#06x}", first = HasherId::FIRST_APPLICATION.get(), got = hasher.get())]
    NotApplicationId {
        /// The id that was given.
        hasher: HasherId,
    },
}
