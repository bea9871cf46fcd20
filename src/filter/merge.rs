//! Merging: the union of two filters, by OR of their bits.
//!
//! The union answers "maybe" for every key that either filter did. It is exact for the bits: a merged filter is,
//! bit for bit, the one that all keys would have made. That holds only where the same hash sets the same bits in
//! both, so kind, size, probes and hasher must be equal, and anything else is refused by the field that differs.
//!
//! It is not exact for the count, for bits don't tell how many keys the two had in common. The count after a
//! merge is *estimated from the fill* (−ln of the share of zeros, for each line or for the whole), and kept
//! between what is certain: at least the larger of the two counts, at most their sum. Where one filter's bits
//! are all in the other, the count is that of the larger.
//!
//! A block of no keys has no size: merging a reader over one in changes nothing, and only kind and hasher must
//! be equal. A filter that is empty in memory has a size, and it must be the same.

use super::block::Body;
use super::bloom::{Bloom, Schema};
use super::{AnyFilter, FilterReader, ScalableFilter};
use crate::error::MergeError;
use crate::format::{Header, Kind, Shape};
use crate::hash::Hasher;
use crate::line::LineBytes;
use crate::probe::Probe;

impl<P: Schema> Bloom<P> {
    /// Takes in all keys of `other`: the union, bit for bit the filter that all keys would have made.
    ///
    /// The count is an estimate afterwards, for bits don't tell how many keys the two had in common: it is worked
    /// out from the fill, within 1.5%, and kept between the larger of the two counts and their sum. Where all bits
    /// of one are in the other, it is the larger count.
    ///
    /// # Errors
    /// [`MergeError`] with the field that differs, and nothing is changed.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        same_hasher(&self.hasher, other.hasher())?;
        same_params(self.params, other.params)?;
        self.or(other.lines.lines(), other.count);
        Ok(())
    }

    /// [`merge`](Self::merge) from a block, wherever its bytes lie: the lines are read where they are and nothing
    /// is allocated. A block of no keys changes nothing.
    ///
    /// # Errors
    /// [`MergeError`] with the field that differs, and nothing is changed.
    pub fn merge_reader<B: AsRef<[u8]>>(&mut self, other: &FilterReader<B>) -> Result<(), MergeError> {
        same_kind(P::KIND, other.kind())?;
        same_hasher(&self.hasher, other.hasher())?;
        match other.header().shape()? {
            Shape::Empty => Ok(()),
            _ => self.merge_lines(other.header(), other.lines()),
        }
    }

    /// Takes in the keys of a block, or of a layer in one, given by its header and lines.
    fn merge_lines(&mut self, header: &Header, lines: &[LineBytes]) -> Result<(), MergeError> {
        match P::from_shape(header.shape()?) {
            Some(params) => {
                same_params(self.params, params)?;
                self.or(lines, header.count);
                Ok(())
            }
            None => Err(MergeError::Kind { expected: P::KIND, got: header.kind }),
        }
    }

    /// ORs the lines of a filter with the same parameters in, and settles the count.
    fn or(&mut self, lines: &[LineBytes], count: u64) {
        let (gained, lacking) = or_lines(self.lines.lines_mut(), lines);
        let larger = self.count.max(count);
        self.count = if gained && lacking {
            // None where every bit is set: then nothing is known but the bounds.
            let estimate = self.params.keys_from_fill(self.lines.lines()).unwrap_or(u64::MAX);
            estimate.clamp(larger, self.count.saturating_add(count))
        } else {
            larger
        };
    }
}

/// ORs `from` into `to`. Returns whether `to` gained a bit, and whether `from` lacked one that `to` had.
/// Written over words of fixed number for the compiler to make vectors of.
fn or_lines(to: &mut [LineBytes], from: &[LineBytes]) -> (bool, bool) {
    let (mut gained, mut lacking) = (0, 0);
    for (to, from) in to.iter_mut().zip(from) {
        let mut ours: [u64; 8] = bytemuck::must_cast(*to);
        let theirs: [u64; 8] = bytemuck::must_cast(*from);
        for (ours, theirs) in ours.iter_mut().zip(theirs) {
            gained |= theirs & !*ours;
            lacking |= *ours & !theirs;
            *ours |= theirs;
        }
        *to = bytemuck::must_cast(ours);
    }
    (gained != 0, lacking != 0)
}

/// Refuses unless the kinds are the same.
pub(super) fn same_kind(expected: Kind, got: Kind) -> Result<(), MergeError> {
    if expected == got { Ok(()) } else { Err(MergeError::Kind { expected, got }) }
}

/// Refuses unless the two hash alike.
pub(super) fn same_hasher(expected: &Hasher, got: &Hasher) -> Result<(), MergeError> {
    let (expected, got) = (expected.identity(), got.identity());
    if expected.id != got.id {
        return Err(MergeError::Hasher { expected: expected.id, got: got.id });
    }
    if expected.seed != got.seed {
        return Err(MergeError::Seed { expected: expected.seed, got: got.seed });
    }
    if expected.check != got.check {
        return Err(MergeError::Check { expected: expected.check, got: got.check });
    }
    Ok(())
}

/// Refuses unless the parameters are the same.
fn same_params<P: Probe>(expected: P, got: P) -> Result<(), MergeError> {
    same_size((expected.bits(), expected.probes()), (got.bits(), got.probes()))
}

/// Refuses unless bits and probes are the same.
fn same_size(expected: (u64, u8), got: (u64, u8)) -> Result<(), MergeError> {
    if expected.0 != got.0 {
        return Err(MergeError::Bits { expected: expected.0, got: got.0 });
    }
    if expected.1 != got.1 {
        return Err(MergeError::Probes { expected: expected.1, got: got.1 });
    }
    Ok(())
}

