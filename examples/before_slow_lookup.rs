//! A filter in front of a slow lookup, with the numbers of what it saved.
//!
//! ```text
//! cargo run --release --example before_slow_lookup
//! ```
//!
//! The slow lookup is a sorted file on disk, searched by halves, a read for each step. Nine of ten questions are for
//! keys that aren't there, as before a cache, a join or a level of an LSM tree.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use bloomline::BlockedFilter;
use bloomline::sizing::BlockedParams;

const KEYS: u64 = 200_000;
const QUESTIONS: u64 = 50_000;

/// A key for each number, spread over all values.
fn key(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Sorted keys in a file.
struct Store {
    file: File,
    reads: u64,
}

impl Store {
    fn write(mut keys: Vec<u64>) -> io::Result<Self> {
        keys.sort_unstable();
        let mut file = tempfile::tempfile()?;
        file.write_all(&keys.iter().flat_map(|key| key.to_be_bytes()).collect::<Vec<u8>>())?;
        Ok(Self { file, reads: 0 })
    }

    /// Whether the key is there: the slow way.
    fn contains(&mut self, key: u64) -> io::Result<bool> {
        let (mut low, mut high) = (0, KEYS);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut bytes = [0; 8];
            self.file.seek(SeekFrom::Start(middle * 8))?;
            self.file.read_exact(&mut bytes)?;
            self.reads += 1;
            match u64::from_be_bytes(bytes).cmp(&key) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }
}

/// Asks all questions, past the filter where there is one. Returns how many were found, the lookups that found
/// nothing, and the time.
fn ask(store: &mut Store, filter: Option<&BlockedFilter>) -> io::Result<(u64, u64, Duration)> {
    let start = Instant::now();
    let (mut found, mut wasted) = (0, 0);
    for question in 0..QUESTIONS {
        // One in ten is there.
        let key = key(if question % 10 == 0 { question } else { KEYS + question });
        if filter.is_some_and(|filter| !filter.might_contain(&key.to_be_bytes())) {
            continue;
        }
        if store.contains(key)? { found += 1 } else { wasted += 1 }
    }
    Ok((found, wasted, start.elapsed()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut store = Store::write((0..KEYS).map(key).collect())?;
    let mut filter = BlockedFilter::new(BlockedParams::for_fpp(KEYS, 0.01)?)?;
    for i in 0..KEYS {
        filter.add(&key(i).to_be_bytes());
    }
    println!("{KEYS} keys on disk, {QUESTIONS} questions, a filter of {} KiB", filter.bytes() / 1024);

    let (found, wasted, slow) = ask(&mut store, None)?;
    let without = std::mem::take(&mut store.reads);
    println!("without the filter: {found} found, {wasted} lookups for nothing, {without} reads, {slow:.2?}");

    let (found_too, wasted, fast) = ask(&mut store, Some(&filter))?;
    let with = store.reads;
    println!("with the filter:    {found_too} found, {wasted} lookups for nothing, {with} reads, {fast:.2?}");
    println!(
        "saved {:.1}% of the reads and {:.1}% of the time; {:.2}% of the absent keys got past",
        100.0 * (1.0 - with as f64 / without as f64),
        100.0 * (1.0 - fast.as_secs_f64() / slow.as_secs_f64()),
        100.0 * wasted as f64 / (QUESTIONS - found) as f64,
    );
    if found_too == found { Ok(()) } else { Err("the filter hid a key".into()) }
}
