//! What threads gain by sharing a filter without a lock: adds of new keys, of keys that are there, and lookups, by
//! one thread and by two, on blocked, classic and scalable filters.
//!
//! ```text
//! cargo bench --bench concurrent
//! ```
//!
//! Keys are hashed outside the timer and answers checked. Each figure is the best of some rounds, for other work
//! on the machine only ever takes away.

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    AtomicBlockedFilter, AtomicClassicFilter, BlockedFilter, ConcurrentScalableFilter, Hasher, KeyHash,
    Synchronized,
};

/// Keys of one round; the blocked filter for them has 10 MB, more than the second-level cache.
const KEYS: u64 = 8_000_000;
const ROUNDS: usize = 5;

/// Seconds of the slowest of `threads` threads that each do `work` on their share of the hashes at once.
fn seconds(threads: usize, hashes: &[KeyHash], work: impl Fn(&[KeyHash]) + Sync) -> f64 {
    let start = Barrier::new(threads);
    let share = hashes.len() / threads;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (start, work) = (&start, &work);
                let hashes = &hashes[thread * share..(thread + 1) * share];
                scope.spawn(move || {
                    start.wait();
                    let started = Instant::now();
                    work(hashes);
                    started.elapsed().as_secs_f64()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("a thread of the bench")).fold(0.0, f64::max)
    })
}

/// Prints the rates of one thread and of two, and what the second adds. `work` gets a fresh `setup()`.
fn compare<F: Sync>(
    what: &str,
    hashes: &[KeyHash],
    setup: impl Fn() -> F,
    work: impl Fn(&F, &[KeyHash]) + Sync,
) {
    let rate = |threads| {
        let best = (0..ROUNDS)
            .map(|_| {
                let filter = setup();
                seconds(threads, hashes, |hashes| work(&filter, hashes))
            })
            .fold(f64::INFINITY, f64::min);
        hashes.len() as f64 / best / 1e6
    };
    let (one, two) = (rate(1), rate(2));
    println!(
        "{what:44} {:6.1} ns alone {one:7.1} M/s, two threads {two:7.1} M/s: {:.2} times",
        1e3 / one,
        two / one
    );
}

fn main() {
    // `cargo test --benches` runs this too, and wants to know only that it runs.
    let keys = if std::env::args().any(|arg| arg == "--bench") { KEYS } else { 10_000 };
    let hasher = Hasher::default();
    let hashes: Vec<KeyHash> = (0..keys).map(|i| hasher.hash(&i.to_le_bytes())).collect();
    let hot: Vec<KeyHash> = (0..keys as usize).map(|i| hashes[i % 1000.min(hashes.len())]).collect();
    println!("{keys} hashes, best of {ROUNDS} rounds, {:?} kernels", Backend::detect());

    let params = BlockedParams::for_fpp(keys, 0.01).expect("a size");
    let blocked = || AtomicBlockedFilter::new(params).expect("memory");
    let full = || {
        let filter = blocked();
        filter.add_hashes(&hashes);
        filter
    };
    compare("blocked, add new keys", &hashes, blocked, |filter, hashes| {
        hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash)));
    });
    compare("blocked, add new keys in batches", &hashes, blocked, |filter, hashes| {
        assert!(filter.add_hashes(hashes) > 0);
    });
    compare("blocked, add the same 1000 present keys", &hot, full, |filter, hashes| {
        assert!(hashes.iter().all(|&hash| !filter.add_hash(hash)));
    });
    compare("blocked, look up", &hashes, full, |filter, hashes| {
        assert!(hashes.iter().all(|&hash| filter.might_contain_hash(hash)));
    });
    let locked = || Synchronized::new(BlockedFilter::new(params).expect("memory"));
    compare("blocked behind a lock, add new keys", &hashes, locked, |filter, hashes| {
        hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash)));
    });

    let params = ClassicParams::for_fpp(keys, 0.01).expect("a size");
    let classic = || AtomicClassicFilter::new(params).expect("memory");
    compare("classic, add new keys", &hashes, classic, |filter, hashes| {
        hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash)));
    });

    let params = ScalableParams::new(keys / 8, 0.01).expect("options");
    let scalable = || ConcurrentScalableFilter::blocked(params).expect("memory");
    compare("scalable, add new keys in batches", &hashes, scalable, |filter, hashes| {
        assert!(filter.add_hashes(hashes) > 0);
    });
}
