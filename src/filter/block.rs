//! A block without its hasher: all there is to know of a filter but what it says of a key.

use std::fmt;

use super::bloom;
use super::reader::FilterReader;
use super::scalable::compound;
use super::view::{BloomParams, View};
use crate::compact::{CompactLayout, CompactView};
use crate::error::FormatError;
use crate::format::{self, Container, HEADER_BYTES, Header, Kind, Shape};
use crate::hash::Hashers;
use crate::line::{LINE_BYTES, LineBytes, lines_of};
use crate::probe::Backend;

/// A filter block, wherever its bytes lie, to look at: size, checksums, fill and rates need no hasher, and so no
/// secret key. [`with_hasher`](Self::with_hasher) makes it one to ask.
///
/// ```
/// use bloomline::filter::FilterBlock;
/// use bloomline::hash::{Hasher, Hashers, SecretKey};
/// use bloomline::{FilterBuilder, FilterOptions};
///
/// let secret = SecretKey::from_bytes([7; 16]);
/// let options = FilterOptions::default().hasher(Hasher::siphash_2_4(secret.clone()));
/// let mut builder = FilterBuilder::new(options);
/// builder.add(b"apple");
/// let bytes = builder.finish()?;
///
/// let block = FilterBlock::open(&bytes)?;
/// assert_eq!(block.header().count, 1);
/// assert!(block.clone().with_hasher(&Hashers::new()).is_err());
/// assert!(block.with_hasher(&Hashers::new().with_secret_key(secret))?.might_contain(b"apple"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FilterBlock<B> {
    bytes: B,
    header: Header,
    body: Body,
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

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// Opens a block and verifies all of it, body included: reads every byte once.
    ///
    /// # Errors
    /// What is wrong with the block, each kind of fault its own variant of [`FormatError`].
    pub fn open(bytes: B) -> Result<Self, FormatError> {
        let block = Self::open_unverified(bytes)?;
        block.verify()?;
        Ok(block)
    }

    /// Opens a block and checks its header and length only, in O(1).
    ///
    /// # Errors
    /// What is wrong with the header or the length.
    pub fn open_unverified(bytes: B) -> Result<Self, FormatError> {
        let (header, lines) = format::split(bytes.as_ref())?;
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
        Ok(Self { bytes, header, body, backend: Backend::detect() })
    }

    /// The filter, to ask about keys. `hashers` holds the secrets and application hashers that the block may need;
    /// `&Hashers::new()` where there are none.
    ///
    /// # Errors
    /// [`FormatError::Hasher`] where the hasher that the block needs is not among them.
    pub fn with_hasher(self, hashers: &Hashers) -> Result<FilterReader<B>, FormatError> {
        let hasher = hashers.resolve(&self.header.hasher)?;
        Ok(FilterReader::new(self, hasher))
    }

    pub(super) fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Checks the body against its CRC.
    ///
    /// # Errors
    /// [`FormatError::BodyChecksum`], [`FormatError::PaddingNotZero`] or, of a compact filter,
    /// [`FormatError::Compact`]; of a scalable filter's layer, in [`FormatError::Layer`].
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

    /// The header, checked.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The false-positive rate that theory gives for the keys that the header counts. Reads the header only.
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        match &self.body {
            Body::Empty => 0.0,
            Body::Bloom(params) => self.view(*params).expected_fpp(self.header.count),
            Body::Compact(layout) => 0.5_f64.powi(layout.fingerprint_bits().into()),
            Body::Layers(container, params) => {
                compound(self.layers(container, params).rev().map(|(layer, keys)| layer.expected_fpp(keys)))
            }
        }
    }

    /// The false-positive rate that the bits really set give; of a compact filter, whose lines
    /// hold a solution and no fill, the expected one. Reads the whole filter.
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
            Body::Compact(_) => bloom::fill(self.header.bits, self.lines()),
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

    /// Layers and fingerprint bits of a compact filter that has keys; `None` for any other.
    #[must_use]
    pub fn compact_layout(&self) -> Option<&CompactLayout> {
        if let Body::Compact(layout) = &self.body { Some(layout) } else { None }
    }

    /// The bytes that the block was opened on.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.bytes
    }

    /// The bytes of the block.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// What the lines are.
    #[inline]
    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    /// The block over its own copy of the bytes.
    pub(super) fn to_owned_block(&self) -> Result<FilterBlock<Vec<u8>>, FormatError> {
        let from = self.bytes();
        let mut bytes = Vec::new();
        let no_memory = |_| FormatError::OutOfMemory { bytes: from.len() as u64 };
        bytes.try_reserve_exact(from.len()).map_err(no_memory)?;
        bytes.extend_from_slice(from);
        Ok(FilterBlock { bytes, header: self.header, body: self.body.clone(), backend: self.backend })
    }

    /// The body as a compact filter; `None`, which is to say "maybe" to all, where the block's bytes are others
    /// than those that were opened.
    #[inline]
    pub(super) fn compact<'a>(&'a self, layout: &'a CompactLayout) -> Option<CompactView<'a>> {
        layout.view(self.backend, self.lines())
    }

    /// The body as one Bloom filter.
    #[inline]
    pub(super) fn view(&self, params: BloomParams) -> View<'_> {
        // By the number of lines that the parameters ask for, which opening has found to be the body's, and not by
        // dividing its length again for each key.
        let end = HEADER_BYTES.saturating_add(params.line_count().saturating_mul(LINE_BYTES));
        let body = self.bytes.as_ref().get(HEADER_BYTES..end);
        View { params, lines: body.and_then(lines_of).unwrap_or_default(), backend: self.backend }
    }

    /// The layers of a scalable filter with the keys that each claims, the newest and largest first.
    pub(super) fn layers<'a>(
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
        self.bytes.as_ref().get(HEADER_BYTES..).and_then(lines_of).unwrap_or_default()
    }

    /// What the block holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.header.kind
    }
}

/// The header: the bytes would fill a screen a thousand times over.
impl<B> fmt::Debug for FilterBlock<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterBlock").field("header", &self.header).finish_non_exhaustive()
    }
}
