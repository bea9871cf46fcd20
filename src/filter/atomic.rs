//! Bloom filters of fixed size that threads share without a lock.
//!
//! # How an add works
//! 1. The bits of the hash are gathered into one mask for each 64-bit word that has any.
//! 2. Each such word is loaded. Where its bits are all there, nothing is written: a key that is added again and
//!    again leaves the line in the caches of all threads that use it.
//! 3. Otherwise an atomic OR sets them, and its result says whether one of them was new.
//! 4. Where a bit was new the count goes up, in the stripe of this thread. With one counter for all threads the
//!    counter, not the lines, would be what they wait for.
//!
//! # What is promised, and why relaxed ordering is enough
//! If an `add(x)` *happened before* a lookup of `x` (the same thread, a join, a channel, a lock, any
//! synchronisation), the lookup answers true. Bits are only ever set, and all accesses of one word fall into one
//! order that every thread agrees on; a load can't see a value older than one that was written, or seen, before
//! it. The second half covers an add that writes nothing because another thread, perhaps still in the middle of
//! its own add, has set the bits: it *saw* them, so whoever is synchronised with it sees them too.
//! Nothing is published through a filter but its bits, so no acquire or release is needed. A lookup that races
//! with an add may answer either way.
//!
//! The count is approximate under races: two threads that add the same new key at once may each set some of its
//! bits, and then both count it. It never misses a key that a plain filter would count.

use super::bloom::{Schema, fill};
use super::interface::implement;
use super::{Bloom, hash_in_chunks};
use crate::error::FilterError;
use crate::format::{HEADER_BYTES, Header, crc32};
use crate::hash::{Hasher, KeyHash};
use crate::line::{AtomicLines, LINE_BYTES, ReadLine};
use crate::probe::Backend;
use crate::sizing::{BlockedParams, ClassicParams};
use crate::stripes::StripedCount;

/// A blocked Bloom filter that threads add to and query at the same time, without a lock.
///
/// ```
/// use bloomline::AtomicBlockedFilter;
/// use bloomline::sizing::BlockedParams;
///
/// let filter = AtomicBlockedFilter::new(BlockedParams::for_fpp(1_000_000, 0.01)?)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| filter.add(b"apple"));
///     scope.spawn(|| filter.add(b"pear"));
/// });
/// assert!(filter.might_contain(b"apple") && filter.might_contain(b"pear"));
/// let owned = filter.into_filter(); // the same memory, not a copy
/// assert_eq!(owned.count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type AtomicBlockedFilter = AtomicFilter<BlockedParams>;

/// A classic Bloom filter that threads add to and query at the same time, without a lock.
pub type AtomicClassicFilter = AtomicFilter<ClassicParams>;

/// A Bloom filter of fixed size that threads share, of either schema. Use it by its aliases
/// [`AtomicBlockedFilter`] and [`AtomicClassicFilter`].
///
/// After `add(x)` has returned, `might_contain(x)` is true for every thread that the end of the add *happened
/// before*: the same thread, or one that learnt of it by a join, a channel, a lock or any other synchronisation.
/// A lookup that races with an add may answer either way.
///
/// It sets the same bits as a [`Bloom`] and is written as the same block. `AtomicFilter::from(bloom)` and
/// [`into_filter`](Self::into_filter) turn the two into each other without copying.
#[derive(Debug)]
pub struct AtomicFilter<P: Schema> {
    params: P,
    hasher: Hasher,
    backend: Backend,
    lines: AtomicLines,
    count: StripedCount,
}

impl<P: Schema> AtomicFilter<P> {
    /// An empty filter with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`] where the system has no room for its lines.
    pub fn new(params: P) -> Result<Self, FilterError> {
        Ok(Bloom::new(params)?.into())
    }

