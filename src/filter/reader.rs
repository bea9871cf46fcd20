//! Answering from a block, wherever its bytes lie.

use std::io::{self, Write};

use std::fmt;

use super::block::{Body, FilterBlock};
use super::bloom::Bloom;
use super::scalable::{ScalableFilter, any_layer};
use super::{AnyFilter, Membership, hash_in_chunks};
use crate::compact::CompactLayout;
use crate::error::FormatError;
use crate::format::{Container, Header, Kind};
use crate::hash::{Hasher, Hashers, KeyHash};
use crate::line::LineBytes;
use crate::probe::Backend;

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
#[derive(Clone)]
pub struct FilterReader<B> {
    block: FilterBlock<B>,
    hasher: Hasher,
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
        FilterBlock::open_unverified(block)?.with_hasher(hashers)
    }

    pub(super) fn new(block: FilterBlock<B>, hasher: Hasher) -> Self {
        Self { block, hasher }
    }

    /// The same reader on another backend. All backends give the same answers; this is for tests and
    /// measurements.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { block: self.block.with_backend(backend), ..self }
    }

    /// Checks the body against its CRC.
    ///
    /// # Errors
    /// As [`FilterBlock::verify`].
    pub fn verify(&self) -> Result<(), FormatError> {
        self.block.verify()
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
        match self.block.body() {
            Body::Empty => false,
            Body::Bloom(params) => self.block.view(*params).might_contain(hash),
            Body::Compact(layout) => self.block.compact(layout).is_none_or(|view| view.might_contain(hash)),
            Body::Layers(container, params) => {
                self.block.layers(container, params).any(|(layer, _)| layer.might_contain(hash))
            }
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
        match self.block.body() {
            Body::Empty => answers.fill(false),
            Body::Bloom(params) => self.block.view(*params).might_contain_batch(hashes, answers),
            Body::Compact(layout) => match self.block.compact(layout) {
                Some(view) => view.might_contain_batch(hashes, answers),
                None => answers.fill(true),
            },
            Body::Layers(container, params) => {
                let layers = self.block.layers(container, params);
                any_layer(layers, hashes, answers, |(layer, _), hashes, answers| {
                    layer.might_contain_batch(hashes, answers);
                });
            }
        }
    }

    /// The block: all that needs no hasher.
    #[must_use]
    pub fn block(&self) -> &FilterBlock<B> {
        &self.block
    }

    /// The header, checked.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.block.header()
    }

    /// What the block holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.block.kind()
    }

    /// Keys added, as the filter counted them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.header().count
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// As [`FilterBlock::expected_fpp`].
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        self.block.expected_fpp()
    }

    /// As [`FilterBlock::expected_fpp_from_fill`].
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        self.block.expected_fpp_from_fill()
    }

    /// As [`FilterBlock::fill`].
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.block.fill()
    }

    /// Options and layers of a scalable filter; `None` for any other kind.
    #[must_use]
    pub fn container(&self) -> Option<&Container> {
        self.block.container()
    }

    /// Layers and fingerprint bits of a compact filter that has keys; `None` for any other.
    #[must_use]
    pub fn compact_layout(&self) -> Option<&CompactLayout> {
        self.block.compact_layout()
    }

    /// An owned copy, to add to or to merge into. Only what [`open`](Self::open) has verified is worth copying.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`].
    pub fn to_owned_filter(&self) -> Result<AnyFilter, FormatError> {
        let (lines, hasher) = (self.lines(), self.hasher.clone());
        Ok(match (self.kind(), self.body()) {
            (Kind::Compact, _) => AnyFilter::Compact(FilterReader::new(self.block.to_owned_block()?, hasher)),
            (_, Body::Layers(container, _)) if container.layer_kind == Kind::Classic => {
                AnyFilter::ScalableClassic(ScalableFilter::copy_of(container, lines, hasher)?)
            }
            (_, Body::Layers(container, _)) => {
                AnyFilter::ScalableBlocked(ScalableFilter::copy_of(container, lines, hasher)?)
            }
            (Kind::Classic, _) => AnyFilter::Classic(Bloom::copy_of(self.header(), lines, hasher)?),
            _ => AnyFilter::Blocked(Bloom::copy_of(self.header(), lines, hasher)?),
        })
    }

    /// The block that the reader was opened on.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.block.into_inner()
    }

    /// What the lines are.
    pub(super) fn body(&self) -> &Body {
        self.block.body()
    }

    /// The body.
    #[inline]
    pub(super) fn lines(&self) -> &[LineBytes] {
        self.block.lines()
    }
}

impl<B: AsRef<[u8]> + fmt::Debug + Send + Sync> Membership for FilterReader<B> {
    fn kind(&self) -> Kind {
        self.kind()
    }

    fn hasher(&self) -> &Hasher {
        self.hasher()
    }

    fn might_contain_hash(&self, hash: KeyHash) -> bool {
        self.might_contain_hash(hash)
    }

    fn might_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.might_contain_hashes(hashes, answers);
    }

    fn count(&self) -> u64 {
        self.count()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn expected_fpp_from_fill(&self) -> f64 {
        self.expected_fpp_from_fill()
    }

    fn encode(&self) -> Vec<u8> {
        self.block.bytes().to_vec()
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.block.bytes())
    }
}

impl<B> fmt::Debug for FilterReader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterReader").field("block", &self.block).field("hasher", &self.hasher).finish()
    }
}
