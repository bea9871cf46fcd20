//! Checking and timing the contenders of one size.

use std::hint::black_box;

use crate::contender::{BuildFrom, Contender, Filter};
use crate::keys::Keys;
use crate::quiet::Quiet;

/// What a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    Build,
    BuildParallel,
    HashMiss,
    HashHit,
    HashBatchMiss,
    HashBatchHit,
    KeyMiss,
    KeyHit,
    KeyBatchMiss,
    KeyBatchHit,
}

impl Measure {
    /// All of them, as the table's columns go.
    pub(crate) const ALL: [Self; 10] = [
        Self::Build,
        Self::BuildParallel,
        Self::HashMiss,
        Self::HashHit,
        Self::HashBatchMiss,
        Self::HashBatchHit,
        Self::KeyMiss,
        Self::KeyHit,
        Self::KeyBatchMiss,
        Self::KeyBatchHit,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::BuildParallel => "build on all cores",
            Self::HashMiss => "hash miss",
            Self::HashHit => "hash hit",
            Self::HashBatchMiss => "hash batch miss",
            Self::HashBatchHit => "hash batch hit",
            Self::KeyMiss => "key miss",
            Self::KeyHit => "key hit",
            Self::KeyBatchMiss => "key batch miss",
            Self::KeyBatchHit => "key batch hit",
        }
    }

    /// Asks the filter this measure's question of every key. `None` where it has no such call; a build asks
    /// nothing.
    fn ask(self, filter: &dyn Filter, asked: &Asked) -> Option<usize> {
        let Asked { misses, hits, .. } = asked;
        match self {
            Self::Build | Self::BuildParallel => None,
            Self::HashMiss => filter.count_hashes(black_box(&misses.hashes)),
            Self::HashHit => filter.count_hashes(black_box(&hits.hashes)),
            Self::HashBatchMiss => filter.count_hashes_batched(black_box(&misses.hashes)),
            Self::HashBatchHit => filter.count_hashes_batched(black_box(&hits.hashes)),
            Self::KeyMiss => filter.count_keys(black_box(&misses.keys)),
            Self::KeyHit => filter.count_keys(black_box(&hits.keys)),
            Self::KeyBatchMiss => filter.count_keys_batched(black_box(&misses.keys)),
            Self::KeyBatchHit => filter.count_keys_batched(black_box(&hits.keys)),
        }
    }
}

/// Keys to ask for.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Keys that were not added, to time.
    pub(crate) misses: Keys,
    /// Keys that were added, in random order; as many.
    pub(crate) hits: Keys,
    /// More keys that were not added, to measure the rate.
    pub(crate) absent: Keys,
}

/// Nanoseconds per key of several rounds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self(rounds)
    }

    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len().is_multiple_of(2) {
            f64::midpoint(self.0[middle - 1], self.0[middle])
        } else {
            self.0[middle]
        }
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    pub(crate) fn rounds(&self) -> usize {
        self.0.len()
    }
}

/// What was measured of one contender at one size.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) keys: u64,
    pub(crate) bytes: usize,
    /// Share of the absent keys that were answered "may be present".
    pub(crate) fpp: Option<f64>,
    pub(crate) times: Vec<(Measure, Times)>,
}

impl Row {
    pub(crate) fn bits_per_key(&self) -> f64 {
        float(self.bytes) * 8.0 / self.keys as f64
    }

    pub(crate) fn times(&self, measure: Measure) -> Option<&Times> {
        self.times.iter().find(|(of, _)| *of == measure).map(|(_, times)| times)
    }
}

