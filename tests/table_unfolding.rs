//! A hostile file of 10 MiB stored one key of 1 MiB and then a million entries of 9 bytes that shared it: a reader
//! that put the keys together copied a tebibyte. Readers hold files to the limits of the writer, so that all keys
//! together have at most 16 times the bytes of the file. All checksums of these files hold.

mod table_common;

use std::path::Path;

use bloomline::error::{Section, TableError, TableFault};
use bloomline::hash::Hashers;
use bloomline::table::MAX_KEY_BYTES;
use bloomline::{TableOptions, TableReader, TableWriter};
use table_common::by_hand::Bytes;
use table_common::scratch;

fn varint(bytes: &mut Bytes, mut value: usize) {
    while value > 0x7F {
        bytes.raw(&[u8::try_from(value & 0x7F).unwrap() | 0x80]);
        value >>= 7;
    }
    bytes.raw(&[u8::try_from(value).unwrap()]);
}

/// A table of one block. An entry is what it shares, its own bytes of the key, and its value; `restarts` are
/// numbers of entries.
fn table(entries: &[(usize, Vec<u8>, Vec<u8>)], restarts: &[usize]) -> Vec<u8> {
    let mut file = Bytes::default();
    file.header();
    let start = file.len();
    let (mut offsets, mut key, mut first_key, mut key_bytes, mut value_bytes) = (vec![], vec![], None, 0, 0);
    for (shared, suffix, value) in entries {
        offsets.push(u32::try_from(file.len() - start).unwrap());
        for length in [*shared, suffix.len(), value.len()] {
            varint(&mut file, length);
        }
        file.raw(suffix).raw(value);
        key.truncate(*shared);
        key.extend_from_slice(suffix);
        first_key.get_or_insert_with(|| key.clone());
        key_bytes += key.len() as u64;
        value_bytes += value.len() as u64;
    }
    for &restart in restarts {
        file.u32(offsets[restart]);
    }
    file.u32(u32::try_from(restarts.len()).unwrap()).seal(1, start);
    let data_end = file.len();
    file.u64(1).u64(key.len() as u64).u64(data_end as u64).raw(&key).seal(2, data_end);
    let properties = file.len();
    for (tag, number) in (1..).zip([entries.len() as u64, key_bytes, value_bytes]) {
        file.property(tag, &number.to_le_bytes());
    }
    // Longer keys than the properties take would be refused before the block is read.
    let shown = |key: &[u8]| key[..key.len().min(MAX_KEY_BYTES)].to_vec();
    file.property(4, &shown(&first_key.unwrap())).property(5, &shown(&key)).seal(3, properties);
    let end = file.len();
    file.footer([(0, 0), (data_end, properties), (properties, end)]);
    file.0
}

/// `count` entries of few bytes that share one long key.
fn sharing(count: u32, key_bytes: usize) -> Vec<(usize, Vec<u8>, Vec<u8>)> {
    let suffix = |number: u32| number.to_be_bytes().to_vec();
    let first = (0, [vec![b'k'; key_bytes - 4], suffix(0)].concat(), vec![]);
    std::iter::once(first).chain((1..count).map(|number| (key_bytes - 4, suffix(number), vec![]))).collect()
}

/// Every way to read, each of which has to find the fault.
fn faults(path: &Path, key: &[u8]) -> Vec<TableFault> {
    let fault = |error: TableError| match error {
        TableError::File { source, .. } => source,
        error => panic!("{error}"),
    };
    let table = TableReader::open_unverified(path, &Hashers::new()).unwrap();
    let iterated = table.iter().unwrap().find_map(Result::err).expect("iter finds it");
    let ranged = match table.range(key.to_vec()..) {
        Ok(mut entries) => entries.find_map(Result::err).expect("range finds it"),
        Err(error) => error,
    };
    let errors = [
        TableReader::open(path, &Hashers::new()).unwrap_err(),
        table.verify().unwrap_err(),
        table.get(key).unwrap_err(),
        table.multi_get(&[key]).unwrap_err(),
        iterated,
        ranged,
    ];
    errors.into_iter().map(fault).collect()
}

