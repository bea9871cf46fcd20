//! Concurrent filters under more threads than there are cores. The exhaustive side of this is `tests/loom.rs`;
//! here are real machines, sizes and growth.
//!
//! `make stress` runs the stress of 60 million adds.

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bloomline::filter::{AtomicFilter, Bloom, Schema, open_any};
use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    AtomicBlockedFilter, ConcurrentScalableFilter, FilterReader, Hasher, Hashers, KeyHash, ScalableFilter,
    Synchronized,
};
use proptest::prelude::*;

const THREADS: u64 = 8;

fn hash(i: u64) -> KeyHash {
    Hasher::default().hash(&i.to_le_bytes())
}

fn same_as_owned<P: Schema>(params: P, keys: &[u64], asked: &[u64]) {
    let hashes: Vec<KeyHash> = keys.iter().map(|&i| hash(i)).collect();
    let asked: Vec<KeyHash> = asked.iter().map(|&i| hash(i)).collect();
    let mut owned = Bloom::new(params).unwrap();
    for backend in Backend::all() {
        owned = Bloom::new(params).unwrap();
        let single = AtomicFilter::new(params).unwrap().with_backend(backend);
        let batched = AtomicFilter::new(params).unwrap().with_backend(backend);
        for &hash in &hashes {
            assert_eq!(owned.add_hash(hash), single.add_hash(hash));
        }
        assert_eq!(batched.add_hashes(&hashes), owned.count());
        let mut answers = vec![false; asked.len()];
        single.might_contain_hashes(&asked, &mut answers);
        for (&hash, answer) in asked.iter().zip(answers) {
            assert_eq!(owned.might_contain_hash(hash), answer);
            assert_eq!(owned.might_contain_hash(hash), batched.might_contain_hash(hash));
        }
        assert_eq!((single.count(), single.fill()), (owned.count(), owned.fill()));
        assert_eq!(single.expected_fpp_from_fill(), owned.expected_fpp_from_fill());
        assert_eq!(single.encode(), owned.encode());
        assert_eq!(batched.into_filter().encode(), owned.encode());
    }
    let thawed = AtomicFilter::from(owned);
    assert!(hashes.iter().all(|&hash| thawed.might_contain_hash(hash) && !thawed.add_hash(hash)));
}

proptest! {
    /// One thread on an atomic filter does, bit for bit and answer for answer, what it does on an owned one.
    #[test]
    fn an_atomic_filter_is_the_owned_one(
        keys in prop::collection::vec(0..2000_u64, 0..300),
        asked in prop::collection::vec(0..4000_u64, 0..300),
        bits in 1..5000_u64,
        probes in 1..30_u32,
    ) {
        same_as_owned(ClassicParams::explicit(bits, probes).unwrap(), &keys, &asked);
        same_as_owned(BlockedParams::explicit(bits.div_ceil(512) * 512, probes).unwrap(), &keys, &asked);
    }
}

/// Every thread adds keys of its own and keys that all add, and looks each up at once; in the end all are there.
/// Meanwhile another thread writes blocks, each of which must be sound and hold all keys that were done before.
fn stress<P: Schema>(params: P, adds: u64) {
    let filter = AtomicFilter::new(params).unwrap();
    let each = adds / THREADS;
    let common = 1000;
    let done: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let adders: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (filter, done) = (&filter, &done[thread as usize]);
                scope.spawn(move || {
                    for i in 0..each {
                        let own = hash(common + i * THREADS + thread);
                        filter.add_hash(own);
                        filter.add_hash(hash(i % common));
                        assert!(
                            filter.might_contain_hash(own) && filter.might_contain_hash(hash(i % common))
                        );
                        done.store(i + 1, Ordering::Release);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let before: Vec<u64> = done.iter().map(|done| done.load(Ordering::Acquire)).collect();
                let block = FilterReader::open(filter.encode(), &Hashers::new()).unwrap();
                for (thread, &done) in (0..THREADS).zip(&before) {
                    let hash = |i| hash(common + i * THREADS + thread);
                    assert!((done.saturating_sub(1000)..done).all(|i| block.might_contain_hash(hash(i))));
                }
                std::thread::yield_now();
            }
        });
        let results: Vec<_> = adders.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|result| result.expect("an adder"));
    });
    let keys = common.min(each) + each * THREADS;
    let filter = filter.into_filter();
    assert!(
        (0..common.min(each))
            .chain(common..common + each * THREADS)
            .all(|i| filter.might_contain_hash(hash(i)))
    );
    // The very bits that one thread would have set.
    let mut alone = Bloom::new(params).unwrap();
    (0..common.min(each)).chain(common..common + each * THREADS).for_each(|i| _ = alone.add_hash(hash(i)));
    assert_eq!(filter.encode()[48..], alone.encode()[48..]);
    let (count, exact) = (filter.count(), alone.count());
    println!("{keys} keys, counted {count} under races and {exact} without");
    assert!(count.abs_diff(exact) < exact / 100 + 4 * THREADS, "{count}, {exact}");
}

/// `BLOOMLINE_STRESS_KEYS` says how many keys each kind gets, every one with an add of a key that all threads add:
/// 40,000 unless set. `make stress` sets 15 million, for 60 million adds in all.
#[test]
fn no_add_is_lost() {
    let keys = std::env::var("BLOOMLINE_STRESS_KEYS").map_or(40_000, |keys| keys.parse().unwrap());
    stress(BlockedParams::for_fpp(keys, 0.01).unwrap(), keys);
    stress(ClassicParams::for_fpp(keys, 0.01).unwrap(), keys);
    // A few words that everyone fights for.
    stress(ClassicParams::explicit(200, 3).unwrap(), 800);
}