/// Merges any number of blocks, of a kind that shows only in the first, in the memory of one filter.
///
/// Call order: `add* finish`. Blocks of no keys count for nothing but their kind and hasher.
///
/// ```
/// use bloomline::sizing::BlockedParams;
/// use bloomline::{BlockedFilter, FilterReader, Hashers, Merger};
///
/// let params = BlockedParams::for_fpp(1000, 0.01)?;
/// let mut merger = Merger::new();
/// for key in ["apple", "pear"] {
///     let mut shard = BlockedFilter::new(params)?;
///     shard.add(key.as_bytes());
///     merger.add(&FilterReader::open(shard.encode(), &Hashers::new())?)?;
/// }
/// let Some(merged) = merger.finish() else { unreachable!("two were added") };
/// assert!(merged.membership().might_contain(b"apple") && merged.membership().might_contain(b"pear"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Merger {
    merged: Option<AnyFilter>,
    /// Whether `merged` is only of the kind and hasher to come, made from blocks of no keys.
    unsized_yet: bool,
}

impl Merger {
    /// A merger of no blocks yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the keys of one block. The first that holds keys is copied; all others are read where they lie.
    ///
    /// # Errors
    /// [`MergeError::Static`] for a compact filter; [`MergeError`] with the field in which the block differs from
    /// those before it, and nothing is changed; [`MergeError::Format`] where there is no memory for the copy of the first.
    pub fn add<B: AsRef<[u8]>>(&mut self, block: &FilterReader<B>) -> Result<(), MergeError> {
        if block.kind() == Kind::Compact {
            // Even alone: whether a merge is possible must not depend on the number of shards.
            return Err(MergeError::Static);
        }
        let empty = matches!(block.body(), Body::Empty);
        match &mut self.merged {
            Some(merged) if !self.unsized_yet => merged.merge_reader(block),
            before => {
                if let Some(before) = before {
                    let before = before.membership();
                    same_kind(before.kind(), block.kind())?;
                    same_hasher(before.hasher(), block.hasher())?;
                }
                *before = Some(block.to_owned_filter()?);
                self.unsized_yet = empty;
                Ok(())
            }
        }
    }

    /// The union of all blocks; `None` where there was none.
    #[must_use]
    pub fn finish(self) -> Option<AnyFilter> {
        self.merged
    }
}

impl<P: Schema> ScalableFilter<P> {
    /// Takes in all keys of `other`, layer by layer. Options, hasher and the number of layers must be the same.
    ///
    /// A layer of the union may hold more keys than it was sized for, up to twice as many, and then the compound
    /// rate is over the target: [`expected_fpp`](Self::expected_fpp) says how far. Shards that are to be merged
    /// are better made as fixed filters sized for all keys.
    ///
    /// # Errors
    /// [`MergeError`] with the field that differs, and nothing is changed.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        same_hasher(self.hasher(), other.hasher())?;
        self.same_options(other.params())?;
        self.same_layers(other.layers().iter().map(|layer| (layer.params.bits(), layer.params.probes())))?;
        for (layer, other) in self.layers_mut().zip(other.layers()) {
            layer.merge(other)?;
        }
        self.settle_room();
        Ok(())
    }

    /// [`merge`](Self::merge) from a block, wherever its bytes lie.
    ///
    /// # Errors
    /// [`MergeError`] with the field that differs, and nothing is changed.
    pub fn merge_reader<B: AsRef<[u8]>>(&mut self, other: &FilterReader<B>) -> Result<(), MergeError> {
        let Body::Layers(container, _) = other.body() else {
            return Err(MergeError::Kind { expected: Kind::Scalable, got: other.kind() });
        };
        same_hasher(self.hasher(), other.hasher())?;
        if container.layer_kind != P::KIND {
            return Err(MergeError::LayerKind { expected: P::KIND, got: container.layer_kind });
        }
        self.same_options(container.params)?;
        self.same_layers(container.layers.iter().map(|layer| (layer.header.bits, layer.header.probes)))?;
        let lines = other.lines();
        for (layer, other) in self.layers_mut().zip(&container.layers) {
            layer.merge_lines(&other.header, &lines[other.lines.clone()])?;
        }
        self.settle_room();
        Ok(())
    }

    /// Refuses unless the options are the same.
    fn same_options(&self, got: crate::sizing::ScalableParams) -> Result<(), MergeError> {
        let expected = self.params();
        let pairs = [
            ("first capacity", expected.first_capacity() as f64, got.first_capacity() as f64),
            ("target rate", expected.fpp(), got.fpp()),
            ("growth", expected.growth().into(), got.growth().into()),
            ("tightening", expected.tightening(), got.tightening()),
        ];
        if expected == got {
            return Ok(());
        }
        // Capacities past 2⁵³ may differ and look alike as a number of 53 bits.
        let differs = pairs.iter().find(|(_, expected, got)| expected != got).unwrap_or(&pairs[0]);
        Err(MergeError::Option { field: differs.0, expected: differs.1, got: differs.2 })
    }

    /// Refuses unless there are as many layers, each of the same size.
    fn same_layers(&self, sizes: impl ExactSizeIterator<Item = (u64, u8)>) -> Result<(), MergeError> {
        let (expected, got) = (self.layers().len(), sizes.len());
        if expected != got {
            return Err(MergeError::Layers { expected, got });
        }
        for (index, (layer, got)) in self.layers().iter().zip(sizes).enumerate() {
            same_size((layer.params.bits(), layer.params.probes()), got)
                .map_err(|source| MergeError::Layer { layer: index, source: Box::new(source) })?;
        }
        Ok(())
    }
}
