//! How much memory a compact filter takes while RocksDB collects its keys and the plugin builds it.
//!
//! By itself, because it looks at the whole process: C++ holds the hashes and Rust what is made of them.
#![cfg(target_os = "linux")]

use std::fs;

use bloomline_rocksdb::FilterPolicy;
use bloomline_rocksdb::testing::{Keys, Policy};

/// Enough for each array to be a mapping of its own, which is given back when it is freed.
const KEYS: u64 = 5_000_000;
const CHUNK: u64 = 50_000;

/// A size in the process's status, in bytes.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    value.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Building once took 26 bytes per key: the hashes that RocksDB's side had collected, a copy of them to own, and as
/// much again to sort it, then the lines. The sorted copy is made of the hashes where they are now.
#[test]
fn building_takes_at_most_24_bytes_per_key() {
    for (fpp, detect_corruption) in [(0.01, false), (0.01, true), (0.5_f64.powi(16), false)] {
        let policy = Policy::of(&FilterPolicy::compact(fpp).unwrap()).unwrap();
        let mut builder = policy.builder(6, detect_corruption).unwrap();
        // Everything that only a first use brings in.
        builder.add(&Keys::new((0..CHUNK).map(u64::to_be_bytes)));
        assert!(builder.finish().is_some_and(|block| !block.is_empty()));
        drop(builder);

        let mut builder = policy.builder(6, detect_corruption).unwrap();
        fs::write("/proc/self/clear_refs", "5").unwrap(); // forget the peak
        let before = status("VmRSS");
        for chunk in 0..KEYS / CHUNK {
            builder.add(&Keys::new((chunk * CHUNK..(chunk + 1) * CHUNK).map(u64::to_be_bytes)));
        }
        let block = builder.finish().map(<[u8]>::len).unwrap();
        assert!(block as u64 > KEYS / 2, "{block} bytes are no filter of all keys");
        let hundredths = (status("VmHWM") - before) * 100 / KEYS;
        println!(
            "rate {fpp}, detect corruption {detect_corruption}: {hundredths} hundredths of a byte per key"
        );
        assert!(hundredths > 1600, "{hundredths}: the peak was not seen");
        assert!(hundredths <= 2400, "{hundredths} hundredths of a byte per key");
    }
}
