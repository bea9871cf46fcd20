//! Filters of shards, built side by side with no lock between them, saved, and united in the memory of one.
//!
//! ```text
//! cargo run --release --example shards_merged
//! ```
//!
//! All shards have the size of the whole: the union of filters needs equal parameters.

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::error::Error;
use std::fs::File;

use bloomline::mmap::FileMap;
use bloomline::sizing::BlockedParams;
use bloomline::{BlockedFilter, FilterReader, Hashers, Merger};

const SHARDS: u64 = 4;
const KEYS: u64 = 1_000_000;

fn key(i: u64) -> [u8; 8] {
    i.to_le_bytes()
}

fn main() -> Result<(), Box<dyn Error>> {
    let params = BlockedParams::for_fpp(KEYS, 0.01)?;
    let folder = tempfile::tempdir()?;
    let paths: Vec<_> = (0..SHARDS).map(|shard| folder.path().join(format!("shard-{shard}.blf"))).collect();

    std::thread::scope(|scope| {
        let build = |shard: usize| -> Result<(), String> {
            let mut filter = BlockedFilter::new(params).map_err(|error| error.to_string())?;
            for i in (shard as u64..KEYS).step_by(SHARDS as usize) {
                filter.add(&key(i));
            }
            let file = File::create_new(&paths[shard]).map_err(|error| error.to_string())?;
            filter.write_to(file).map_err(|error| error.to_string())
        };
        let threads: Vec<_> = (0..paths.len()).map(|shard| scope.spawn(move || build(shard))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;

    // The first is copied; the others are ORed in from where they are mapped.
    let mut merger = Merger::new();
    for path in &paths {
        let shard = FilterReader::open(FileMap::new(&File::open(path)?)?, &Hashers::new())?;
        println!("{}: {} keys", path.display(), shard.count());
        merger.add(&shard)?;
    }
    let merged = merger.finish().ok_or("no shards")?;
    let filter = merged.membership();
    println!(
        "merged: about {} keys, false-positive rate {:.3}%",
        filter.count(),
        filter.expected_fpp() * 100.0
    );
    match (0..KEYS).find(|&i| !filter.might_contain(&key(i))) {
        None => Ok(()),
        Some(lost) => Err(format!("key {lost} was lost").into()),
    }
}
