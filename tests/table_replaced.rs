//! A file that is replaced while it is read: who has it open goes on reading the old one, who opens it gets the
//! old or the new one, whole.

mod table_common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use table_common::{names_in, open, scratch, small_blocks, write_entries};

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

/// Openings and renames as fast as they come, thousands of each: an opening that took the length of one file and
/// the bytes of the other would show.
#[cfg(unix)]
#[test]
fn every_opening_sees_one_of_two_files() {
    let (folder, path) = scratch("replaced.table");
    // Of different lengths, so that the length of one would not do for the other.
    let names = ["short.table", "long.table"].map(|name| folder.path().join(name));
    let tables = [&generation(1)[..50], &generation(2)[..]];
    for (name, entries) in names.iter().zip(tables) {
        write_entries(name, small_blocks(), entries);
    }
    std::fs::hard_link(&names[0], &path).unwrap();
    let done = AtomicBool::new(false);
    let seen = [AtomicU32::new(0), AtomicU32::new(0)];
    let renames = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let table = open(&path).unwrap();
                let entries: Vec<_> = table.iter().unwrap().map(Result::unwrap).collect();
                let is_of = |table: &&[(Vec<u8>, Vec<u8>)]| {
                    table.iter().map(|(key, value)| (key.clone(), &value[..])).eq(entries.iter().cloned())
                };
                let which = tables.iter().position(is_of).expect("one of the two");
                seen[which].fetch_add(1, Ordering::Relaxed);
            }
        });
        let next = folder.path().join("next");
        let enough = || seen.iter().all(|seen| seen.load(Ordering::Relaxed) >= 50);
        let renames = (1_usize..)
            .inspect(|i| {
                std::fs::hard_link(&names[i % 2], &next).unwrap();
                std::fs::rename(&next, &path).unwrap();
            })
            .find(|&i| i >= 5000 && enough());
        done.store(true, Ordering::Relaxed);
        renames
    });
    println!("openings of either file: {seen:?}; renames: {renames:?}");
}

/// Writers of one path know nothing of each other: each file is whole, and the last to be renamed stays.
#[test]
fn two_writers_at_once() {
    let (folder, path) = scratch("contended.table");
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let path = &path;
            scope.spawn(move || {
                for round in 0..30 {
                    write_entries(path, small_blocks(), &generation(2 * round + writer));
                    let table = open(path).unwrap();
                    let mut values = table.iter().unwrap().map(|entry| entry.unwrap().1);
                    let first = values.next().unwrap();
                    assert_eq!(values.filter(|&value| value == first).count(), 199);
                }
            });
        }
    });
    assert_eq!(names_in(folder.path()), ["contended.table"]);
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
