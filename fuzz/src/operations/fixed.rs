//! Filters of fixed size: plain, atomic, behind a lock, encoded and mapped.

use arbitrary::Arbitrary;
use bloomline::filter::{AtomicFilter, Bloom, Schema};
use bloomline::probe::Backend;
use bloomline::sizing::BlockedParams;
use bloomline::table::write_filter_file;
use bloomline::{FilterReader, Synchronized, TableReader};

use super::{Keys, Model, STEPS};
use crate::recipe::AnyHasher;

/// One step.
#[derive(Arbitrary, Debug)]
pub(super) enum Step {
    /// Keys one by one.
    Add(Keys),
    /// Keys in a batch.
    Batch(Keys),
    /// Keys on several threads.
    Parallel(Keys, u8),
    /// Keys through a shared reference, one by one and in a batch.
    Shared(Keys, Keys),
    /// Keys through a lock.
    Locked(Keys, Keys),
    /// Lookups on every backend, in memory and in the block.
    Ask(Keys),
    /// The union with a filter of these keys; from memory or from its block.
    Merge(Keys, bool),
    /// Written and read again.
    Again,
    /// Written to a file and asked from its mapping.
    Mapped(Keys),
    /// Another backend.
    Backend(u8),
}

/// Adds keys on several threads.
pub(super) fn parallel(filter: &mut Bloom<BlockedParams>, keys: &[Vec<u8>], threads: u8) -> u64 {
    filter.add_batch_parallel(keys, usize::from(threads % 5))
}

/// A filter under test, its twin, and what both must know.
struct Pair<P: Schema> {
    filter: Bloom<P>,
    twin: Bloom<P>,
    model: Model,
    /// The count is of keys, and no estimate after a merge.
    counted: bool,
}

/// Runs a sequence.
pub(super) fn run<P: Schema>(
    params: P,
    hasher: &AnyHasher,
    steps: &[Step],
    parallel: impl Fn(&mut Bloom<P>, &[Vec<u8>], u8) -> u64,
) {
    let empty = || Bloom::with_hasher(params, hasher.hasher()).expect("memory");
    let twin = empty().with_backend(Backend::scalar());
    let mut pair = Pair { filter: empty(), twin, model: Model::default(), counted: true };
    let hashers = hasher.hashers();
    for step in steps.iter().take(STEPS) {
        match step {
            Step::Add(keys) => pair.add(keys, |mut filter, keys| {
                let new = keys.iter().filter(|key| filter.add(key)).count() as u64;
                (filter, new)
            }),
            Step::Batch(keys) => pair.add(keys, |mut filter, keys| {
                let new = filter.add_batch(keys);
                (filter, new)
            }),
            Step::Parallel(keys, threads) => pair.add(keys, |mut filter, keys| {
                let new = parallel(&mut filter, keys, *threads);
                (filter, new)
            }),
            Step::Shared(one_by_one, batch) => {
                pair.add(one_by_one, |filter, keys| {
                    let shared = AtomicFilter::from(filter);
                    let new = keys.iter().filter(|key| shared.add(key)).count() as u64;
                    (shared.into_filter(), new)
                });
                pair.add(batch, |filter, keys| {
                    let shared = AtomicFilter::from(filter);
                    let new = shared.add_batch(keys);
                    let (encoded, filter) = (shared.encode(), shared.into_filter());
                    assert!(filter.encode() == encoded, "a snapshot is not the filter");
                    (filter, new)
                });
            }
            Step::Locked(one_by_one, batch) => {
                pair.add(one_by_one, |filter, keys| {
                    let locked = Synchronized::new(filter);
                    let new = keys.iter().filter(|key| locked.add(key)).count() as u64;
                    (locked.into_inner(), new)
                });
                pair.add(batch, |filter, keys| {
                    let locked = Synchronized::new(filter);
                    let new = locked.add_batch(keys);
                    assert!(keys.iter().all(|key| locked.might_contain(key)), "a lock forgets a key");
                    (locked.into_inner(), new)
                });
            }
            Step::Ask(keys) => pair.ask(&keys.keys(), &hashers),
            Step::Merge(keys, from_block) => {
                let keys = keys.keys();
                let mut other = empty();
                other.add_batch(&keys);
                let bounds = pair.filter.count().max(other.count())..=pair.filter.count() + other.count();
                pair.twin.merge(&other).expect("the same parameters");
                if *from_block {
                    let block = other.encode();
                    let reader = FilterReader::open(&block[..], &hashers).expect("sound");
                    pair.filter.merge_reader(&reader).expect("the same parameters");
                } else {
                    pair.filter.merge(&other).expect("the same parameters");
                }
                assert!(
                    bounds.contains(&pair.filter.count()),
                    "{} is not in {bounds:?}",
                    pair.filter.count()
                );
                pair.model.add(&hasher.hasher(), &keys);
                pair.counted = false;
            }
            // An empty filter loses its size, as documented.
            Step::Again if pair.model.hashes.is_empty() => {}
            Step::Again => pair.filter = Bloom::decode(&pair.filter.encode(), &hashers).expect("sound"),
            Step::Mapped(keys) => {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("filter");
                write_filter_file(&path, &pair.filter).expect("room");
                let table = TableReader::open(&path, &hashers).expect("sound");
                let mapped = table.filter().expect("a filter file");
                pair.model.known(mapped);
                let same = |key: &Vec<u8>| mapped.might_contain(key) == pair.twin.might_contain(key);
                assert!(keys.keys().iter().all(same), "a mapped filter answers otherwise");
            }
            Step::Backend(which) => {
                let backends: Vec<_> = Backend::all().collect();
                let backend = backends[usize::from(*which) % backends.len()];
                pair.filter = pair.filter.with_backend(backend);
            }
        }
        pair.agree();
    }
}