/// Builds, checks and times the contenders with the `added` keys. Every round goes once over all of them,
/// starting with another one each time, so that none has a quieter machine than the others.
pub(crate) fn measure(
    contenders: &[Contender],
    added: &Keys,
    asked: &Asked,
    rounds: Rounds,
    quiet: &mut Quiet,
) -> Vec<Row> {
    let (filters, builds) = build(contenders, added, rounds.builds, quiet);
    let parallel = build_parallel(contenders, added, asked, rounds.builds, quiet);
    let mut rows: Vec<Row> = Vec::new();
    for ((contender, filter), builds) in contenders.iter().zip(&filters).zip(builds.into_iter().zip(parallel))
    {
        let mut times = Vec::new();
        if contender.build_from != BuildFrom::Nothing {
            times.push((Measure::Build, Times::of(builds.0)));
        }
        if !builds.1.is_empty() {
            times.push((Measure::BuildParallel, Times::of(builds.1)));
        }
        rows.push(Row {
            name: contender.name,
            keys: added.len() as u64,
            bytes: filter.bytes(),
            fpp: contender.expected_fpp.map(|expected| check(contender.name, &**filter, asked, expected)),
            times,
        });
    }
    for measure in Measure::ALL {
        let mut expected: Vec<Option<usize>> =
            filters.iter().map(|filter| measure.ask(&**filter, asked)).collect();
        let mut times = vec![Vec::new(); filters.len()];
        for round in 0..rounds.lookups {
            for turn in 0..filters.len() {
                let index = (round + turn) % filters.len();
                let Some(expected) = &mut expected[index] else { continue };
                let (positive, elapsed) = quiet.time(|| measure.ask(&*filters[index], asked));
                assert_eq!(positive, Some(*expected), "{} changes its answers", contenders[index].name);
                times[index].push(elapsed.as_secs_f64() * 1e9 / float(asked.misses.len()));
            }
        }
        for (row, times) in rows.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
            row.times.push((measure, Times::of(times)));
        }
    }
    rows
}

/// How often each thing is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) builds: usize,
    pub(crate) lookups: usize,
}

/// Builds every contender once a round; gives the last filters and the nanoseconds per key of each build.
fn build(
    contenders: &[Contender],
    added: &Keys,
    rounds: usize,
    quiet: &mut Quiet,
) -> (Vec<Box<dyn Filter>>, Vec<Vec<f64>>) {
    let mut filters: Vec<Option<Box<dyn Filter>>> = contenders.iter().map(|_| None).collect();
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            if contenders[index].build_from == BuildFrom::Nothing && filters[index].is_some() {
                continue;
            }
            // The memory of the one before is given back first, so that each build asks the system for its own.
            drop(filters[index].take());
            let (filter, elapsed) = quiet.time(|| black_box((contenders[index].build)(black_box(added))));
            times[index].push(elapsed.as_secs_f64() * 1e9 / float(added.len()));
            filters[index] = Some(filter);
        }
    }
    (filters.into_iter().flatten().collect(), times)
}

/// The times of the builds on all cores. Each filter is checked, and not kept.
fn build_parallel(
    contenders: &[Contender],
    added: &Keys,
    asked: &Asked,
    rounds: usize,
    quiet: &mut Quiet,
) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            let Some(build) = &contenders[index].build_parallel else { continue };
            let (filter, elapsed) = quiet.time(|| black_box(build(black_box(added))));
            times[index].push(elapsed.as_secs_f64() * 1e9 / float(added.len()));
            let found = filter.count_keys(&asked.hits.keys);
            assert_eq!(
                found,
                Some(asked.hits.len()),
                "{}, built in parallel, forgets keys",
                contenders[index].name
            );
        }
    }
    times
}

/// Fails loudly where a filter forgets a key or has not the rate that it promises; gives the rate measured.
pub(crate) fn check(name: &str, filter: &dyn Filter, asked: &Asked, expected: f64) -> f64 {
    for measure in [Measure::HashHit, Measure::HashBatchHit, Measure::KeyHit, Measure::KeyBatchHit] {
        if let Some(found) = measure.ask(filter, asked) {
            assert_eq!(found, asked.hits.len(), "{name}: {} forgets keys", measure.name());
        }
    }
    let absent = &asked.absent;
    let by_hash = filter.count_hashes(&absent.hashes);
    let by_key = filter.count_keys(&absent.keys);
    let by_batch = [filter.count_hashes_batched(&absent.hashes), filter.count_keys_batched(&absent.keys)];
    let positive = by_hash.or(by_key).expect("a filter answers");
    for again in by_batch.into_iter().flatten() {
        assert_eq!(again, positive, "{name}: a batch answers otherwise than single lookups");
    }
    let fpp = float(positive) / float(absent.len());
    // A tenth for theories that are approximate, and five standard deviations of the count.
    let counted = (expected * float(absent.len())).max(1.0);
    let band = expected * (0.1 + 5.0 / counted.sqrt());
    assert!((fpp - expected).abs() <= band, "{name}: rate {fpp}, promised {expected}");
    fpp
}

