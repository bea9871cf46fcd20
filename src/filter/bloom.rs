//! Owned Bloom filters of fixed size.

use std::io::{self, Write};

use super::interface::implement;
use super::{Budget, hash_in_chunks};
use crate::error::{FilterError, FormatError, SizingError};
use crate::format::{self, Header, Kind, Shape};
use crate::hash::{Hasher, Hashers, KeyHash};
use crate::line::{LineBuf, LineBytes, ReadLine};
use crate::probe::{Backend, Probe, add_parallel, hash_and_add_parallel, ones};
use crate::sizing::{BlockedParams, ClassicParams};

/// A blocked Bloom filter: all probes of a key in one 64-byte line, one cache miss for each lookup.
///
/// ```
/// use bloomline::BlockedFilter;
/// use bloomline::sizing::BlockedParams;
///
/// let mut filter = BlockedFilter::new(BlockedParams::for_fpp(1_000_000, 0.01)?)?;
/// assert!(filter.add(b"present"));
/// assert!(filter.might_contain(b"present"));
/// assert!(!filter.might_contain(b"absent"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type BlockedFilter = Bloom<BlockedParams>;

/// A classic Bloom filter: probes anywhere, a little smaller than a blocked one at the same rate and several
/// times slower out of cache.
pub type ClassicFilter = Bloom<ClassicParams>;

/// The schemas that a filter can have: what [`Probe`] knows of bits, with what it takes to store and size them.
/// Implemented by [`BlockedParams`] and [`ClassicParams`], and by nothing else.
pub trait Schema: Probe {
    /// The kind of block that holds such a filter.
    const KIND: Kind;

    /// The parameters in a header's shape, where it is of this schema.
    fn from_shape(shape: Shape) -> Option<Self>;

    /// The smallest filter of the schema: what an empty block is decoded into.
    ///
    /// # Errors
    /// None that happens: the size is a constant of the schema.
    fn smallest() -> Result<Self, SizingError>;

    /// The smallest filter that, holding `keys` distinct keys, has a false-positive rate of at most `fpp`.
    ///
    /// # Errors
    /// What the sizing of the schema refuses.
    fn for_fpp(keys: u64, fpp: f64) -> Result<Self, SizingError>;

    /// The best filter of `bits_per_key` bits for each of `keys` keys.
    ///
    /// # Errors
    /// What the sizing of the schema refuses.
    fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError>;

    /// The filter for `keys` distinct keys within `budget`.
    ///
    /// # Errors
    /// What the sizing of the schema refuses.
    fn for_budget(keys: u64, budget: Budget) -> Result<Self, SizingError> {
        match budget {
            Budget::Fpp(fpp) => Self::for_fpp(keys, fpp),
            Budget::BitsPerKey(bits) => Self::for_bits_per_key(keys, bits),
        }
    }
}

impl Schema for BlockedParams {
    const KIND: Kind = Kind::Blocked;

    fn from_shape(shape: Shape) -> Option<Self> {
        if let Shape::Blocked(params) = shape { Some(params) } else { None }
    }

    fn smallest() -> Result<Self, SizingError> {
        Self::explicit(512, 1)
    }

    fn for_fpp(keys: u64, fpp: f64) -> Result<Self, SizingError> {
        Self::for_fpp(keys, fpp)
    }

    fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        Self::for_bits_per_key(keys, bits_per_key)
    }
}

impl Schema for ClassicParams {
    const KIND: Kind = Kind::Classic;

    fn from_shape(shape: Shape) -> Option<Self> {
        if let Shape::Classic(params) = shape { Some(params) } else { None }
    }

    fn smallest() -> Result<Self, SizingError> {
        Self::explicit(1, 1)
    }

    fn for_fpp(keys: u64, fpp: f64) -> Result<Self, SizingError> {
        Self::for_fpp(keys, fpp)
    }

    fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        Self::for_bits_per_key(keys, bits_per_key)
    }
}