impl<P: Schema> Pair<P> {
    /// Adds keys to both, and holds what was new against the twin's.
    fn add(&mut self, keys: &Keys, add: impl FnOnce(Bloom<P>, &[Vec<u8>]) -> (Bloom<P>, u64)) {
        let keys = keys.keys();
        let mut new = 0;
        for key in &keys {
            let hash = self.twin.hasher().hash(key);
            let known = self.twin.might_contain_hash(hash);
            let added = self.twin.add_hash(hash);
            assert!(added != known, "a key is new exactly when it was absent");
            assert!(self.model.hashes.insert(hash) || !added, "a key that was added before is new");
            new += u64::from(added);
        }
        // In the place of the filter while it is lent.
        let params = self.filter.params();
        let spare = Bloom::with_hasher(params, self.filter.hasher().clone()).expect("memory");
        let (filter, got) = add(std::mem::replace(&mut self.filter, spare), &keys);
        self.filter = filter;
        assert_eq!(got, new, "keys that were new");
    }

    fn ask(&self, keys: &[Vec<u8>], hashers: &bloomline::Hashers) {
        let expected: Vec<bool> = keys.iter().map(|key| self.twin.might_contain(key)).collect();
        let block = self.twin.encode();
        for backend in Backend::all() {
            let reader = FilterReader::open(&block[..], hashers).expect("sound").with_backend(backend);
            let mut answers = vec![false; keys.len()];
            reader.might_contain_batch(keys, &mut answers);
            assert!(answers == expected, "{}", backend.name());
        }
        let mut answers = vec![false; keys.len()];
        self.filter.might_contain_batch(keys, &mut answers);
        assert!(answers == expected);
        self.model.known(&self.filter);
    }

    fn agree(&self) {
        assert!(self.filter.encode() == self.twin.encode(), "the twins differ");
        if self.counted {
            assert!(self.filter.count() <= self.model.hashes.len() as u64, "more keys than were added");
            assert!(self.filter.count() > 0 || self.model.hashes.is_empty());
        }
        let (by_count, by_fill) = (self.filter.expected_fpp(), self.filter.expected_fpp_from_fill());
        assert!((0.0..=1.0).contains(&by_count) && (0.0..=1.0).contains(&by_fill), "{by_count}, {by_fill}");
    }
}
