//! Criterion benches of table files and filter files, in the page cache: write, open, verify, look up.
//!
//! Files and keys are made outside the timer and answers are checked before it starts. The table has a million
//! keys of 16 bytes with values of 100.

use std::path::Path;
use std::time::Duration;

use bloomline::sizing::BlockedParams;
use bloomline::table::write_filter_file;
use bloomline::{BlockedFilter, Hashers, TableOptions, TableReader, TableWriter};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const KEYS: u64 = 1_000_000;

/// Keys asked for in one iteration.
const ASKED: u64 = 10_000;

/// Even numbers are in the table, odd ones are not.
fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key/\0\0\0\0\0\0\0\0\0\0\0\0";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// [`ASKED`] keys in no order, all of even or of odd numbers.
fn asked(odd: u64) -> Vec<[u8; 16]> {
    // A step that has no factor in common with the number of keys reaches each once.
    (1..=ASKED).map(|i| key(2 * (i * 618_033_987 % KEYS) + odd)).collect()
}

fn write(path: &Path, keys: u64) {
    let mut writer = TableWriter::create(path, TableOptions::default()).unwrap();
    for number in 0..keys {
        writer.add(&key(2 * number), &[b'v'; 100]).unwrap();
    }
    writer.finish().unwrap();
}

fn table(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.table");
    let mut group = c.benchmark_group("table");
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("write 100,000 entries, durably", |b| b.iter(|| write(&path, 100_000)));

    write(&path, KEYS);
    let hashers = Hashers::new();
    group.throughput(Throughput::Elements(1));
    group.bench_function("open unverified", |b| {
        b.iter(|| TableReader::open_unverified(&path, &hashers).unwrap());
    });
    let table = TableReader::open(&path, &hashers).unwrap();
    group.throughput(Throughput::Bytes(table.file_bytes()));
    group.bench_function("verify", |b| b.iter(|| table.verify().unwrap()));

    group.throughput(Throughput::Elements(ASKED));
    for (name, keys) in [("present", asked(0)), ("absent", asked(1))] {
        let found = keys.iter().filter(|key| table.get(*key).unwrap().is_some()).count();
        assert_eq!(found, if name == "present" { keys.len() } else { 0 });
        group.bench_function(format!("get, {name}"), |b| {
            b.iter(|| keys.iter().filter(|key| table.get(*key).unwrap().is_some()).count());
        });
        group.bench_function(format!("get without filter, {name}"), |b| {
            b.iter(|| keys.iter().filter(|key| table.get_without_filter(*key).unwrap().is_some()).count());
        });
        group.bench_function(format!("multi_get, {name}"), |b| b.iter(|| table.multi_get(&keys).unwrap()));
    }
    group.throughput(Throughput::Elements(KEYS));
    group.bench_function("iterate", |b| b.iter(|| table.iter().unwrap().count()));
    group.finish();
}

fn filter_file(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.filter");
    let mut filter = BlockedFilter::new(BlockedParams::explicit(8 * (256 << 20), 6).unwrap()).unwrap();
    filter.add(b"key");
    write_filter_file(&path, &filter).unwrap();
    drop(filter);
    let hashers = Hashers::new();
    let mut group = c.benchmark_group("filter file of 256 MiB");
    group.bench_function("open unverified", |b| {
        b.iter(|| TableReader::open_unverified(&path, &hashers).unwrap());
    });
    let reader = TableReader::open(&path, &hashers).unwrap();
    group.throughput(Throughput::Bytes(reader.file_bytes()));
    group.bench_function("open and verify", |b| b.iter(|| TableReader::open(&path, &hashers).unwrap()));
    group.bench_function("verify a mapping in place", |b| b.iter(|| reader.verify().unwrap()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = table, filter_file
}
criterion_main!(benches);
