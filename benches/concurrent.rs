//! What threads gain by sharing a filter without a lock: adds of new keys, of keys that are there, and lookups, by
//! one thread and by two, on blocked, classic and scalable filters.
//!
//! ```text
//! cargo bench --bench concurrent -- [keys] [part of a name]
//! ```
//!
//! One thread and two take turns, and what the second thread gains is the ratio inside a round, of which the median
//! is shown with the least and the greatest: other work on the machine makes single rounds useless. The first two lines
//! are the machine itself: how long a line takes from one core to the other and back, which is what two threads pay
//! that write the same lines (some 50 ns under one third-level cache, 500 between sockets); and an atomic OR into a
//! random line for each hash, with no filter around it. Keys are hashed outside the timer, filters of fixed size have
//! their memory before it starts, and answers are checked.

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    AtomicBlockedFilter, AtomicClassicFilter, BlockedFilter, ClassicFilter, ConcurrentScalableFilter, Hasher,
    KeyHash, Synchronized,
};

/// Keys of one round; the blocked filter for them has 10 MB, more than the second-level cache.
const KEYS: u64 = 8_000_000;
/// An odd number: the median is one of them.
const ROUNDS: usize = 11;

/// Seconds until the slowest of `threads` threads that each do `work` on their share of the hashes is done.
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

/// The least, the median and the greatest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

/// Prints the time of one thread and of two, and what the second gains. `work` gets a fresh `setup()`.
fn compare<F: Sync>(
    what: &str,
    hashes: &[KeyHash],
    mut setup: impl FnMut() -> F,
    work: impl Fn(&F, &[KeyHash]) + Sync,
) {
    // An argument that is neither a number nor an option is a part of the names of what to run.
    let plain = |argument: &String| !argument.starts_with('-') && argument.parse::<u64>().is_err();
    if !std::env::args().skip(1).filter(plain).all(|part| what.contains(&part)) {
        return;
    }
    let mut nanoseconds = |threads| {
        let filter = setup();
        seconds(threads, hashes, |hashes| work(&filter, hashes)) * 1e9 / hashes.len() as f64
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Whoever comes second may find the machine as the first left it: they take turns in that too.
        if round % 2 == 0 {
            one.push(nanoseconds(1));
            two.push(nanoseconds(2));
        } else {
            two.push(nanoseconds(2));
            one.push(nanoseconds(1));
        }
    }
    let [least, gain, most] = spread(one.iter().zip(&two).map(|(one, two)| one / two).collect());
    let ([_, one, _], [_, two, _]) = (spread(one), spread(two));
    println!(
        "{what:41} {one:5.1} ns a key alone, {two:5.1} by two threads: {gain:.2} times ({least:.2} to {most:.2})"
    );
}

/// Nanoseconds that a line takes to another thread and back.
fn round_trip() -> f64 {
    const TRIPS: u64 = 200_000;
    let line = AtomicU64::new(0);
    let wait = |number| {
        while line.load(Ordering::Acquire) != number {}
    };
    let one_round = || {
        line.store(0, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for trip in 0..TRIPS {
                    wait(2 * trip + 1);
                    line.store(2 * trip + 2, Ordering::Release);
                }
            });
            let started = Instant::now();
            for trip in 0..TRIPS {
                line.store(2 * trip + 1, Ordering::Release);
                wait(2 * trip + 2);
            }
            started.elapsed().as_secs_f64() * 1e9 / TRIPS as f64
        })
    };
    spread((0..ROUNDS).map(|_| one_round()).collect())[1]
}

fn main() {
    // `cargo test --benches` runs this too, and wants to know only that it runs.
    let bench = std::env::args().any(|arg| arg == "--bench");
    let asked = std::env::args().find_map(|argument| argument.parse().ok());
    let keys = if bench { asked.unwrap_or(KEYS) } else { 10_000 };
    let hasher = Hasher::default();
    let hashes: Vec<KeyHash> = (0..keys).map(|i| hasher.hash(&i.to_le_bytes())).collect();
    let hot: Vec<KeyHash> = (0..keys as usize).map(|i| hashes[i % 1000.min(hashes.len())]).collect();
    println!("{keys} hashes, medians of {ROUNDS} rounds, {:?} kernels", Backend::detect());

    if bench {
        println!("the machine: a line to the other core and back  {:.0} ns", round_trip());
    }
    let params = BlockedParams::for_fpp(keys, 0.01).expect("a size");
    let words: Vec<AtomicU64> = (0..params.bits() / 64).map(AtomicU64::new).collect();
    compare(
        "the machine: one atomic OR for each hash",
        &hashes,
        || (),
        |(), hashes| {
            for hash in hashes {
                let word = ((hash.get() & 0xFFFF_FFFF) * words.len() as u64) >> 32;
                words[word as usize].fetch_or(1 << (hash.get() >> 58), Ordering::Relaxed);
            }
        },
    );

    let full = || {
        let mut filter = BlockedFilter::new(params).expect("memory");
        filter.add_hashes(&hashes);
        filter
    };
    let blocked = || {
        let mut filter = full();
        filter.clear();
        filter
    };
    let add_each = |filter: &AtomicBlockedFilter, hashes: &[KeyHash]| {
        hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash)));
    };
    compare("blocked, add new keys", &hashes, || AtomicBlockedFilter::from(blocked()), add_each);
    compare(
        "blocked, add new keys in batches",
        &hashes,
        || AtomicBlockedFilter::from(blocked()),
        |filter, hashes| assert!(filter.add_hashes(hashes) > 0),
    );
    compare(
        "blocked, add the same 1000 present keys",
        &hot,
        || AtomicBlockedFilter::from(full()),
        |filter, hashes| assert!(hashes.iter().all(|&hash| !filter.add_hash(hash))),
    );
    compare(
        "blocked, look up",
        &hashes,
        || AtomicBlockedFilter::from(full()),
        |filter, hashes| assert!(hashes.iter().all(|&hash| filter.might_contain_hash(hash))),
    );
    compare(
        "blocked behind a lock, add new keys",
        &hashes,
        || Synchronized::new(blocked()),
        |filter, hashes| hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash))),
    );

    let params = ClassicParams::for_fpp(keys, 0.01).expect("a size");
    let classic = || {
        let mut filter = ClassicFilter::new(params).expect("memory");
        filter.add_hashes(&hashes);
        filter.clear();
        AtomicClassicFilter::from(filter)
    };
    compare("classic, add new keys", &hashes, classic, |filter, hashes| {
        hashes.iter().for_each(|&hash| _ = black_box(filter.add_hash(hash)));
    });

    let params = ScalableParams::new(keys / 8, 0.01).expect("options");
    let scalable = || ConcurrentScalableFilter::blocked(params).expect("memory");
    compare("scalable, add new keys in batches", &hashes, scalable, |filter, hashes| {
        assert!(filter.add_hashes(hashes) > 0);
    });
}
