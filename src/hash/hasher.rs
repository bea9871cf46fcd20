//! One hash function with its seed or key.

use std::fmt;
use std::sync::Arc;

use super::{HasherId, KeyHash, SecretKey, fnv1a, murmur3, siphash, xxh3};
use crate::error::HasherError;

/// The text whose hash, cut to its low 32 bits, is a hasher's check value.
///
/// Its 43 bytes are chosen to expose faulty ports: the length is a multiple of neither 4, 8 nor 16, and the
/// last 11 bytes, which block-wise functions treat apart, hold a zero byte and bytes of 0x80 and above on
/// both sides of an 8-byte boundary, which go wrong where a language has signed bytes.
pub const CHECK_TEXT: &[u8] = b"Bloomline hasher check text, v1:\x80\xFF\x00\xC3\xA9\xE2\x82\xAC\xF0\x9F\xFE";

/// A hash function of an application, to be used under an id of the application's range.
///
/// The function must depend on nothing but the bytes and on what the application ties to the id and seed:
/// not on the process, the machine's byte order or the version of a library. All 64 bits must be good: the
/// line of a filter comes from the low half, the probes within it from the high half.
pub trait HashFunction: Send + Sync + 'static {
    /// Hashes the key.
    fn hash(&self, key: &[u8]) -> u64;
}

/// Every `Fn(&[u8]) -> u64` is a hash function.
impl<F: Fn(&[u8]) -> u64 + Send + Sync + 'static> HashFunction for F {
    fn hash(&self, key: &[u8]) -> u64 {
        self(key)
    }
}

/// What a file stores of its hasher: enough to make the same one again, or to say which is needed. A
/// secret key is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HasherIdentity {
    /// The hash function.
    pub id: HasherId,
    /// Its seed; 0 where it takes none.
    pub seed: u64,
    /// The low 32 bits of the hash of [`CHECK_TEXT`].
    pub check: u32,
}

/// A hash function with its seed or key: bytes in, [`KeyHash`] out.
///
/// Cloning is cheap. The default is XXH3-64 with seed 0.
///
/// ```
/// use bloomline::hash::{Hasher, HasherId, Hashers};
///
/// let hasher = Hasher::xxh3_64(42);
/// let stored = hasher.identity();
/// assert_eq!(stored.id, HasherId::XXH3_64);
///
/// // A reader makes the same hasher from what the file stores, or refuses.
/// let again = Hashers::new().resolve(&stored)?;
/// assert_eq!(again.hash(b"key"), hasher.hash(b"key"));
/// # Ok::<(), bloomline::error::HasherError>(())
/// ```
#[derive(Clone)]
pub struct Hasher(Function);

/// The function of a [`Hasher`], matched once for each key.
#[derive(Clone)]
enum Function {
    Xxh3 { seed: u64 },
    Murmur3 { seed: u32 },
    Fnv1a,
    SipHash { secret: SecretKey },
    Application { id: HasherId, seed: u64, function: Arc<dyn HashFunction> },
}

impl Function {
    /// Hashes the key, out of the caller's line. Were all five functions inlined, the jump among them would
    /// cost the default 1.7 ns per 16-byte key on an AMD EPYC, where XXH3 takes 2.2; the call costs the
    /// others less than 1 ns.
    #[inline(never)]
    fn hash_by_call(&self, key: &[u8]) -> u64 {
        match self {
            Self::Xxh3 { seed } => xxh3::hash(*seed, key),
            Self::Murmur3 { seed } => murmur3::hash(*seed, key),
            Self::Fnv1a => fnv1a::hash(key),
            Self::SipHash { secret } => siphash::hash(secret, key),
            Self::Application { function, .. } => function.hash(key),
        }
    }
}

impl Hasher {
    /// XXH3-64 (id 1).
    #[must_use]
    pub const fn xxh3_64(seed: u64) -> Self {
        Self(Function::Xxh3 { seed })
    }

    /// The first 64 bits of MurmurHash3 x64 128 (id 2).
    #[must_use]
    pub const fn murmur3_x64_128(seed: u32) -> Self {
        Self(Function::Murmur3 { seed })
    }