/// Adds from all threads while the filter grows ten times: nothing is lost, each growth makes one layer, and
/// lookups go on.
fn grow_under_load(batch: usize) {
    let params = ScalableParams::new(64, 0.01).unwrap();
    let filter = ConcurrentScalableFilter::blocked(params).unwrap();
    // Ten growths, to a layer that isn't filled: the ten before it take 64 · (2¹⁰ − 1) keys.
    let each = 90_000 / THREADS;
    let start = std::sync::Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (filter, start) = (&filter, &start);
            scope.spawn(move || {
                start.wait();
                let hashes: Vec<KeyHash> = (0..each).map(|i| hash(i * THREADS + thread)).collect();
                for (done, hashes) in hashes.chunks(batch).enumerate() {
                    if let [hash] = *hashes {
                        filter.add_hash(hash);
                    } else {
                        filter.add_hashes(hashes);
                    }
                    assert!(hashes.iter().all(|&hash| filter.might_contain_hash(hash)));
                    let older = hash(done as u64 * batch as u64 / 2 * THREADS + thread);
                    assert!(filter.might_contain_hash(older), "added before, in an older layer");
                }
            });
        }
    });
    let total = each * THREADS;
    assert!((0..total).all(|i| filter.might_contain_hash(hash(i))));
    let layers = filter.layer_count();
    let (fpp, count) = (filter.expected_fpp_from_fill(), filter.count());
    let block = filter.encode();
    let owned = filter.into_filter();
    println!("batches of {batch}: {layers} layers, {count} keys, rate {:.3}%", fpp * 100.0);
    // One layer for each growth: every layer but the last is full, and none is over by more than the threads.
    assert_eq!(layers, owned.layers().len());
    assert_eq!(layers, 11);
    for (i, layer) in (0..).zip(&owned.layers()[..layers - 1]) {
        let capacity = params.layer_capacity(i);
        let over = if batch == 1 { THREADS + capacity / 500 } else { THREADS + capacity / 3 };
        assert!((capacity..=capacity + over).contains(&layer.count()), "layer {i}: {}", layer.count());
    }
    assert!((count as f64 / total as f64 - 1.0).abs() < 0.015, "{count}");
    assert!(fpp < 0.01, "{fpp}");
    assert_eq!(owned.encode(), block);
}

#[test]
fn growing_under_load() {
    grow_under_load(1);
    grow_under_load(100);
}

#[test]
fn a_filter_behind_a_lock_counts_exactly() {
    let params = ScalableParams::new(100, 0.01).unwrap();
    let filter = Synchronized::new(ScalableFilter::classic(params).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let filter = &filter;
            scope.spawn(move || {
                // All threads add the same keys, in another order.
                for i in 0..500 {
                    filter.add(&((i + thread * 61) % 500).to_le_bytes());
                }
                let keys: Vec<[u8; 8]> = (500..1000_u64).map(u64::to_le_bytes).collect();
                filter.add_batch(&keys);
            });
        }
    });
    let keys: Vec<[u8; 8]> = (0..1000_u64).map(u64::to_le_bytes).collect();
    let mut answers = vec![false; keys.len()];
    filter.might_contain_batch(&keys, &mut answers);
    assert!(answers.iter().all(|&answer| answer));
    let summed = filter.with(|filter| filter.layers().iter().map(Bloom::count).sum::<u64>());
    assert_eq!(filter.count(), summed);
    assert!((985..=1000).contains(&summed), "{summed}");
    assert!(open_any(&filter.encode(), &Hashers::new()).unwrap().membership().might_contain(&keys[7]));
    assert_eq!(filter.into_inner().count(), summed);
}

/// Where a key's bits are all there, nothing is written and nothing counted.
#[test]
fn keys_that_are_there_are_not_counted_again() {
    let filter = AtomicBlockedFilter::new(BlockedParams::for_fpp(1000, 0.001).unwrap()).unwrap();
    let keys: Vec<[u8; 8]> = (0..1000_u64).map(u64::to_le_bytes).collect();
    let new = filter.add_batch(&keys);
    let block = filter.encode();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| assert_eq!(filter.add_batch(&keys), 0));
        }
    });
    assert_eq!(filter.count(), new);
    assert_eq!(filter.encode(), block);
}

/// A block whose count was 2⁶⁴ − 1, checksums repaired, became a filter whose next add made the count 0.
#[test]
fn a_count_that_lies_does_not_wrap() {
    let params = BlockedParams::explicit(512, 6).unwrap();
    let mut filter = Bloom::new(params).unwrap();
    filter.add(b"apple");
    let mut block = filter.encode();
    block[16..24].fill(0xFF);
    let crc = bloomline::format::crc32(&block[..44]);
    block[44..48].copy_from_slice(&crc.to_le_bytes());
    let lying = Bloom::<BlockedParams>::decode(&block, &Hashers::new()).unwrap();
    let shared = AtomicFilter::from(lying);
    assert!(shared.add(b"pear"));
    assert!(shared.count() > 1 << 62 && shared.expected_fpp() > 0.99, "{}", shared.count());
}