/// An owned Bloom filter of fixed size, of either schema. Use it by its aliases [`BlockedFilter`] and
/// [`ClassicFilter`].
///
/// After `add(x)` has returned, `might_contain(x)` is true, in this process and after any number of saves and
/// loads. `false` is a fact; `true` is a probability.
///
/// It takes more keys than it was sized for, at a rising false-positive rate: watch
/// [`expected_fpp`](Self::expected_fpp).
#[derive(Debug)]
pub struct Bloom<P: Schema> {
    pub(super) params: P,
    pub(super) hasher: Hasher,
    pub(super) backend: Backend,
    pub(super) lines: LineBuf,
    /// Only a hint: a foreign writer may have got it wrong. What is in the filter, the bits say.
    pub(super) count: u64,
}

impl Bloom<BlockedParams> {
    /// [`add_batch`](Self::add_batch) on up to `threads` threads; 0 and 1 mean the caller's own. The bits and the
    /// count are the same for any number: each thread adds to lines of its own, all keys of a line in their order.
    ///
    /// Classic filters, of which a key has bits all over, have no such method: threads share a
    /// [`AtomicClassicFilter`](crate::AtomicClassicFilter).
    ///
    /// Takes a megabyte of memory for each thread.
    pub fn add_batch_parallel<K: AsRef<[u8]> + Sync>(&mut self, keys: &[K], threads: usize) -> u64 {
        if threads < 2 {
            return self.add_batch(keys);
        }
        let (params, backend, hasher) = (self.params, self.backend, &self.hasher);
        let hash = |key: &K| hasher.hash(key.as_ref());
        let new = hash_and_add_parallel(params, backend, self.lines.lines_mut(), keys, hash, threads);
        self.count = self.count.saturating_add(new);
        new
    }

    /// [`add_batch_parallel`](Self::add_batch_parallel) for hashes that the caller has.
    pub fn add_hashes_parallel(&mut self, hashes: &[KeyHash], threads: usize) -> u64 {
        if threads < 2 {
            return self.add_hashes(hashes);
        }
        let (params, backend) = (self.params, self.backend);
        let new = add_parallel(params, backend, self.lines.lines_mut(), hashes, threads);
        self.count = self.count.saturating_add(new);
        new
    }
}

impl<P: Schema> Bloom<P> {
    /// An empty filter with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`] where the system has no room for its lines.
    pub fn new(params: P) -> Result<Self, FilterError> {
        Self::with_hasher(params, Hasher::default())
    }

    /// An empty filter whose keys are hashed with `hasher`.
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`] where the system has no room for its lines.
    pub fn with_hasher(params: P, hasher: Hasher) -> Result<Self, FilterError> {
        let lines = params
            .line_count()
            .ok_or_else(|| FilterError::OutOfMemory { bytes: params.bits().div_ceil(8), source: None })?;
        Ok(Self { params, hasher, backend: Backend::detect(), lines: LineBuf::zeroed(lines)?, count: 0 })
    }

    /// The same filter on another backend. All backends give the same bits and answers; this is for tests and
    /// measurements.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Adds a key. True when the key was certainly not in the filter before; false when it may have been.
    #[inline]
    pub fn add(&mut self, key: &[u8]) -> bool {
        self.add_hash(self.hasher.hash(key))
    }

    /// [`add`](Self::add) for a hash that the caller has, made by [`hasher`](Self::hasher).
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) -> bool {
        let new = self.params.add(self.backend, self.lines.lines_mut(), hash);
        self.count = self.count.saturating_add(new.into());
        new
    }

    /// Adds many keys, with the memory of each fetched ahead: several times faster than one by one when the
    /// filter is larger than the cache. Returns how many were certainly new.
    pub fn add_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> u64 {
        let hasher = self.hasher.clone();
        let mut new = 0;
        hash_in_chunks(&hasher, keys, |_, hashes| new += self.add_hashes(hashes));
        new
    }

    /// [`add_batch`](Self::add_batch) for hashes that the caller has.
    pub fn add_hashes(&mut self, hashes: &[KeyHash]) -> u64 {
        let new = self.params.add_batch(self.backend, self.lines.lines_mut(), hashes);
        self.count = self.count.saturating_add(new);
        new
    }

    /// Takes every key out and keeps the memory, for a filter that is filled again and again.
    ///
    /// ```
    /// # use bloomline::{BlockedFilter, sizing::BlockedParams};
    /// let mut filter = BlockedFilter::new(BlockedParams::for_fpp(1000, 0.01)?)?;
    /// filter.add(b"apple");
    /// filter.clear();
    /// assert_eq!((filter.might_contain(b"apple"), filter.count()), (false, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&mut self) {
        self.lines.lines_mut().as_flattened_mut().fill(0);
        self.count = 0;
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

