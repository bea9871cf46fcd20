//! A file that is replaced while it is read: who has it open goes on reading the old one, who opens it gets the
//! old or the new one, whole.

mod table_common;

use std::sync::atomic::{AtomicBool, Ordering};

use table_common::{open, scratch, small_blocks, write_entries};

/// Entries that all carry the number of their generation.
fn generation(number: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = number.to_string().into_bytes();
    (0..200).map(|i| (format!("key {i:03}").into_bytes(), value.clone())).collect()
}

#[cfg(unix)]
#[test]
fn readers_see_one_generation() {
    let (_folder, path) = scratch("replaced.table");
    write_entries(&path, small_blocks(), &generation(0));
    let first = open(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut last, mut opened) = (0, 0);
                while !done.load(Ordering::Relaxed) || opened == 0 {
                    let table = open(&path).unwrap();
                    let entries: Vec<_> = table.iter().unwrap().map(Result::unwrap).collect();
                    assert_eq!(entries.len(), 200);
                    assert!(entries.iter().all(|(_, value)| value == &entries[0].1));
                    let number: u32 = std::str::from_utf8(entries[0].1).unwrap().parse().unwrap();
                    assert!(number >= last, "generation {number} after {last}");
                    (last, opened) = (number, opened + 1);
                }
            });
        }
        scope.spawn(|| {
            for number in 1..40 {
                write_entries(&path, small_blocks(), &generation(number));
                assert_eq!(first.get(b"key 100").unwrap(), Some(&b"0"[..]));
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    first.verify().unwrap();
    assert_eq!(open(&path).unwrap().get(b"key 100").unwrap(), Some(&b"39"[..]));
}

#[test]
fn many_threads_share_one_reader() {
    let (_folder, path) = scratch("shared.table");
    let entries = generation(7);
    write_entries(&path, small_blocks(), &entries);
    let table = bloomline::TableReader::open_unverified(&path, &bloomline::hash::Hashers::new()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (key, value) in &entries {
                    assert_eq!(table.get(key).unwrap(), Some(value.as_slice()));
                }
                table.verify().unwrap();
            });
        }
    });
    assert_eq!(table.stats().found, 4 * entries.len() as u64);
}
