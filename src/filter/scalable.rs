//! A filter that grows: for streams of unknown length.
//!
//! # How it works
//! Keys go into the newest layer. When that has taken as many as it was sized for, the next new key makes a layer
//! with s times the capacity and r times the false-positive rate ([`ScalableParams`] has the series and why the
//! compound rate stays under the target). A lookup asks every layer, the newest and largest first.
//!
//! A key that any layer may hold already isn't added again. So `add` answers for the whole filter, repeats cost
//! nothing, and a layer is full by its count of distinct keys, however often each comes.
//!
//! # What growing costs
//! An absent key is looked up in every layer: ten cache misses with ten layers. Where the number of keys is known
//! within a factor of two, a fixed filter is better, or a first capacity of that number.
//!
//! # Where there is no next layer
//! `add` can't fail: where the system has no memory for a layer, or its rate would be lower than its kind can
//! give, the newest layer takes the key, and after as many keys again growth is tried once more. No key is ever
//! lost; what gives is the compound rate. [`growth_failure`](ScalableFilter::growth_failure) tells.

use std::io::{self, Write};
use std::sync::Arc;

use super::bloom::{Bloom, Schema};
use super::interface::implement;
use super::{CHUNK, hash_in_chunks};
use crate::error::{FilterError, FormatError};
use crate::format::{self, Container, Header, Kind};
use crate::hash::{Hasher, Hashers, KeyHash};
use crate::line::LineBytes;
use crate::sizing::{BlockedParams, ClassicParams, ScalableParams};

/// A filter that grows past its first capacity and keeps its compound false-positive rate under a target.
///
/// After `add(x)` has returned, `might_contain(x)` is true, in this process and after any number of saves and
/// loads. `false` is a fact; `true` is a probability.
///
/// ```
/// use bloomline::ScalableFilter;
/// use bloomline::sizing::ScalableParams;
///
/// let mut seen = ScalableFilter::blocked(ScalableParams::new(1000, 0.01)?)?;
/// for i in 0..5000_u32 {
///     seen.add(&i.to_le_bytes());
/// }
/// assert_eq!(seen.layers().len(), 3); // 1000 + 2000 + 4000
/// assert!((0..5000_u32).all(|i| seen.might_contain(&i.to_le_bytes())));
/// assert!(seen.expected_fpp() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ScalableFilter<P: Schema> {
    params: ScalableParams,
    hasher: Hasher,
    /// Oldest first; at least one.
    layers: Vec<Bloom<P>>,
    /// New keys that the newest layer still takes before the filter grows.
    room: u64,
    failure: Option<Arc<FilterError>>,
}

impl ScalableFilter<BlockedParams> {
    /// An empty filter of blocked layers with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn blocked(params: ScalableParams) -> Result<Self, FilterError> {
        Self::with_hasher(params, Hasher::default())
    }
}

impl ScalableFilter<ClassicParams> {
    /// An empty filter of classic layers with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn classic(params: ScalableParams) -> Result<Self, FilterError> {
        Self::with_hasher(params, Hasher::default())
    }
}

impl<P: Schema> ScalableFilter<P> {
    /// An empty filter whose keys are hashed with `hasher`.
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn with_hasher(params: ScalableParams, hasher: Hasher) -> Result<Self, FilterError> {
        let first = new_layer(params, &hasher, 0)?;
        Ok(Self { params, hasher, layers: vec![first], room: params.layer_capacity(0), failure: None })
    }

    /// The filter of these layers, oldest first, at least one.
    pub(super) fn from_layers(params: ScalableParams, hasher: Hasher, layers: Vec<Bloom<P>>) -> Self {
        let mut filter = Self { params, hasher, layers, room: 0, failure: None };
        filter.settle_room();
        filter
    }

    /// Works out the room of the newest layer after its count has changed by other means than adding.
    pub(super) fn settle_room(&mut self) {
        let capacity = self.params.layer_capacity(layer_number(self.layers.len() - 1));
        self.room = capacity.saturating_sub(newest_of(&mut self.layers).count());
    }

    /// Options, hasher and layers, oldest first.
    pub(super) fn into_layers(self) -> (ScalableParams, Hasher, Vec<Bloom<P>>) {
        (self.params, self.hasher, self.layers)
    }

    /// Adds a key. True when the key was certainly not in the filter before, in any layer; false when it may
    /// have been.
    #[inline]
    pub fn add(&mut self, key: &[u8]) -> bool {
        self.add_hash(self.hasher.hash(key))
    }

    /// [`add`](Self::add) for a hash that the caller has, made by [`hasher`](Self::hasher).
    pub fn add_hash(&mut self, hash: KeyHash) -> bool {
        let (newest, older) = newest(&mut self.layers);
        if older.iter().rev().any(|layer| layer.might_contain_hash(hash)) {
            return false;
        }
        if self.room == 0 {
            if newest.might_contain_hash(hash) {
                return false;
            }
            self.grow();
        }
        let new = newest_of(&mut self.layers).add_hash(hash);
        self.room -= u64::from(new);
        new
    }