    /// Keys added, each counted when it set at least one bit. Repeated keys don't count; of new keys, about the
    /// share that the false-positive rate had at the time is missed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
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
        self.lines.bytes().len()
    }

    /// The false-positive rate that theory gives for [`count`](Self::count) keys. O(1) for practical purposes.
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        self.params.expected_fpp(self.count)
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

    /// The filter as a block: header and lines.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(&self.header().encode())?;
        out.write_all(self.body())
    }

    /// The block that [`write_to`](Self::write_to) writes, in memory.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut block = Vec::with_capacity(format::HEADER_BYTES + self.body().len());
        block.extend_from_slice(&self.header().encode());
        block.extend_from_slice(self.body());
        block
    }

    /// Reads a block of this kind into an owned filter, every checksum verified. `hashers` holds the secrets
    /// and application hashers that the block may need; `&Hashers::new()` where there are none.
    ///
    /// An empty block gives an empty filter of the smallest size.
    ///
    /// # Errors
    /// What is wrong with the block, each kind of fault its own variant of [`FormatError`].
    pub fn decode(block: &[u8], hashers: &Hashers) -> Result<Self, FormatError> {
        let (header, lines) = format::split(block)?;
        if header.kind != P::KIND {
            return Err(FormatError::WrongKind { expected: P::KIND, got: header.kind });
        }
        format::verify_body(&header, lines)?;
        Self::copy_of(&header, lines, hashers.resolve(&header.hasher)?)
    }

    /// An owned copy of a block of this kind, given by its checked header, its lines and its hasher.
    pub(super) fn copy_of(header: &Header, lines: &[LineBytes], hasher: Hasher) -> Result<Self, FormatError> {
        let params = match P::from_shape(header.shape()?) {
            Some(params) => params,
            None => P::smallest().map_err(|source| FormatError::Parameters { kind: P::KIND, source })?,
        };
        let no_memory = |_| FormatError::OutOfMemory { bytes: header.body_bytes() };
        let mut filter = Self::with_hasher(params, hasher).map_err(no_memory)?;
        for (to, from) in filter.lines.lines_mut().iter_mut().zip(lines) {
            *to = *from;
        }
        filter.count = header.count;
        Ok(filter)
    }

    /// True where no key was added. Where none was counted the bits decide, for a count may be wrong.
    fn is_empty(&self) -> bool {
        self.count == 0 && self.lines.bytes().iter().all(|&byte| byte == 0)
    }

    /// The header of this filter's block. A filter without keys is written as an empty block, whatever its size.
    fn header(&self) -> Header {
        if self.is_empty() { Header::empty(P::KIND, self.hasher.identity()) } else { self.sized_header() }
    }

    /// The header that gives the size even where there is no key.
    pub(super) fn sized_header(&self) -> Header {
        Header {
            kind: P::KIND,
            probes: self.params.probes(),
            bits: self.params.bits(),
            count: self.count,
            hasher: self.hasher.identity(),
            body_crc: format::crc32(self.lines.bytes()),
        }
    }

    /// The bytes after the header.
    fn body(&self) -> &[u8] {
        if self.is_empty() { &[] } else { self.lines.bytes() }
    }
}

implement!([P: Schema] Bloom<P>, |_filter| P::KIND, write_to);

/// The share of `bits` that are set in `lines`.
pub(super) fn fill(bits: u64, lines: &[impl ReadLine]) -> f64 {
    let ones: u64 = lines.iter().map(|line| u64::from(ones(line))).sum();
    if bits == 0 { 0.0 } else { ones as f64 / bits as f64 }
}