#[test]
fn seventeen_entries_need_a_second_restart_point() {
    let (_folder, path) = scratch("unfolding.table");
    let entries = sharing(17, 1000);
    let last = [vec![b'k'; 996], 16_u32.to_be_bytes().to_vec()].concat();
    std::fs::write(&path, table(&entries, &[0])).unwrap();
    for fault in faults(&path, &last) {
        let right = matches!(
            fault,
            TableFault::Limit {
                section: Section::Data,
                what: "entries from one restart point to the next",
                max: 16,
                got: 17,
                ..
            }
        );
        assert!(right && fault.is_damage(), "{fault}");
    }
    // Sixteen need none.
    std::fs::write(&path, table(&entries[..16], &[0])).unwrap();
    assert_eq!(table_common::open(&path).unwrap().iter().unwrap().count(), 16);
    // And a second one has a whole key.
    let mut entries = entries;
    entries[16] = (0, last.clone(), b"value".to_vec());
    std::fs::write(&path, table(&entries, &[0, 16])).unwrap();
    let whole = table_common::open(&path).unwrap();
    assert_eq!(whole.get(&last).unwrap(), Some(&b"value"[..]));
}

/// The bound itself: of the file that unfolds the most, all keys have at most 16 times the bytes.
#[test]
fn keys_unfold_to_at_most_sixteen_times_the_file() {
    let (_folder, path) = scratch("unfolding.table");
    std::fs::write(&path, table(&sharing(16, MAX_KEY_BYTES), &[0])).unwrap();
    let whole = table_common::open(&path).unwrap();
    let key_bytes: usize = whole.iter().unwrap().map(|entry| entry.unwrap().0.len()).sum();
    assert_eq!(key_bytes, 16 << 20);
    assert!(key_bytes as u64 <= 16 * whole.file_bytes());
}

#[test]
fn a_key_longer_than_any_writer_takes() {
    let (_folder, path) = scratch("unfolding.table");
    // Neither part is too long; together they are.
    let half = MAX_KEY_BYTES / 2;
    let entries = [
        (0, vec![b'k'; half], vec![]),
        (half, vec![b'l'; half], vec![]),
        (half + 1, vec![b'm'; half], vec![]),
    ];
    let max = MAX_KEY_BYTES as u64;
    std::fs::write(&path, table(&entries[..2], &[0])).unwrap();
    assert_eq!(table_common::open(&path).unwrap().entries(), 2);
    std::fs::write(&path, table(&entries, &[0])).unwrap();
    // The index is searched first, and holds the key too.
    for fault in faults_of_limit(&path) {
        assert_eq!(fault, ("bytes of a key", max, max + 1));
    }
}

/// What a lookup and a walk over all entries say.
fn faults_of_limit(path: &Path) -> Vec<(&'static str, u64, u64)> {
    let table = TableReader::open_unverified(path, &Hashers::new()).unwrap();
    let errors = [
        table.get(b"z").unwrap_err(),
        table.iter().unwrap().find_map(Result::err).expect("iter finds it"),
        table.verify().unwrap_err(),
    ];
    let limit = |error| match error {
        TableError::File { source: TableFault::Limit { what, max, got, .. }, .. } => (what, max, got),
        error => panic!("{error}"),
    };
    errors.into_iter().map(limit).collect()
}

/// What the writer writes is within what the reader reads, at the limits too.
#[test]
fn the_longest_keys_in_the_longest_runs() {
    let (_folder, path) = scratch("long.table");
    let options = TableOptions::default().filter(None).block_bytes(64 << 20);
    let mut writer = TableWriter::create(&path, options).unwrap();
    let mut key = vec![b'k'; MAX_KEY_BYTES];
    for number in 0..35 {
        key[MAX_KEY_BYTES - 1] = number;
        writer.add(&key, b"value").unwrap();
    }
    assert_eq!(writer.finish().unwrap().data_blocks, 1);
    let table = table_common::open(&path).unwrap();
    assert_eq!(table.iter().unwrap().filter(Result::is_ok).count(), 35);
    assert_eq!(table.get(&key).unwrap(), Some(&b"value"[..]));
    key[MAX_KEY_BYTES - 1] = 16;
    assert_eq!(table.range(key..).unwrap().count(), 19);
}
