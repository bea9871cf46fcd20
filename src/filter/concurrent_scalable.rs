//! A filter that grows while threads share it.
//!
//! # How it works
//! The layers are a list that never changes: growing publishes a new list, of the same layers and one more, by
//! one atomic store. Adding and querying take the list of the moment and work on its lock-free layers
//! ([`AtomicFilter`]); neither waits for a thread that grows.
//!
//! # Growing
//! 1. The thread whose add brings the newest layer to its capacity marks it full. Counts are summed over the
//!    stripes only once in a while (at 1/1024 of the capacity), so the mark may come that much late.
//! 2. A thread that is about to add a new key to a full layer takes the lock, and looks again: has the list grown
//!    since it looked, there is nothing to do. Otherwise it makes the next layer and publishes it. So each growth
//!    makes exactly one layer, however many threads come upon the full one.
//! 3. A thread that still holds the old list adds to the old layer. Its key is found there as well as anywhere,
//!    for every later list has that layer; the layer is over its capacity by at most a key for each thread.
//!
//! # What is promised, and why
//! If an `add(x)` happened before a lookup of `x`, the lookup answers true. The lookup's list is the one that the
//! add used or a later one (one atomic pointer: a load can't see a value older than one that was seen before it),
//! so the layer that the add found or put the key in is in it; and within a layer [`AtomicFilter`]'s promise
//! holds. The store that publishes a layer releases and the load acquires, so the layer is seen complete.

use std::fmt;
use std::sync::Arc;

use super::atomic::AtomicFilter;
use super::bloom::Schema;
use super::interface::implement;
use super::scalable::{ScalableFilter, any_layer, compound, keep_absent, layer_number, new_layer};
use super::{CHUNK, hash_in_chunks};
use crate::error::FilterError;
use crate::format::{Container, Header, Kind};
use crate::hash::{Hasher, KeyHash};
use crate::sizing::{BlockedParams, ClassicParams, ScalableParams};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Published};

/// A [`ScalableFilter`] that threads add to and query at the same time. Only growing takes a lock, and only
/// threads that have a new key for a full layer wait for it.
///
/// `ConcurrentScalableFilter::from(filter)` and [`into_filter`](Self::into_filter) turn the two into each other
/// without copying, and they are written as the same block.
///
/// ```
/// use bloomline::ConcurrentScalableFilter;
/// use bloomline::sizing::ScalableParams;
///
/// let seen = ConcurrentScalableFilter::blocked(ScalableParams::new(100, 0.01)?)?;
/// std::thread::scope(|scope| {
///     for thread in 0..4_u32 {
///         let seen = &seen;
///         scope.spawn(move || {
///             for i in 0..250 {
///                 seen.add(&(thread * 250 + i).to_le_bytes());
///             }
///         });
///     }
/// });
/// assert_eq!(seen.layer_count(), 4); // 100 + 200 + 400 + 800
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ConcurrentScalableFilter<P: Schema> {
    params: ScalableParams,
    hasher: Hasher,
    /// Oldest first; at least one.
    layers: Published<Vec<Arc<Layer<P>>>>,
    /// Held while growing. Why that failed, where it did.
    growing: Mutex<Option<Arc<FilterError>>>,
}

/// A layer, and whether the next new key needs another.
#[derive(Debug)]
struct Layer<P: Schema> {
    filter: AtomicFilter<P>,
    /// A hint: it is acted upon under the lock only, and comes late at the cost of some keys too many.
    full: AtomicBool,
    /// The count at which the layer is full. It is raised where there can be no next layer.
    capacity: AtomicU64,
    /// After how many keys in its stripe of the count an adder looks whether the layer is full.
    interval: u64,
}

impl<P: Schema> Layer<P> {
    fn new(filter: AtomicFilter<P>, capacity: u64) -> Self {
        let interval = (capacity / 1024 / filter.stripes() as u64).max(1);
        let full = AtomicBool::new(filter.count() >= capacity);
        Self { filter, full, capacity: AtomicU64::new(capacity), interval }
    }

    /// New keys that the layer still takes.
    fn room(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed).saturating_sub(self.filter.count())
    }

    fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn mark_if_full(&self) {
        if self.room() == 0 {
            self.full.store(true, Ordering::Relaxed);
        }
    }

    fn add_hash(&self, hash: KeyHash) -> bool {
        let (new, look) = self.filter.add_hash_counting(hash, self.interval);
        if look {
            self.mark_if_full();
        }
        new
    }

    fn add_hashes(&self, hashes: &[KeyHash]) -> u64 {
        let new = self.filter.add_hashes(hashes);
        self.mark_if_full();
        new
    }

    /// How many hashes to add at a time: so few that all threads together can't overfill the layer by much.
    fn portion(&self) -> usize {
        let portion = self.room() / (4 * self.filter.stripes() as u64);
        usize::try_from(portion).unwrap_or(usize::MAX).max(1)
    }

    /// Makes room for `keys` more.
    fn extend(&self, keys: u64) {
        self.capacity.store(self.filter.count().saturating_add(keys), Ordering::Relaxed);
        self.full.store(false, Ordering::Relaxed);
    }
}