#[expect(clippy::cast_precision_loss, reason = "counts under 2^53")]
pub(crate) const fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{limit, ours, peers};

    #[test]
    fn the_median_and_the_ends() {
        let times = Times::of(vec![5.0, 1.0, 3.0]);
        assert_eq!((times.min(), times.median(), times.max()), (1.0, 3.0, 5.0));
        assert_eq!(Times::of(vec![4.0, 1.0, 2.0, 9.0]).median(), 3.0);
    }

    fn asked(keys: u64) -> Asked {
        Asked {
            misses: Keys::numbered(keys..keys + 5000),
            hits: Keys::sample(keys, 5000),
            absent: Keys::numbered(keys..keys + 100_000),
        }
    }

    #[test]
    fn every_contender_passes_the_check_and_is_timed_where_it_has_the_call() {
        let added = Keys::numbered(0..20_000);
        let contenders = [
            ours::blocked(20_000, 10.0),
            ours::blocked_run(20_000, 10.0),
            ours::classic(20_000, 10.0),
            ours::compact("bloomline compact", 7),
            peers::fastbloom(20_000, 10.0),
            peers::fastbloom_of_keys(20_000, 10.0),
            peers::split_block(20_000, 10),
            peers::binary_fuse8(),
            peers::binary_fuse16(),
            peers::bloomfilter(20_000, 10.0),
            limit::memory(25_024),
        ];
        let mut quiet = Quiet::new(std::time::Duration::ZERO);
        let rows = measure(&contenders, &added, &asked(20_000), Rounds { builds: 2, lookups: 3 }, &mut quiet);
        let has = |name: &str, measure| {
            rows.iter().find(|row| row.name == name).unwrap().times(measure).map(Times::rounds)
        };
        assert_eq!(has("bloomline blocked", Measure::KeyBatchHit), Some(3));
        assert_eq!(has("bloomline blocked, in run", Measure::HashMiss), Some(3));
        assert_eq!(has("bloomline blocked, in run", Measure::Build), None);
        assert_eq!(has("bloomline compact", Measure::BuildParallel), Some(2));
        assert_eq!(has("fastbloom", Measure::HashBatchHit), None);
        assert_eq!(has("fastbloom", Measure::BuildParallel), None);
        assert_eq!(has("bloomfilter", Measure::Build), Some(2));
        assert_eq!(has("bloomfilter", Measure::HashMiss), None);
        assert_eq!(has("limit: one line read", Measure::Build), None);
        assert_eq!(has("limit: one line read", Measure::HashBatchMiss), Some(3));
    }

    /// A filter that forgets one key must not be timed.
    struct Forgetful;

    impl Filter for Forgetful {
        fn bytes(&self) -> usize {
            1
        }

        fn count_hashes(&self, hashes: &[bloomline::KeyHash]) -> Option<usize> {
            Some(hashes.len() - 1)
        }

        fn count_keys(&self, _: &[crate::keys::Key]) -> Option<usize> {
            None
        }
    }

    #[test]
    #[should_panic(expected = "forgets keys")]
    fn a_false_negative_is_not_passed_over() {
        check("forgetful", &Forgetful, &asked(100), 1.0);
    }

    #[test]
    #[should_panic(expected = "promised")]
    fn a_wrong_rate_is_not_passed_over() {
        let added = Keys::numbered(0..20_000);
        let filter = (peers::split_block(20_000, 10).build)(&added);
        check("split block", &*filter, &asked(20_000), 0.008);
    }
}
