//! The registry of hashers.

use std::fmt;

/// The persisted id of a hash function.
///
/// Ids are explicit and append-only: an id, once released, names the same function of the same bytes for
/// ever. Ids below [`FIRST_APPLICATION`](Self::FIRST_APPLICATION) belong to Bloomline, the others to
/// applications.
///
/// ```
/// use bloomline::hash::HasherId;
///
/// assert_eq!(HasherId::from_name("murmur3-x64-128"), Some(HasherId::MURMUR3_X64_128));
/// assert_eq!(HasherId::new(0x8001).to_string(), "application hasher 0x8001");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HasherId(u16);

impl HasherId {
    /// XXH3, 64 bits; the default.
    pub const XXH3_64: Self = Self(1);
    /// The first 64 bits of MurmurHash3 x64 128.
    pub const MURMUR3_X64_128: Self = Self(2);
    /// FNV-1a, 64 bits, finalised.
    pub const FNV1A_64: Self = Self(3);
    /// SipHash-2-4 with a secret 128-bit key.
    pub const SIPHASH_2_4: Self = Self(4);
    /// RocksDB's own key hash. The id is reserved here; the RocksDB engine computes it.
    pub const ROCKSDB_XXPH3: Self = Self(5);
    /// The lowest id that an application may give to its own hasher; the highest is `0xFFFF`.
    pub const FIRST_APPLICATION: Self = Self(0x8000);

    /// The ids that have a name, in order.
    const NAMED: [(Self, &'static str); 5] = [
        (Self::XXH3_64, "xxh3-64"),
        (Self::MURMUR3_X64_128, "murmur3-x64-128"),
        (Self::FNV1A_64, "fnv1a-64"),
        (Self::SIPHASH_2_4, "siphash-2-4"),
        (Self::ROCKSDB_XXPH3, "rocksdb-xxph3"),
    ];

    /// Takes any id, known or not.
    #[must_use]
    pub const fn new(id: u16) -> Self {
        Self(id)
    }

    /// The number that files store.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The registered name, or `None` for applications' ids and ids that this version does not know.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::NAMED.iter().find(|(id, _)| *id == self).map(|(_, name)| *name)
    }

    /// The id with this registered name, which is matched exactly.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
    }

    /// Whether the id is of the range kept for applications.
    #[must_use]
    pub const fn is_application(self) -> bool {
        self.0 >= Self::FIRST_APPLICATION.0
    }
}

impl fmt::Display for HasherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (id {})", self.0),
            None if self.is_application() => write!(f, "application hasher {:#06x}", self.0),
            None => write!(f, "unknown hasher id {}", self.0),
        }
    }
}