    /// An empty filter whose keys are hashed with `hasher`.
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`] where the system has no room for its lines.
    pub fn with_hasher(params: P, hasher: Hasher) -> Result<Self, FilterError> {
        Ok(Bloom::with_hasher(params, hasher)?.into())
    }

    /// The same filter on another backend. All backends give the same bits and answers; this is for tests and
    /// measurements.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// The filter as an owned one, in the same memory. That it takes `self` is the proof that every add has
    /// ended.
    #[must_use]
    pub fn into_filter(self) -> Bloom<P> {
        let Self { params, hasher, backend, lines, count } = self;
        Bloom { params, hasher, backend, lines: lines.into(), count: count.sum() }
    }

    /// Adds a key. True when the key was certainly not in the filter before; false when it may have been.
    #[inline]
    pub fn add(&self, key: &[u8]) -> bool {
        self.add_hash(self.hasher.hash(key))
    }

    /// [`add`](Self::add) for a hash that the caller has, made by [`hasher`](Self::hasher).
    #[inline]
    pub fn add_hash(&self, hash: KeyHash) -> bool {
        let new = self.params.add_shared(self.lines.lines(), hash);
        if new {
            self.count.add(1);
        }
        new
    }

    /// Adds many keys, with the memory of each fetched ahead. Returns how many were certainly new.
    pub fn add_batch<K: AsRef<[u8]>>(&self, keys: &[K]) -> u64 {
        let mut new = 0;
        hash_in_chunks(&self.hasher, keys, |_, hashes| new += self.add_hashes(hashes));
        new
    }

    /// [`add_batch`](Self::add_batch) for hashes that the caller has.
    pub fn add_hashes(&self, hashes: &[KeyHash]) -> u64 {
        let new = self.params.add_shared_batch(self.lines.lines(), hashes);
        if new > 0 {
            self.count.add(new);
        }
        new
    }

    /// False when the key was certainly never added; true when it may have been.
    #[inline]
    #[must_use]
    pub fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain_hash(self.hasher.hash(key))
    }

    /// [`might_contain`](Self::might_contain) for a hash that the caller has, made by [`hasher`](Self::hasher).
    #[inline]
    #[must_use]
    pub fn might_contain_hash(&self, hash: KeyHash) -> bool {
        self.params.might_contain(self.backend, self.lines.lines(), hash)
    }

    /// Looks up many keys, with the memory of each fetched ahead; `answers[i]` is for `keys[i]`.
    ///
    /// # Panics
    /// Where `answers` is not as long as `keys`.
    pub fn might_contain_batch<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        hash_in_chunks(&self.hasher, keys, |first, hashes| {
            self.might_contain_hashes(hashes, &mut answers[first..first + hashes.len()]);
        });
    }

    /// [`might_contain_batch`](Self::might_contain_batch) for hashes that the caller has.
    ///
    /// # Panics
    /// Where `answers` is not as long as `hashes`.
    pub fn might_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.params.might_contain_batch(self.backend, self.lines.lines(), hashes, answers);
    }

    /// Keys added, as [`Bloom::count`] counts them, and approximate under races: a new key that two threads
    /// added at the same moment may be counted twice.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.sum()
    }

    /// Size and probes.
    #[must_use]
    pub fn params(&self) -> P {
        self.params
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// Bytes of the lines.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.lines().len() * LINE_BYTES
    }

    /// The false-positive rate that theory gives for [`count`](Self::count) keys.
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        self.params.expected_fpp(self.count())
    }

    /// The false-positive rate that the bits really set give. Reads the whole filter.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        self.params.fill_fpp(self.lines.lines())
    }

    /// The share of bits that are set, 0 to 1. Reads the whole filter.
    #[must_use]
    pub fn fill(&self) -> f64 {
        fill(self.params.bits(), self.lines.lines())
    }

    /// The filter as a block, while others may be adding: every add that happened before the call is in it, and
    /// of those under way any part may be. It is a copy, because its checksum must hold for bits that no longer
    /// change.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; HEADER_BYTES];
        block.reserve_exact(self.bytes());
        let header = self.append_lines(&mut block);
        let header = match header.count {
            0 => {
                block.truncate(HEADER_BYTES);
                Header::empty(P::KIND, header.hasher)
            }
            _ => header,
        };
        block[..HEADER_BYTES].copy_from_slice(&header.encode());
        block
    }

    /// Appends a copy of the lines to `block`, and returns the header for them. Its count is 0 only where no bit
    /// of the copy is set: a key may have set its bits and not be counted yet, and another thread may have found
    /// it there and rely on it.
    pub(super) fn append_lines(&self, block: &mut Vec<u8>) -> Header {
        let start = block.len();
        for line in self.lines.lines() {
            block.extend_from_slice(&line.load());
        }
        let body = &block[start..];
        let no_key = self.count() == 0 && body.iter().all(|&byte| byte == 0);
        Header {
            kind: P::KIND,
            probes: self.params.probes(),
            bits: self.params.bits(),
            count: if no_key { 0 } else { self.count().max(1) },
            hasher: self.hasher.identity(),
            body_crc: crc32(body),
        }
    }

    /// [`add_hash`](Self::add_hash), and whether this thread's stripe of the count has just reached a multiple of
    /// `interval`.
    #[inline]
    pub(super) fn add_hash_counting(&self, hash: KeyHash, interval: u64) -> (bool, bool) {
        let new = self.params.add_shared(self.lines.lines(), hash);
        (new, new && self.count.add(1) % interval == interval - 1)
    }

    /// Stripes of the count.
    pub(super) fn stripes(&self) -> usize {
        self.count.stripes()
    }
}

/// The filter to share, in the memory of the owned one.
impl<P: Schema> From<Bloom<P>> for AtomicFilter<P> {
    fn from(filter: Bloom<P>) -> Self {
        let Bloom { params, hasher, backend, lines, count } = filter;
        Self { params, hasher, backend, lines: lines.into(), count: StripedCount::new(count) }
    }
}

implement!([P: Schema] AtomicFilter<P>, |_filter| P::KIND);
