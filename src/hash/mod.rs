//! Hashing: key bytes to 64 bits, once for each key.
//!
//! Everything above this module takes a [`KeyHash`]: one call of a hash function serves all probes of a
//! filter, and a caller who has the hash already never hashes again.
//!
//! A hash function is a strategy with a persisted identity. A file stores the function's [`HasherId`], its
//! seed and a check value, the hash of [`CHECK_TEXT`], so a reader that would hash otherwise refuses the
//! file instead of answering "absent" for keys that are there. Shipped are XXH3-64, MurmurHash3 x64 128,
//! FNV-1a 64 and, against keys that an attacker chooses, SipHash-2-4; applications add their own through
//! [`HashFunction`].
//!
//! What it refuses to do: hash with anything that differs from process to process, as
//! [`std::hash::Hash`] may; store a secret key; offer 32-bit functions, for with 10⁷ keys a 32-bit hash
//! alone takes 0.23% of all absent keys for present, whatever the size of the filter.

mod fnv1a;
mod hasher;
mod hashers;
mod id;
mod murmur3;
mod secret;
mod siphash;
mod xxh3;

pub use hasher::{CHECK_TEXT, HashFunction, Hasher, HasherIdentity};
pub use hashers::Hashers;
pub use id::HasherId;
pub use secret::SecretKey;

/// The 64-bit hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Takes a ready-made hash.
    #[must_use]
    pub const fn new(raw: u64) -> Self {
        Self(raw)
    }

    /// The 64 bits.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}