    /// Adds many keys, with the memory of each fetched ahead, layer by layer; the filter is the same as after
    /// adding them one by one. Returns how many were certainly new.
    pub fn add_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> u64 {
        let hasher = self.hasher.clone();
        let mut new = 0;
        hash_in_chunks(&hasher, keys, |_, hashes| new += self.add_hashes(hashes));
        new
    }

    /// [`add_batch`](Self::add_batch) for hashes that the caller has.
    pub fn add_hashes(&mut self, hashes: &[KeyHash]) -> u64 {
        let mut new = 0;
        let mut pending = Vec::with_capacity(CHUNK.min(hashes.len()));
        for chunk in hashes.chunks(CHUNK) {
            pending.clear();
            pending.extend_from_slice(chunk);
            let (_, older) = newest(&mut self.layers);
            for layer in older.iter().rev() {
                keep_absent(&mut pending, |hashes, answers| layer.might_contain_hashes(hashes, answers));
            }
            new += self.add_pending(&mut pending);
        }
        new
    }

    /// Adds hashes that are in no layer but maybe the newest, growing as often as it takes.
    fn add_pending(&mut self, pending: &mut Vec<KeyHash>) -> u64 {
        let mut new = 0;
        while !pending.is_empty() {
            let newest = newest_of(&mut self.layers);
            if self.room == 0 {
                // What comes now may be in the full layer by this very batch.
                keep_absent(pending, |hashes, answers| newest.might_contain_hashes(hashes, answers));
                if pending.is_empty() {
                    break;
                }
                self.grow();
                continue;
            }
            // So many can't overfill the layer, whichever of them are new.
            let fitting = usize::try_from(self.room).unwrap_or(usize::MAX).min(pending.len());
            let added = newest.add_hashes(&pending[..fitting]);
            self.room -= added;
            new += added;
            pending.drain(..fitting);
        }
        new
    }

    /// Makes the next layer, or makes room in the newest where there can be none. There is room afterwards.
    fn grow(&mut self) {
        let next = layer_number(self.layers.len());
        match new_layer(self.params, &self.hasher, next) {
            Ok(layer) => {
                self.layers.push(layer);
                self.room = self.params.layer_capacity(next);
                self.failure = None;
            }
            Err(error) => {
                self.room = self.params.layer_capacity(next - 1);
                self.failure = Some(Arc::new(error));
            }
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
        self.layers.iter().rev().any(|layer| layer.might_contain_hash(hash))
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
        let layers = self.layers.iter().rev();
        any_layer(layers, hashes, answers, |layer, hashes, answers| {
            layer.might_contain_hashes(hashes, answers);
        });
    }

    /// Keys added: the sum over the layers, each key counted when it was new to all of them. Of new keys, about
    /// the share that the compound rate had at the time is missed: under 1% at a target of 1%.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.count()))
    }

    /// The compound false-positive rate that theory gives for the layers' counts: 1 − Π(1 − pᵢ).
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        compound(self.layers.iter().map(Bloom::expected_fpp))
    }

    /// The compound false-positive rate that the bits really set give. Reads the whole filter.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        compound(self.layers.iter().map(Bloom::expected_fpp_from_fill))
    }

    /// The layers, oldest first; at least one. Layer i is sized for
    /// [`layer_capacity(i)`](ScalableParams::layer_capacity) keys.
    #[must_use]
    pub fn layers(&self) -> &[Bloom<P>] {
        &self.layers
    }

    /// The layers, oldest first.
    pub(super) fn layers_mut(&mut self) -> impl Iterator<Item = &mut Bloom<P>> {
        self.layers.iter_mut()
    }

    /// Why the filter could not grow when it last had to. While this says something, the newest layer takes more
    /// keys than it was sized for, and the compound rate may be over the target.
    #[must_use]
    pub fn growth_failure(&self) -> Option<&FilterError> {
        self.failure.as_deref()
    }

    /// First capacity, target rate, growth and tightening.
    #[must_use]
    pub fn params(&self) -> ScalableParams {
        self.params
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// Bytes of the lines of all layers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layers.iter().map(Bloom::bytes).sum()
    }

    /// The filter as a block: header, directory and the lines of each layer. Unlike a fixed filter's, the block
    /// of one without keys has lines, for it must keep the options.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(&self.prefix())?;
        self.layers.iter().try_for_each(|layer| out.write_all(layer.lines.bytes()))
    }

    /// The block that [`write_to`](Self::write_to) writes, in memory.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut block = self.prefix();
        block.reserve_exact(self.bytes());
        for layer in &self.layers {
            block.extend_from_slice(layer.lines.bytes());
        }
        block
    }

    /// Header and directory.
    fn prefix(&self) -> Vec<u8> {
        let headers: Vec<Header> = self.layers.iter().map(Bloom::sized_header).collect();
        Container::encode_prefix(self.params, P::KIND, self.hasher.identity(), &headers)
    }

    /// Reads a block of this kind, with layers of this schema, into an owned filter that grows on, every checksum
    /// verified. `hashers` holds the secrets and application hashers that the block may need.
    ///
    /// # Errors
    /// What is wrong with the block, each kind of fault its own variant of [`FormatError`].
    pub fn decode(block: &[u8], hashers: &Hashers) -> Result<Self, FormatError> {
        let (header, body) = format::split(block)?;
        let container = Container::decode(&header, body)?;
        container.verify(&header, body)?;
        Self::copy_of(&container, body, hashers.resolve(&header.hasher)?)
    }

    /// An owned copy of a block of this kind, given by its checked directory, its lines and its hasher.
    pub(super) fn copy_of(
        container: &Container,
        body: &[LineBytes],
        hasher: Hasher,
    ) -> Result<Self, FormatError> {
        if container.layer_kind != P::KIND {
            return Err(FormatError::WrongKind { expected: P::KIND, got: container.layer_kind });
        }
        let copy = |layer: &format::ContainerLayer| {
            Bloom::copy_of(&layer.header, &body[layer.lines.clone()], hasher.clone())
        };
        let layers = container.layers.iter().map(copy).collect::<Result<_, _>>()?;
        Ok(Self::from_layers(container.params, hasher, layers))
    }
}

