//! Criterion benches of the parts that a lookup and a build are made of.
//!
//! Keys and hashes are made outside the timer and answers are checked before it starts. Times are of one
//! element: a key of 16 bytes, a ready hash, or a byte of a block. "in cache" is a filter of 100,000 keys (125 KB,
//! in L2), "out of cache" one of 50 million (62 MB).

use std::hint::black_box;
use std::time::Duration;

use bloomline::hash::SecretKey;
use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{
    BlockedFilter, ClassicFilter, FilterBuilder, FilterOptions, FilterReader, Hasher, Hashers, KeyHash,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const SIZES: [(&str, u64); 2] = [("in cache", 100_000), ("out of cache", 50_000_000)];

/// Hashes asked for in one iteration.
const ASKED: usize = 1 << 16;

/// `SplitMix64` (Steele, Lea, Flood 2014): `count` hashes that depend on the seed only.
fn hashes(seed: u64, count: u64) -> Vec<KeyHash> {
    (1..=count)
        .map(|i| {
            let mut z = (seed << 40).wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            KeyHash::new(z ^ (z >> 31))
        })
        .collect()
}

/// `count` of the `added` hashes, spread over them.
fn sample(added: &[KeyHash], count: usize) -> Vec<KeyHash> {
    let step = (added.len() / count).max(1);
    added.iter().copied().step_by(step).cycle().take(count).collect()
}

fn elements(count: usize) -> Throughput {
    Throughput::Elements(count as u64)
}

fn hash(c: &mut Criterion) {
    let key = |hash: &KeyHash| [hash.get().to_le_bytes(), [0; 8]].concat();
    let keys: Vec<Vec<u8>> = hashes(1, 4096).iter().map(key).collect();
    let mut group = c.benchmark_group("hash, 16-byte keys");
    group.throughput(elements(keys.len()));
    for hasher in [
        Hasher::xxh3_64(0),
        Hasher::murmur3_x64_128(0),
        Hasher::fnv1a_64(),
        Hasher::siphash_2_4(SecretKey::from_bytes([7; 16])),
    ] {
        group.bench_function(BenchmarkId::from_parameter(hasher.id()), |b| {
            b.iter(|| keys.iter().fold(0, |sum, key| sum ^ hasher.hash(black_box(key)).get()));
        });
    }
    group.finish();
}

fn lookup(c: &mut Criterion) {
    for (place, keys) in SIZES {
        let added = hashes(1, keys);
        let mut filter = BlockedFilter::new(BlockedParams::for_bits_per_key(keys, 10.0).unwrap()).unwrap();
        filter.add_hashes(&added);
        let misses = hashes(2, ASKED as u64);
        let hits = sample(&added, ASKED);
        assert!(hits.iter().all(|&hash| filter.might_contain_hash(hash)));
        let found = misses.iter().filter(|&&hash| filter.might_contain_hash(hash)).count();
        assert!((0.008..0.012).contains(&(found as f64 / ASKED as f64)), "{found}");

        let mut group = c.benchmark_group(format!("blocked lookup, {place}"));
        group.throughput(elements(ASKED));
        for backend in Backend::all() {
            filter = filter.with_backend(backend);
            for (what, asked) in [("miss", &misses), ("hit", &hits)] {
                group.bench_function(format!("{what}, {}", backend.name()), |b| {
                    b.iter(|| asked.iter().filter(|&&hash| filter.might_contain_hash(hash)).count());
                });
                let mut answers = vec![false; ASKED];
                group.bench_function(format!("{what}, batch, {}", backend.name()), |b| {
                    b.iter(|| filter.might_contain_hashes(black_box(asked), &mut answers));
                });
            }
        }
        group.finish();
    }
}

fn classic_lookup(c: &mut Criterion) {
    for (place, keys) in SIZES {
        let added = hashes(1, keys);
        let mut filter = ClassicFilter::new(ClassicParams::for_bits_per_key(keys, 10.0).unwrap()).unwrap();
        filter.add_hashes(&added);
        let misses = hashes(2, ASKED as u64);
        assert!(sample(&added, ASKED).iter().all(|&hash| filter.might_contain_hash(hash)));
        let mut group = c.benchmark_group(format!("classic lookup, {place}"));
        group.throughput(elements(ASKED));
        group.bench_function("miss", |b| {
            b.iter(|| misses.iter().filter(|&&hash| filter.might_contain_hash(hash)).count());
        });
        let mut answers = vec![false; ASKED];
        group.bench_function("miss, batch", |b| {
            b.iter(|| filter.might_contain_hashes(black_box(&misses), &mut answers));
        });
        group.finish();
    }
}

fn add(c: &mut Criterion) {
    for (place, keys) in SIZES {
        let mut filter = BlockedFilter::new(BlockedParams::for_bits_per_key(keys, 10.0).unwrap()).unwrap();
        let added = hashes(1, keys.min(ASKED as u64));
        let mut group = c.benchmark_group(format!("blocked add, {place}"));
        group.throughput(elements(added.len()));
        group.bench_function("one by one", |b| {
            b.iter(|| added.iter().filter(|&&hash| filter.add_hash(black_box(hash))).count());
        });
        group.bench_function("batch", |b| b.iter(|| filter.add_hashes(black_box(&added))));
        group.finish();
        assert!(added.iter().all(|&hash| filter.might_contain_hash(hash)));
    }
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build a block");
    for keys in [4_000, 1_000_000] {
        let added = hashes(1, keys);
        group.throughput(Throughput::Elements(keys));
        group.bench_function(BenchmarkId::from_parameter(keys), |b| {
            b.iter(|| {
                let mut builder = FilterBuilder::new(FilterOptions::default());
                for &hash in &added {
                    builder.add_hash(hash);
                }
                builder.finish().unwrap()
            });
        });
    }
    group.finish();
}

fn open(c: &mut Criterion) {
    let keys = 10_000_000;
    let mut filter = BlockedFilter::new(BlockedParams::for_fpp(keys, 0.01).unwrap()).unwrap();
    filter.add_hashes(&hashes(1, keys));
    let block = filter.encode();
    let hashers = Hashers::new();
    let mut group = c.benchmark_group("open a 12 MB block");
    group.bench_function("header only", |b| {
        b.iter(|| FilterReader::open_unverified(&block, &hashers).unwrap());
    });
    group.throughput(Throughput::Bytes(block.len() as u64));
    group.bench_function("verify", |b| b.iter(|| FilterReader::open(&block, &hashers).unwrap()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = hash, lookup, classic_lookup, add, build, open
}
criterion_main!(benches);