    /// FNV-1a 64 with a finaliser (id 3). It takes no seed.
    #[must_use]
    pub const fn fnv1a_64() -> Self {
        Self(Function::Fnv1a)
    }

    /// SipHash-2-4 under a secret key (id 4), for keys that an attacker may choose.
    #[must_use]
    pub const fn siphash_2_4(secret: SecretKey) -> Self {
        Self(Function::SipHash { secret })
    }

    /// An application's own function under an id of the application's range.
    ///
    /// The seed is stored in the file for the application's use; the function is expected to have it
    /// already. A file written with this hasher loads only with a hasher of the same id, seed and check.
    ///
    /// # Errors
    ///
    /// [`HasherError::NotApplicationId`] if the id is under [`HasherId::FIRST_APPLICATION`].
    pub fn application(id: HasherId, seed: u64, function: impl HashFunction) -> Result<Self, HasherError> {
        if !id.is_application() {
            return Err(HasherError::NotApplicationId { hasher: id });
        }
        Ok(Self(Function::Application { id, seed, function: Arc::new(function) }))
    }

    /// RocksDB's own key hash (id 5), as RocksDB computes it: for the package that links with RocksDB.
    #[must_use]
    pub fn rocksdb_xxph3(function: impl HashFunction) -> Self {
        Self(Function::Application { id: HasherId::ROCKSDB_XXPH3, seed: 0, function: Arc::new(function) })
    }

    /// The hasher of a registered id that needs nothing but a seed (ids 1 to 3).
    ///
    /// # Errors
    ///
    /// [`HasherError::SeedOutOfRange`] if the function takes no such seed, and for any other id the error
    /// that says what it needs.
    pub fn from_seed(id: HasherId, seed: u64) -> Result<Self, HasherError> {
        match id {
            HasherId::XXH3_64 => Ok(Self::xxh3_64(seed)),
            HasherId::MURMUR3_X64_128 => u32::try_from(seed)
                .map(Self::murmur3_x64_128)
                .map_err(|_| HasherError::SeedOutOfRange { hasher: id, seed, max: u32::MAX.into() }),
            HasherId::FNV1A_64 | HasherId::SIPHASH_2_4 if seed != 0 => {
                Err(HasherError::SeedOutOfRange { hasher: id, seed, max: 0 })
            }
            HasherId::FNV1A_64 => Ok(Self::fnv1a_64()),
            HasherId::SIPHASH_2_4 => Err(HasherError::SecretKeyNeeded { hasher: id }),
            HasherId::ROCKSDB_XXPH3 => Err(HasherError::EngineHasherNeeded { hasher: id }),
            _ if id.is_application() => Err(HasherError::ApplicationHasherNeeded { hasher: id }),
            _ => Err(HasherError::UnknownHasher { hasher: id }),
        }
    }

    /// Hashes the key.
    #[inline]
    #[must_use]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::new(match &self.0 {
            Function::Xxh3 { seed } => xxh3::hash(*seed, key),
            other => other.hash_by_call(key),
        })
    }

    /// What a file stores of this hasher.
    #[must_use]
    pub fn identity(&self) -> HasherIdentity {
        #[expect(clippy::cast_possible_truncation, reason = "the check is the low half by definition")]
        let check = self.hash(CHECK_TEXT).get() as u32;
        HasherIdentity { id: self.id(), seed: self.seed(), check }
    }

    /// The id of the hash function.
    #[must_use]
    pub const fn id(&self) -> HasherId {
        match &self.0 {
            Function::Xxh3 { .. } => HasherId::XXH3_64,
            Function::Murmur3 { .. } => HasherId::MURMUR3_X64_128,
            Function::Fnv1a => HasherId::FNV1A_64,
            Function::SipHash { .. } => HasherId::SIPHASH_2_4,
            Function::Application { id, .. } => *id,
        }
    }

    /// The seed that a file stores; 0 where the function takes none.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        match &self.0 {
            Function::Xxh3 { seed } | Function::Application { seed, .. } => *seed,
            Function::Murmur3 { seed } => *seed as u64,
            Function::Fnv1a | Function::SipHash { .. } => 0,
        }
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::xxh3_64(0)
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({}, seed {})", self.id(), self.seed())
    }
}