implement!([P: Schema] ScalableFilter<P>, |_filter| Kind::Scalable, write_to);

/// By how much a layer is sized stricter than its share of the target, at a tenth of a bit more for each key.
///
/// The series alone leaves no room. Half of the target is the first layer's, and the rate of a filter of 1000 keys
/// is spread around theory by chance, by 2.5% (standard deviation); and a full layer has taken some keys more than
/// it counts, those that looked old when they came. With the series alone 10⁶ keys in classic layers from 1000 on
/// measured 1.0008% at a target of 1%; so sized, such filters lie at 0.945% with a deviation of 0.012%.
const STRICTER: f64 = 0.95;

/// Layer `number` of a filter, empty.
pub(super) fn new_layer<P: Schema>(
    params: ScalableParams,
    hasher: &Hasher,
    number: u8,
) -> Result<Bloom<P>, FilterError> {
    if number >= ScalableParams::MAX_LAYERS {
        return Err(FilterError::NoMoreLayers { max: ScalableParams::MAX_LAYERS });
    }
    let fpp = params.layer_fpp(number) * STRICTER;
    Bloom::with_hasher(P::for_fpp(params.layer_capacity(number), fpp)?, hasher.clone())
}

/// The number of the layer after `count` layers.
pub(super) fn layer_number(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// 1 − Π(1 − pᵢ): the chance of getting past at least one layer.
pub(super) fn compound(rates: impl Iterator<Item = f64>) -> f64 {
    // By sums of logarithms, which keep rates far below the precision of numbers near 1.
    -rates.map(|rate| (-rate).ln_1p()).sum::<f64>().exp_m1()
}

/// Answers for many hashes from several layers: true where any layer says so.
pub(super) fn any_layer<L>(
    layers: impl Iterator<Item = L> + Clone,
    hashes: &[KeyHash],
    answers: &mut [bool],
    ask: impl Fn(L, &[KeyHash], &mut [bool]),
) {
    assert_eq!(hashes.len(), answers.len(), "as many answers as hashes");
    let mut of_layer = [false; CHUNK];
    for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        answers.fill(false);
        let of_layer = &mut of_layer[..hashes.len()];
        for layer in layers.clone() {
            ask(layer, hashes, of_layer);
            for (answer, of_layer) in answers.iter_mut().zip(&*of_layer) {
                *answer |= of_layer;
            }
        }
    }
}

/// Drops the hashes, at most [`CHUNK`], that a layer may contain by its answers.
pub(super) fn keep_absent(hashes: &mut Vec<KeyHash>, ask: impl FnOnce(&[KeyHash], &mut [bool])) {
    let mut answers = [false; CHUNK];
    let answers = &mut answers[..hashes.len()];
    ask(hashes, answers);
    let mut answers = answers.iter();
    hashes.retain(|_| answers.next() == Some(&false));
}

/// The newest layer, and those before it.
fn newest<P: Schema>(layers: &mut [Bloom<P>]) -> (&mut Bloom<P>, &mut [Bloom<P>]) {
    layers.split_last_mut().expect("a filter has at least one layer")
}

/// The newest layer.
fn newest_of<P: Schema>(layers: &mut [Bloom<P>]) -> &mut Bloom<P> {
    newest(layers).0
}
