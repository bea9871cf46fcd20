//! Lookups and iterations: of tables that are whole, of damaged ones, and of any that open.

use std::ops::Bound;
use std::path::Path;

use bloomline::error::TableError;
use bloomline::hash::Hashers;
use bloomline::{KeyHash, TableReader};

use super::Entries;
use crate::memory::within;

/// Keys beside those of the table: right before and after them, shorter and longer.
fn neighbours(entries: &Entries) -> Vec<Vec<u8>> {
    let mut keys = vec![Vec::new(), vec![0], vec![0xFF; 9]];
    for key in entries.keys().take(64) {
        keys.push([key.as_slice(), &[0]].concat());
        keys.push([key.as_slice(), &[0xFF]].concat());
        if let Some((last, start)) = key.split_last() {
            keys.push(start.to_vec());
            keys.push([start, &[last.wrapping_sub(1)]].concat());
            keys.push([start, &[last.wrapping_add(1)]].concat());
        }
    }
    keys
}

/// Asks a table that verification accepted everything there is to ask. Returns its entries.
pub(super) fn consistent(reader: &TableReader, file: &[u8]) -> Entries {
    let bytes = 4 * file.len() + (64 << 10);
    let mut entries = Entries::new();
    let mut last: Option<Vec<u8>> = None;
    let mut iter = within(bytes, || reader.iter()).expect("a verified table");
    while let Some(entry) = within(bytes, || iter.next()) {
        let (key, value) = entry.expect("a verified table");
        assert!(last.is_none_or(|last| last < key), "keys do not ascend");
        entries.insert(key.clone(), value.to_vec());
        last = Some(key);
    }
    let properties = reader.properties();
    let sum = |part: fn((&Vec<u8>, &Vec<u8>)) -> usize| entries.iter().map(part).sum::<usize>() as u64;
    assert_eq!(properties.entries, entries.len() as u64);
    assert_eq!(properties.key_bytes, sum(|(key, _)| key.len()));
    assert_eq!(properties.value_bytes, sum(|(_, value)| value.len()));
    assert_eq!(properties.first_key.as_ref(), entries.keys().next());
    assert_eq!(properties.last_key.as_ref(), entries.keys().next_back());
    assert!(properties.key_bytes <= 16 * file.len() as u64, "a small file unfolds to a large one");

    let keys: Vec<Vec<u8>> = entries.keys().cloned().chain(neighbours(&entries)).collect();
    let expected: Vec<Option<&[u8]>> = keys.iter().map(|key| entries.get(key).map(Vec::as_slice)).collect();
    let got: Vec<_> = keys.iter().map(|key| reader.get(key).expect("a verified table")).collect();
    assert!(got == expected, "get");
    let got: Vec<_> =
        keys.iter().map(|key| reader.get_without_filter(key).expect("a verified table")).collect();
    assert!(got == expected, "get without the filter");
    assert!(reader.multi_get(&keys).expect("a verified table") == expected, "multi_get");
    let stats = reader.stats();
    assert_eq!(stats.lookups, 3 * keys.len() as u64);
    assert_eq!(stats.found, 3 * expected.iter().flatten().count() as u64);
    assert!(stats.block_reads <= stats.lookups && stats.filter_unusable == 0, "{stats:?}");

    for pair in keys.windows(2).step_by(keys.len() / 16 + 1) {
        ranges(reader, &entries, &pair[0], &pair[1]);
        ranges(reader, &entries, &pair[1], &pair[0]);
    }
    entries
}

/// Every kind of range from one key to another, which may come before it.
fn ranges(reader: &TableReader, entries: &Entries, from: &[u8], to: &[u8]) {
    let bounds = |key| [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded];
    for (start, end) in bounds(from).into_iter().flat_map(|start| bounds(to).map(|end| (start, end))) {
        let inside = |key: &&Vec<u8>| {
            let after = match start {
                Bound::Included(from) => key.as_slice() >= from,
                Bound::Excluded(from) => key.as_slice() > from,
                Bound::Unbounded => true,
            };
            after
                && match end {
                    Bound::Included(to) => key.as_slice() <= to,
                    Bound::Excluded(to) => key.as_slice() < to,
                    Bound::Unbounded => true,
                }
        };
        let range = reader.range::<&[u8], _>((start, end)).expect("a verified table");
        let got = range.map(|entry| entry.expect("a verified table").0);
        assert!(got.eq(entries.keys().filter(inside).cloned()), "{start:?} to {end:?}");
    }
}

/// Lookups in a table that is damaged and was opened unverified: an error or what was written, and from a filter
/// that is damaged perhaps a denial. Never another value.
pub(super) fn damaged(path: &Path, entries: &Entries, hashers: &Hashers) {
    let Ok(reader) = TableReader::open_unverified(path, hashers) else { return };
    if reader.is_filter_only() {
        return;
    }
    for (key, value) in entries {
        if let Ok(got) = reader.get_without_filter(key) {
            assert!(got == Some(value), "damage gave another value");
        }
        if let Ok(Some(got)) = reader.get(key) {
            assert!(got == value, "damage gave another value");
        }
    }
    for key in neighbours(entries) {
        if let Ok(got) = reader.get_without_filter(&key) {
            assert!(got == entries.get(&key).map(Vec::as_slice), "damage made a key up");
        }
    }
    let Ok(iter) = reader.iter() else { return };
    let read: Vec<_> = iter.take_while(Result::is_ok).flatten().collect();
    let written = entries.iter().map(|(key, value)| (key.clone(), value.as_slice()));
    assert!(written.take(read.len()).eq(read), "damage gave other entries");
}

/// Lookups in whatever opened: what they say is of no matter, and that they end is.
pub(super) fn unharmed(reader: &TableReader, hashes: &[KeyHash]) {
    let keys: Vec<Vec<u8>> = hashes.iter().take(16).map(|hash| hash.get().to_le_bytes().to_vec()).collect();
    let result = reader.multi_get(&keys);
    if reader.is_filter_only() {
        assert!(matches!(result, Err(TableError::FilterOnly { .. })));
    }
    for key in keys.iter().chain(&reader.properties().last_key).chain(&reader.properties().first_key) {
        let _ = reader.get(key);
        let _ = reader.get_without_filter(key);
        let _ = reader.range(key.clone()..).map(Iterator::count);
    }
    let _ = reader.iter().map(Iterator::count);
    if let Some(filter) = reader.filter() {
        hashes.iter().for_each(|&hash| _ = filter.might_contain_hash(hash));
    }
}
