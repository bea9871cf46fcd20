//! Answering from a block, wherever its bytes lie.

use super::bloom::Bloom;
use super::scalable::{ScalableFilter, any_layer, compound};
use super::view::{BloomParams, View};
use super::{AnyFilter, Membership, hash_in_chunks};
use crate::compact::{CompactLayout, CompactView};
use crate::error::FormatError;
use crate::format::{self, Container, HEADER_BYTES, Header, Kind, Shape};
use crate::hash::{Hasher, Hashers, KeyHash};
use crate::line::{LineBytes, lines_of};
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
#[derive(Debug, Clone)]
pub struct FilterReader<B> {
    block: B,
    header: Header,
    body: Body,
    hasher: Hasher,
    backend: Backend,
}

/// What the lines of a block are.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Empty,
    Bloom(BloomParams),
    Compact(Box<CompactLayout>),
    /// The layers of a scalable filter, with the parameters of each.
    Layers(Container, Box<[BloomParams]>),
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
        let (header, lines) = format::split(block.as_ref())?;
        let hasher = hashers.resolve(&header.hasher)?;
        let body = match header.shape()? {
            Shape::Empty => Body::Empty,
            Shape::Scalable => {
                let container = Container::decode(&header, lines)?;
                let shapes = container.layers.iter().map(|layer| layer.header.shape());
                let params = shapes.filter_map(|shape| shape.map(BloomParams::from_shape).transpose());
                let params = params.collect::<Result<_, _>>()?;
                Body::Layers(container, params)
            }
            Shape::Compact(bits) => Body::Compact(Box::new(CompactLayout::read(lines, bits)?)),
            shape => BloomParams::from_shape(shape).map_or(Body::Empty, Body::Bloom),
        };
        Ok(Self { block, header, body, hasher, backend: Backend::detect() })
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
    /// [`FormatError::BodyChecksum`] or [`FormatError::PaddingNotZero`]; of a scalable filter's layer, in
    /// [`FormatError::Layer`].
    pub fn verify(&self) -> Result<(), FormatError> {
        match &self.body {
            Body::Layers(container, _) => container.verify(&self.header, self.lines()),
            Body::Compact(layout) => {
                format::verify_body(&self.header, self.lines())?;
                Ok(self.compact(layout).map_or(Ok(()), |view| view.verify())?)
            }
            _ => format::verify_body(&self.header, self.lines()),
        }
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
        match &self.body {
            Body::Empty => false,
            Body::Bloom(params) => self.view(*params).might_contain(hash),
            Body::Compact(layout) => self.compact(layout).is_none_or(|view| view.might_contain(hash)),
            Body::Layers(container, params) => {
                self.layers(container, params).any(|(layer, _)| layer.might_contain(hash))
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
        match &self.body {
            Body::Empty => answers.fill(false),
            Body::Bloom(params) => self.view(*params).might_contain_batch(hashes, answers),
            Body::Compact(layout) => match self.compact(layout) {
                Some(view) => view.might_contain_batch(hashes, answers),
                None => answers.fill(true),
            },
            Body::Layers(container, params) => {
                let layers = self.layers(container, params);
                any_layer(layers, hashes, answers, |(layer, _), hashes, answers| {
                    layer.might_contain_batch(hashes, answers);
                });
            }
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
        match &self.body {
            Body::Empty => 0.0,
            Body::Bloom(params) => self.view(*params).expected_fpp(self.count()),
            Body::Compact(layout) => 0.5_f64.powi(layout.fingerprint_bits().into()),
            Body::Layers(container, params) => {
                compound(self.layers(container, params).rev().map(|(layer, keys)| layer.expected_fpp(keys)))
            }
        }
    }

    /// The false-positive rate that the bits really set give; of a compact filter, whose rate doesn't depend on
    /// them, the expected one. Reads the whole filter.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        match &self.body {
            Body::Empty => 0.0,
            Body::Bloom(params) => self.view(*params).fill_fpp(),
            Body::Compact(_) => self.expected_fpp(),
            Body::Layers(container, params) => {
                compound(self.layers(container, params).rev().map(|(layer, _)| layer.fill_fpp()))
            }
        }
    }

    /// The share of bits that are set, 0 to 1; of a scalable filter, of the bits of all layers; of a compact
    /// filter, about a half, which says nothing. Reads the whole filter.
    #[must_use]
    pub fn fill(&self) -> f64 {
        match &self.body {
            Body::Empty => 0.0,
            Body::Bloom(params) => self.view(*params).fill(),
            Body::Compact(_) => super::bloom::fill(self.header.bits, self.lines()),
            Body::Layers(container, params) => {
                let layers = || self.layers(container, params).map(|(layer, _)| layer);
                let bits: f64 = layers().map(|layer| layer.bits() as f64).sum();
                layers().map(|layer| layer.fill() * layer.bits() as f64).sum::<f64>() / bits
            }
        }
    }

    /// Options and layers of a scalable filter; `None` for any other kind.
    #[must_use]
    pub fn container(&self) -> Option<&Container> {
        if let Body::Layers(container, _) = &self.body { Some(container) } else { None }
    }

    /// An owned copy, to add to or to merge into. Only what [`open`](Self::open) has verified is worth copying.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`].
    pub fn to_owned_filter(&self) -> Result<AnyFilter, FormatError> {
        let (lines, hasher) = (self.lines(), self.hasher.clone());
        Ok(match (self.kind(), &self.body) {
            (Kind::Compact, _) => AnyFilter::Compact(self.to_owned_block()?),
            (_, Body::Layers(container, _)) if container.layer_kind == Kind::Classic => {
                AnyFilter::ScalableClassic(ScalableFilter::copy_of(container, lines, hasher)?)
            }
            (_, Body::Layers(container, _)) => {
                AnyFilter::ScalableBlocked(ScalableFilter::copy_of(container, lines, hasher)?)
            }
            (Kind::Classic, _) => AnyFilter::Classic(Bloom::copy_of(&self.header, lines, hasher)?),
            _ => AnyFilter::Blocked(Bloom::copy_of(&self.header, lines, hasher)?),
        })
    }

    /// The bytes of the block.
    pub(super) fn block(&self) -> &[u8] {
        self.block.as_ref()
    }

    /// The block that the reader was opened on.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.block
    }

    /// What the lines are.
    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    /// A reader of its own copy of the block.
    fn to_owned_block(&self) -> Result<FilterReader<Vec<u8>>, FormatError> {
        let bytes = self.block.as_ref();
        let mut block = Vec::new();
        let no_memory = |_| FormatError::OutOfMemory { bytes: bytes.len() as u64 };
        block.try_reserve_exact(bytes.len()).map_err(no_memory)?;
        block.extend_from_slice(bytes);
        let (header, body, hasher) = (self.header, self.body.clone(), self.hasher.clone());
        Ok(FilterReader { block, header, body, hasher, backend: self.backend })
    }

    /// The body as a compact filter; `None`, which is to say "maybe" to all, where the block's bytes are others
    /// than those that were opened.
    #[inline]
    fn compact<'a>(&'a self, layout: &'a CompactLayout) -> Option<CompactView<'a>> {
        layout.view(self.backend, self.lines())
    }

    /// The body as one Bloom filter.
    #[inline]
    fn view(&self, params: BloomParams) -> View<'_> {
        View { params, lines: self.lines(), backend: self.backend }
    }

    /// The layers of a scalable filter with the keys that each claims, the newest and largest first.
    fn layers<'a>(
        &'a self,
        container: &'a Container,
        params: &'a [BloomParams],
    ) -> impl DoubleEndedIterator<Item = (View<'a>, u64)> + Clone {
        let (body, backend) = (self.lines(), self.backend);
        container.layers.iter().zip(params).rev().map(move |(layer, &params)| {
            // `Container::decode` has seen that the lines are there.
            let lines = body.get(layer.lines.clone()).unwrap_or_default();
            (View { params, lines, backend }, layer.header.count)
        })
    }

    /// The body. `open_unverified` has seen that the block is a header and whole lines.
    #[inline]
    pub(super) fn lines(&self) -> &[LineBytes] {
        self.block.as_ref().get(HEADER_BYTES..).and_then(lines_of).unwrap_or_default()
    }
}

impl<B: AsRef<[u8]> + std::fmt::Debug + Send + Sync> Membership for FilterReader<B> {
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

    fn encode(&self) -> Vec<u8> {
        self.block.as_ref().to_vec()
    }
}
