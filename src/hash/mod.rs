//! Hashing.

/// The 64-bit hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
