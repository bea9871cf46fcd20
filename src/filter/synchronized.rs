//! Any filter behind a read-write lock.

use parking_lot::RwLock;

use super::hash_in_chunks;
use super::interface::{Filter, implement};
use crate::format::Kind;
use crate::hash::{Hasher, KeyHash};

/// A filter that threads share behind a read-write lock: lookups run side by side, an add runs alone.
///
/// It makes any [`Filter`] shareable, one that the library doesn't know included. Where there is a lock-free
/// form ([`AtomicFilter`](super::AtomicFilter), [`ConcurrentScalableFilter`](super::ConcurrentScalableFilter)),
/// that is faster; this one counts exactly, and its snapshots hold no half of an add.
///
/// Keys are hashed outside the lock.
///
/// ```
/// use bloomline::sizing::ScalableParams;
/// use bloomline::{ScalableFilter, Synchronized};
///
/// let filter = Synchronized::new(ScalableFilter::blocked(ScalableParams::new(1000, 0.01)?)?);
/// std::thread::scope(|scope| {
///     scope.spawn(|| filter.add(b"apple"));
///     scope.spawn(|| filter.add(b"pear"));
/// });
/// assert_eq!(filter.into_inner().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Synchronized<F> {
    filter: RwLock<F>,
    kind: Kind,
    hasher: Hasher,
}

impl<F: Filter> Synchronized<F> {
    /// Puts `filter` behind a lock.
    #[must_use]
    pub fn new(filter: F) -> Self {
        Self { kind: filter.kind(), hasher: filter.hasher().clone(), filter: RwLock::new(filter) }
    }

    /// Adds a key. True when the key was certainly not in the filter before; false when it may have been.
    pub fn add(&self, key: &[u8]) -> bool {
        self.add_hash(self.hasher.hash(key))
    }

    /// [`add`](Self::add) for a hash that the caller has, made by [`hasher`](Self::hasher).
    pub fn add_hash(&self, hash: KeyHash) -> bool {
        self.filter.write().add_hash(hash)
    }

    /// Adds many keys, the lock being taken once for every few hundred. Returns how many were certainly new.
    pub fn add_batch<K: AsRef<[u8]>>(&self, keys: &[K]) -> u64 {
        let mut new = 0;
        hash_in_chunks(&self.hasher, keys, |_, hashes| new += self.add_hashes(hashes));
        new
    }

    /// [`add_batch`](Self::add_batch) for hashes that the caller has, the lock being taken once.
    pub fn add_hashes(&self, hashes: &[KeyHash]) -> u64 {
        self.filter.write().add_hashes(hashes)
    }

    /// False when the key was certainly never added; true when it may have been.
    #[must_use]
    pub fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain_hash(self.hasher.hash(key))
    }

    /// [`might_contain`](Self::might_contain) for a hash that the caller has, made by [`hasher`](Self::hasher).
    #[must_use]
    pub fn might_contain_hash(&self, hash: KeyHash) -> bool {
        self.filter.read().might_contain_hash(hash)
    }

    /// Looks up many keys, the lock being taken once for every few hundred; `answers[i]` is for `keys[i]`.
    ///
    /// # Panics
    /// Where `answers` is not as long as `keys`.
    pub fn might_contain_batch<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        hash_in_chunks(&self.hasher, keys, |first, hashes| {
            self.might_contain_hashes(hashes, &mut answers[first..first + hashes.len()]);
        });
    }

    /// [`might_contain_batch`](Self::might_contain_batch) for hashes that the caller has, the lock being taken
    /// once.
    ///
    /// # Panics
    /// Where `answers` is not as long as `hashes`.
    pub fn might_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.filter.read().might_contain_hashes(hashes, answers);
    }

    /// Keys added, as the filter counts them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.filter.read().count()
    }

    /// The false-positive rate that theory gives for [`count`](Self::count) keys.
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        self.filter.read().expected_fpp()
    }

    /// The false-positive rate that the bits really set give. Reads the whole filter; adds wait meanwhile.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        self.filter.read().expected_fpp_from_fill()
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The filter as a block; adds wait meanwhile.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.filter.read().encode()
    }

    /// Calls `read` with the filter, for what else it can be asked; adds wait meanwhile.
    pub fn with<R>(&self, read: impl FnOnce(&F) -> R) -> R {
        read(&self.filter.read())
    }

    /// The filter, no longer behind a lock.
    #[must_use]
    pub fn into_inner(self) -> F {
        self.filter.into_inner()
    }
}

implement!([F: Filter] Synchronized<F>, |filter| filter.kind);