impl ConcurrentScalableFilter<BlockedParams> {
    /// An empty filter of blocked layers with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn blocked(params: ScalableParams) -> Result<Self, FilterError> {
        Self::with_hasher(params, Hasher::default())
    }
}

impl ConcurrentScalableFilter<ClassicParams> {
    /// An empty filter of classic layers with the default hasher (XXH3-64, seed 0).
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn classic(params: ScalableParams) -> Result<Self, FilterError> {
        Self::with_hasher(params, Hasher::default())
    }
}

impl<P: Schema> ConcurrentScalableFilter<P> {
    /// An empty filter whose keys are hashed with `hasher`.
    ///
    /// # Errors
    /// [`FilterError`] where the first layer can't be made.
    pub fn with_hasher(params: ScalableParams, hasher: Hasher) -> Result<Self, FilterError> {
        Ok(ScalableFilter::with_hasher(params, hasher)?.into())
    }

    /// The filter as an owned one, in the same memory. That it takes `self` is the proof that every add has
    /// ended.
    ///
    /// # Panics
    /// Never: nothing but this filter holds its layers.
    #[must_use]
    pub fn into_filter(self) -> ScalableFilter<P> {
        let layers = self.layers.into_inner();
        let layers = layers.into_iter().map(|layer| {
            Arc::into_inner(layer).expect("the list of layers was the last to hold them").filter.into_filter()
        });
        ScalableFilter::from_layers(self.params, self.hasher, layers.collect())
    }

    /// Adds a key. True when the key was certainly not in the filter before, in any layer; false when it may
    /// have been. Waits only where the key is new, the newest layer is full and another thread is growing.
    #[inline]
    pub fn add(&self, key: &[u8]) -> bool {
        self.add_hash(self.hasher.hash(key))
    }

    /// [`add`](Self::add) for a hash that the caller has, made by [`hasher`](Self::hasher).
    pub fn add_hash(&self, hash: KeyHash) -> bool {
        loop {
            let layers = self.layers.load();
            let (newest, older) = newest(&layers);
            if older.iter().rev().any(|layer| layer.filter.might_contain_hash(hash)) {
                return false;
            }
            if !newest.is_full() {
                return newest.add_hash(hash);
            }
            if newest.filter.might_contain_hash(hash) {
                return false;
            }
            self.grow(layers.len());
        }
    }

    /// Adds many keys, with the memory of each fetched ahead, layer by layer. Returns how many were certainly
    /// new.
    pub fn add_batch<K: AsRef<[u8]>>(&self, keys: &[K]) -> u64 {
        let mut new = 0;
        hash_in_chunks(&self.hasher, keys, |_, hashes| new += self.add_hashes(hashes));
        new
    }

    /// [`add_batch`](Self::add_batch) for hashes that the caller has.
    pub fn add_hashes(&self, hashes: &[KeyHash]) -> u64 {
        let mut new = 0;
        let mut pending = Vec::with_capacity(CHUNK.min(hashes.len()));
        for chunk in hashes.chunks(CHUNK) {
            pending.clear();
            pending.extend_from_slice(chunk);
            new += self.add_pending(&mut pending);
        }
        new
    }

    /// Adds at most [`CHUNK`] hashes, growing as often as it takes.
    fn add_pending(&self, pending: &mut Vec<KeyHash>) -> u64 {
        let (mut new, mut asked) = (0, 0);
        while !pending.is_empty() {
            let layers = self.layers.load();
            let (newest, older) = newest(&layers);
            // Those asked before are full, and what is pending is in none of them.
            for layer in older[asked..].iter().rev() {
                keep_absent(pending, |hashes, answers| layer.filter.might_contain_hashes(hashes, answers));
            }
            asked = older.len();
            if newest.is_full() {
                keep_absent(pending, |hashes, answers| newest.filter.might_contain_hashes(hashes, answers));
                if !pending.is_empty() {
                    self.grow(layers.len());
                }
                continue;
            }
            let portion = newest.portion().min(pending.len());
            new += newest.add_hashes(&pending[..portion]);
            pending.drain(..portion);
        }
        new
    }

