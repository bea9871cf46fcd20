//! Space, rate and speed of the compact filter, for each number of fingerprint bits.
//!
//! `cargo bench --bench compact -- [keys] [r…]`. The keys are made outside the timers; every filter is checked
//! to have no false negative before it is timed.

use bloomline::compact::{CompactLayout, build};
use bloomline::hash::KeyHash;
use bloomline::probe::Backend;
use bloomline::sizing::CompactParams;
use std::hint::black_box;
use std::time::Instant;

/// A permutation of 64-bit numbers (splitmix64): distinct counters give distinct random hashes.
fn hash(counter: u64) -> KeyHash {
    let z = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    KeyHash::new(z ^ (z >> 31))
}

fn hashes(from: u64, count: u64) -> Vec<KeyHash> {
    (from..from + count).map(hash).collect()
}

/// Nanoseconds that one run takes, per item.
fn time(items: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e9 / items as f64
}

/// The lower quartile: what most runs take that no other program interrupts.
fn quartile(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

/// Nanoseconds per key of `run`, over pieces of `keys` short enough to be seldom interrupted, all of them three
/// times, so that caches and branch predictors are warm but can't know the keys by heart.
fn per_key(keys: &[KeyHash], mut run: impl FnMut(&[KeyHash])) -> f64 {
    let pieces = std::iter::repeat_n(keys, 3).flat_map(|keys| keys.chunks(1 << 14));
    quartile(pieces.map(|piece| time(piece.len(), || run(black_box(piece)))).collect())
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let keys = numbers.next().unwrap_or(1_000_000);
    let asked: Vec<u8> = numbers.filter_map(|r| u8::try_from(r).ok()).collect();
    // In L2: 300 KB of bits.
    let present = hashes(0, keys);
    let absent = hashes(1 << 60, keys.clamp(1 << 20, 1 << 22));
    println!("{keys} keys; ns per key, lookups as (absent, present, batch of absent)");
    println!(
        " r  bits/key  ÷ r    bumped  model: bits  bumped   rate·2^r   in L2               all keys            build"
    );
    for r in (4..=16).filter(|r| asked.is_empty() || asked.contains(r)) {
        let params = CompactParams::new(r).unwrap_or_else(|error| panic!("{error}"));
        let body = build(present.clone(), params, 1).unwrap_or_else(|error| panic!("{error}"));
        let layout = CompactLayout::read(body.lines.lines(), r).unwrap_or_else(|error| panic!("{error}"));
        let view =
            layout.view(Backend::detect(), body.lines.lines()).expect("the lines that it was read from");
        assert!(present.iter().all(|&key| view.might_contain(key)), "a false negative");
        let wrong = absent.iter().filter(|&&key| view.might_contain(key)).count();
        let runs = (5_000_000 / present.len()).clamp(3, 100);
        let build_ns = (0..runs).map(|_| {
            let input = black_box(present.clone());
            time(present.len(), || {
                black_box(build(input, params, 1)).ok();
            })
        });
        let build_ns = quartile(build_ns.collect());
        let small = &present[..present.len().min(2_400_000 / usize::from(r))];
        let small_body = build(small.to_vec(), params, 1).unwrap_or_else(|error| panic!("{error}"));
        let small_layout =
            CompactLayout::read(small_body.lines.lines(), r).unwrap_or_else(|error| panic!("{error}"));
        let small_view = small_layout
            .view(Backend::detect(), small_body.lines.lines())
            .expect("the lines that it was read from");
        let bits = body.lines.len() as f64 * 512.0 / keys as f64;
        let model = params.model(keys);
        print!(
            "{r:2}  {bits:8.3}  {:.4}  {:5.2}%  {:11.3}  {:5.2}%  {:9.4} ",
            bits / f64::from(r),
            100.0 * body.bumped_share(),
            model.bits_per_key,
            100.0 * model.bumped_share,
            wrong as f64 / absent.len() as f64 / params.fpp(),
        );
        for (view, present) in [(small_view, small), (view, &present[..])] {
            let absent = &absent[..absent.len().min(1 << 20)];
            let present = &present[..present.len().min(1 << 20)];
            let mut answers = vec![false; absent.len()];
            let one_by_one = |keys: &[KeyHash]| {
                black_box(keys.iter().filter(|&&key| view.might_contain(key)).count());
            };
            let misses = per_key(absent, one_by_one);
            let hits = per_key(present, one_by_one);
            let batch = per_key(absent, |keys| view.might_contain_batch(keys, &mut answers[..keys.len()]));
            print!("{misses:5.1} {hits:5.1} {batch:5.1}   ");
        }
        println!("{build_ns:6.1}");
    }
}
