//! Answering from a block, wherever its bytes lie.

use super::{bloom, hash_in_chunks};
use crate::error::FormatError;
use crate::format::{self, HEADER_BYTES, Header, Kind, Shape};
use crate::hash::{Hasher, Hashers, KeyHash};
use crate::line::{LineBytes, lines_of};
use crate::probe::{Backend, Probe};

/// A filter read from the bytes of its block: a slice, a vector, a mapped file, a cache entry of an engine.
///
/// The bytes may lie at any address; a body on a 64-byte boundary is fastest. Nothing is copied, and the reader
/// is as cheap to make as its checks. For the same key it answers just as the filter that was written.
///
/// ```
/// use bloomline::hash::Hashers;
/// use bloomline::{FilterBuilder, FilterOptions, FilterReader};
///
/// let mut builder = FilterBuilder::new(FilterOptions::default());
/// builder.add(b"apple");
/// builder.add(b"pear");
/// let block = builder.finish()?;
///
/// let reader = FilterReader::open(&block, &Hashers::new())?;
/// assert!(reader.might_contain(b"apple"));
/// assert!(!reader.might_contain(b"plum"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FilterReader<B> {
    block: B,
    header: Header,
    shape: Shape,
    hasher: Hasher,
    backend: Backend,
}

impl<B: AsRef<[u8]>> FilterReader<B> {
    /// Opens a block and verifies all of it, body included: reads every byte once.
    ///
    /// # Errors
    /// What is wrong with the block, each kind of fault its own variant of [`FormatError`].
    pub fn open(block: B, hashers: &Hashers) -> Result<Self, FormatError> {
        let reader = Self::open_unverified(block, hashers)?;
        reader.verify()?;
        Ok(reader)
    }

    /// Opens a block and checks its header and length only, in O(1). A damaged body then gives wrong answers:
    /// call [`verify`](Self::verify) when there is time, or use this where other checksums cover the bytes.
    ///
    /// # Errors
    /// What is wrong with the header, the length or the hasher.
    pub fn open_unverified(block: B, hashers: &Hashers) -> Result<Self, FormatError> {
        let (header, _) = format::split(block.as_ref())?;
        let hasher = hashers.resolve(&header.hasher)?;
        let shape = header.shape()?;
        Ok(Self { block, header, shape, hasher, backend: Backend::detect() })
    }

    /// The same reader on another backend. All backends give the same answers; this is for tests and
    /// measurements.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Checks the body against its CRC.
    ///
    /// # Errors
    /// [`FormatError::BodyChecksum`], or [`FormatError::PaddingNotZero`].
    pub fn verify(&self) -> Result<(), FormatError> {
        format::verify_body(&self.header, self.lines())
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
        match &self.shape {
            Shape::Empty => false,
            Shape::Classic(params) => params.might_contain(self.backend, self.lines(), hash),
            Shape::Blocked(params) => params.might_contain(self.backend, self.lines(), hash),
        }
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
        assert_eq!(hashes.len(), answers.len(), "as many answers as hashes");
        match &self.shape {
            Shape::Empty => answers.fill(false),
            Shape::Classic(params) => params.might_contain_batch(self.backend, self.lines(), hashes, answers),
            Shape::Blocked(params) => params.might_contain_batch(self.backend, self.lines(), hashes, answers),
        }
    }

    /// The header, checked.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the block holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.header.kind
    }

    /// Keys added, as the filter counted them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.header.count
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The false-positive rate that theory gives for [`count`](Self::count) keys. Reads the header only.
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        match &self.shape {
            Shape::Empty => 0.0,
            Shape::Classic(params) => params.expected_fpp(self.count()),
            Shape::Blocked(params) => params.expected_fpp(self.count()),
        }
    }

    /// The false-positive rate that the bits really set give. Reads the whole filter.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        match &self.shape {
            Shape::Empty => 0.0,
            Shape::Classic(params) => params.fill_fpp(self.lines()),
            Shape::Blocked(params) => params.fill_fpp(self.lines()),
        }
    }

    /// The share of bits that are set, 0 to 1. Reads the whole filter.
    #[must_use]
    pub fn fill(&self) -> f64 {
        bloom::fill(self.header.bits, self.lines())
    }

    /// The block that the reader was opened on.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.block
    }

    /// The body. `open_unverified` has seen that the block is a header and whole lines.
    #[inline]
    fn lines(&self) -> &[LineBytes] {
        self.block.as_ref().get(HEADER_BYTES..).and_then(lines_of).unwrap_or_default()
    }
}