    /// Makes the layer after `seen` layers, unless another thread has; or makes room in the newest where there
    /// can be no next.
    #[cold]
    fn grow(&self, seen: usize) {
        let mut failure = self.growing.lock();
        let layers = self.layers.load();
        let (newest, _) = newest(&layers);
        if layers.len() != seen || !newest.is_full() {
            return;
        }
        let number = layer_number(layers.len());
        match new_layer(self.params, &self.hasher, number) {
            Ok(filter) => {
                let layer = Layer::new(AtomicFilter::from(filter), self.params.layer_capacity(number));
                let mut next = Vec::with_capacity(layers.len() + 1);
                next.extend(layers.iter().cloned());
                next.push(Arc::new(layer));
                *failure = None;
                self.layers.publish(next);
            }
            Err(error) => {
                *failure = Some(Arc::new(error));
                newest.extend(self.params.layer_capacity(number - 1));
            }
        }
    }

    /// False when the key was certainly never added; true when it may have been. Never waits.
    #[inline]
    #[must_use]
    pub fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain_hash(self.hasher.hash(key))
    }

    /// [`might_contain`](Self::might_contain) for a hash that the caller has, made by [`hasher`](Self::hasher).
    #[inline]
    #[must_use]
    pub fn might_contain_hash(&self, hash: KeyHash) -> bool {
        self.layers.load().iter().rev().any(|layer| layer.filter.might_contain_hash(hash))
    }

    /// Looks up many keys, with the memory of each fetched ahead; `answers[i]` is for `keys[i]`. Never waits.
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
        let layers = self.layers.load();
        any_layer(layers.iter().rev(), hashes, answers, |layer, hashes, answers| {
            layer.filter.might_contain_hashes(hashes, answers);
        });
    }

    /// Keys added: the sum over the layers, approximate under races.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.layers.load().iter().fold(0, |sum, layer| sum.saturating_add(layer.filter.count()))
    }

    /// The compound false-positive rate that theory gives for the layers' counts: 1 − Π(1 − pᵢ).
    #[must_use]
    pub fn expected_fpp(&self) -> f64 {
        compound(self.layers.load().iter().map(|layer| layer.filter.expected_fpp()))
    }

    /// The compound false-positive rate that the bits really set give. Reads the whole filter.
    #[must_use]
    pub fn expected_fpp_from_fill(&self) -> f64 {
        compound(self.layers.load().iter().map(|layer| layer.filter.expected_fpp_from_fill()))
    }

    /// How many layers there are.
    #[must_use]
    pub fn layer_count(&self) -> usize {
        self.layers.load().len()
    }

    /// Why the filter could not grow when it last had to; see [`ScalableFilter::growth_failure`].
    #[must_use]
    pub fn growth_failure(&self) -> Option<Arc<FilterError>> {
        self.growing.lock().clone()
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

    /// The filter as a block, while others may be adding: every add that happened before the call is in it, and
    /// of those under way any part may be.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let layers = self.layers.load();
        let prefix_bytes = Container::prefix_bytes(layers.len());
        let mut block = vec![0; prefix_bytes];
        block.reserve_exact(layers.iter().map(|layer| layer.filter.bytes()).sum());
        let headers: Vec<Header> = layers.iter().map(|layer| layer.filter.append_lines(&mut block)).collect();
        let prefix = Container::encode_prefix(self.params, P::KIND, self.hasher.identity(), &headers);
        block[..prefix_bytes].copy_from_slice(&prefix);
        block
    }
}

/// The filter to share, in the memory of the owned one.
impl<P: Schema> From<ScalableFilter<P>> for ConcurrentScalableFilter<P> {
    fn from(filter: ScalableFilter<P>) -> Self {
        let (params, hasher, layers) = filter.into_layers();
        let layers = layers.into_iter().enumerate().map(|(index, layer)| {
            Arc::new(Layer::new(layer.into(), params.layer_capacity(layer_number(index))))
        });
        let layers = Published::new(layers.collect());
        Self { params, hasher, layers, growing: Mutex::new(None) }
    }
}

impl<P: Schema> fmt::Debug for ConcurrentScalableFilter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrentScalableFilter")
            .field("params", &self.params)
            .field("hasher", &self.hasher)
            .field("layers", &self.layers.load().as_slice())
            .finish_non_exhaustive()
    }
}

implement!([P: Schema] ConcurrentScalableFilter<P>, |_filter| Kind::Scalable);

/// The newest layer, and those before it.
fn newest<P: Schema>(layers: &[Arc<Layer<P>>]) -> (&Layer<P>, &[Arc<Layer<P>>]) {
    let (newest, older) = layers.split_last().expect("a filter has at least one layer");
    (newest, older)
}
