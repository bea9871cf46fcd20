//! Scalable filters: plain, shared, behind a lock and encoded.

use arbitrary::Arbitrary;
use bloomline::filter::Schema;
use bloomline::{ConcurrentScalableFilter, FilterReader, ScalableFilter, Synchronized};

use super::{Keys, Model, STEPS};
use crate::recipe::{AnyHasher, Growing};

/// One step.
#[derive(Arbitrary, Debug)]
pub(super) enum Step {
    /// Keys one by one.
    Add(Keys),
    /// Keys in a batch.
    Batch(Keys),
    /// Keys through a shared reference, one by one or in a batch.
    Shared(Keys, bool),
    /// Keys through a lock.
    Locked(Keys),
    /// Lookups in memory and in the block.
    Ask(Keys),
    /// The union with itself as it was written.
    MergeSelf,
    /// The union with a filter of these keys, which is refused where the layers differ.
    Merge(Keys),
    /// Written and read again.
    Again,
}

/// Layers of more keys may take one too many of those that are added through a shared reference: what they count
/// is looked at now and then.
const EXACT: u64 = 1024;

/// Runs a sequence.
pub(super) fn run<P: Schema>(growing: Growing, hasher: &AnyHasher, steps: &[Step]) {
    let (params, hashers) = (growing.params(), hasher.hashers());
    let empty = || ScalableFilter::<P>::with_hasher(params, hasher.hasher()).expect("memory");
    let (mut filter, mut twin, mut model) = (empty(), empty(), Model::default());
    for step in steps.iter().take(STEPS) {
        match step {
            Step::Add(keys) | Step::Batch(keys) | Step::Locked(keys) | Step::Shared(keys, _) => {
                let keys = keys.keys();
                let new = keys.iter().filter(|key| twin.add(key)).count() as u64;
                let got;
                (filter, got) = add(step, filter, &keys);
                model.add(&hasher.hasher(), &keys);
                let newest = u8::try_from(filter.layers().len() - 1).expect("at most 64 layers");
                if matches!(step, Step::Shared(..)) && params.layer_capacity(newest) > EXACT {
                    twin = ScalableFilter::decode(&filter.encode(), &hashers).expect("sound");
                } else {
                    assert_eq!(got, new, "keys that were new");
                }
            }
            Step::Ask(keys) => {
                let keys = keys.keys();
                let expected: Vec<bool> = keys.iter().map(|key| twin.might_contain(key)).collect();
                let block = twin.encode();
                let reader = FilterReader::open(&block[..], &hashers).expect("sound");
                let mut answers = [vec![false; keys.len()], vec![false; keys.len()]];
                filter.might_contain_batch(&keys, &mut answers[0]);
                reader.might_contain_batch(&keys, &mut answers[1]);
                assert!(answers.iter().all(|answers| *answers == expected), "other answers than the twin's");
                model.known(&reader);
            }
            Step::MergeSelf => {
                let block = filter.encode();
                filter
                    .merge_reader(&FilterReader::open(&block[..], &hashers).expect("sound"))
                    .expect("the same");
                assert!(filter.encode() == block, "the union with itself is something else");
            }
            Step::Merge(keys) => {
                let keys = keys.keys();
                let mut other = empty();
                other.add_batch(&keys);
                let before = filter.encode();
                let merged = filter.merge(&other);
                assert_eq!(merged.is_ok(), other.layers().len() == twin.layers().len());
                if merged.is_ok() {
                    twin.merge(&other).expect("as the other was");
                    model.add(&hasher.hasher(), &keys);
                } else {
                    assert!(filter.encode() == before, "a merge that was refused changed something");
                }
            }
            Step::Again => filter = ScalableFilter::decode(&filter.encode(), &hashers).expect("sound"),
        }
        assert!(filter.encode() == twin.encode(), "the twins differ");
        model.known(&filter);
        let rates = [filter.expected_fpp(), filter.expected_fpp_from_fill()];
        assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)), "{rates:?}");
    }
}

/// Adds keys in the way that the step says.
fn add<P: Schema>(step: &Step, mut filter: ScalableFilter<P>, keys: &[Vec<u8>]) -> (ScalableFilter<P>, u64) {
    match step {
        Step::Locked(_) => {
            let locked = Synchronized::new(filter);
            let new = locked.add_batch(keys);
            (locked.into_inner(), new)
        }
        Step::Shared(_, batch) => {
            let shared = ConcurrentScalableFilter::from(filter);
            let one_by_one = || keys.iter().filter(|key| shared.add(key)).count() as u64;
            let new = if *batch { shared.add_batch(keys) } else { one_by_one() };
            let block = shared.encode();
            let filter = shared.into_filter();
            assert!(filter.encode() == block, "a snapshot is not the filter");
            (filter, new)
        }
        Step::Batch(_) => {
            let new = filter.add_batch(keys);
            (filter, new)
        }
        _ => {
            let new = keys.iter().filter(|key| filter.add(key)).count() as u64;
            (filter, new)
        }
    }
}
