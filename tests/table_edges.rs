//! The smallest and the largest entries, and what the writer refuses.

mod table_common;

use bloomline::error::TableError;
use bloomline::table::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use bloomline::{TableOptions, TableWriter};
use table_common::{open, scratch, small_blocks, write_entries, write_table};

#[test]
fn a_table_without_entries_answers_absent() {
    for options in [small_blocks(), TableOptions::default().filter(None)] {
        let (_folder, path) = scratch("empty.table");
        let summary = write_table(&path, options, []);
        assert_eq!((summary.entries, summary.data_blocks), (0, 0));
        let table = open(&path).unwrap();
        assert!(!table.is_filter_only(), "a table without entries is a table");
        for key in [&b""[..], b"key", &[0xFF; 100]] {
            assert_eq!(table.get(key).unwrap(), None);
            assert_eq!(table.get_without_filter(key).unwrap(), None);
        }
        assert_eq!(table.multi_get(&["a", "b"]).unwrap(), [None, None]);
        assert_eq!(table.iter().unwrap().count(), 0);
        assert_eq!(table.range("a"..).unwrap().count(), 0);
        assert_eq!(table.properties().first_key, None);
        assert_eq!(table.stats().block_reads, 0);
    }
}

#[test]
fn one_entry_with_an_empty_key_and_an_empty_value() {
    let (_folder, path) = scratch("one.table");
    write_table(&path, small_blocks(), [(&b""[..], &b""[..])]);
    let table = open(&path).unwrap();
    assert_eq!(table.get(b"").unwrap(), Some(&b""[..]));
    assert_eq!(table.get(b"\0").unwrap(), None);
    assert_eq!(table.properties().first_key.as_deref(), Some(&b""[..]));
    assert_eq!(table.iter().unwrap().map(Result::unwrap).collect::<Vec<_>>(), [(vec![], &b""[..])]);
}

#[test]
fn keys_of_every_byte_value_and_their_prefixes() {
    let mut keys: Vec<Vec<u8>> = (0..=255_u8).map(|byte| vec![byte]).collect();
    let every_byte: Vec<u8> = (0..=255).collect();
    keys.extend((2..=256).map(|len| every_byte[..len].to_vec()));
    keys.extend((0..=255_u8).map(|byte| vec![0xFF, byte]));
    keys.sort();
    keys.dedup();
    let entries: Vec<_> = keys.iter().map(|key| (key.clone(), key.iter().rev().copied().collect())).collect();
    let (_folder, path) = scratch("bytes.table");
    write_entries(&path, small_blocks(), &entries);
    let table = open(&path).unwrap();
    for (key, value) in &entries {
        assert_eq!(table.get(key).unwrap(), Some(value.as_slice()));
    }
    let read: Vec<_> = table.iter().unwrap().map(|entry| entry.unwrap().0).collect();
    assert_eq!(read, keys);
}

#[test]
fn long_keys_and_values() {
    // One byte apart at the end, so that nearly all of each is shared.
    let long = |last: u8| [vec![b'k'; MAX_KEY_BYTES - 1], vec![last]].concat();
    let entries = vec![
        (vec![b'k'; 70_000], vec![1; 5_000_000]),
        (long(b'a'), b"a".to_vec()),
        (long(b'b'), vec![2; 300]),
        (long(b'z'), vec![]),
        (b"l".to_vec(), vec![3; 200_000]),
    ];
    let (_folder, path) = scratch("long.table");
    write_entries(&path, small_blocks(), &entries);
    let table = open(&path).unwrap();
    for (key, value) in &entries {
        assert_eq!(table.get(key).unwrap(), Some(value.as_slice()));
    }
    assert_eq!(table.get(&long(b'c')).unwrap(), None);
    assert_eq!(table.get(&long(b'b')[1..]).unwrap(), None);
}

#[test]
fn keys_and_values_that_are_too_long_are_refused_and_the_writer_goes_on() {
    let (_folder, path) = scratch("limits.table");
    let mut writer = TableWriter::create(&path, small_blocks()).unwrap();
    writer.add(b"a", b"1").unwrap();
    let error = writer.add(&vec![b'b'; MAX_KEY_BYTES + 1], b"").unwrap_err();
    assert!(matches!(error, TableError::TooLong { what: "key", max: 1_048_576, got: 1_048_577, .. }));
    // Zeroed memory that is never touched.
    let error = writer.add(b"b", &vec![0; MAX_VALUE_BYTES + 1]).unwrap_err();
    assert!(matches!(error, TableError::TooLong { what: "value", .. }));
    writer.add(b"b", b"2").unwrap();
    assert_eq!(writer.finish().unwrap().entries, 2);
    assert_eq!(open(&path).unwrap().get(b"b").unwrap(), Some(&b"2"[..]));
}

#[test]
fn descending_and_repeated_keys_are_refused_with_both_and_the_writer_goes_on() {
    let (_folder, path) = scratch("order.table");
    // Blocks of one entry, so that keys are compared across blocks too.
    let mut writer = TableWriter::create(&path, small_blocks().block_bytes(0)).unwrap();
    writer.add(b"", b"the empty key comes first").unwrap();
    assert!(matches!(writer.add(b"", b""), Err(TableError::KeyOrder { .. })));
    writer.add(b"m\xFF", b"1").unwrap();
    for refused in [&b"m\xFF"[..], b"m", b"a", b"", b"m\xFE\xFF"] {
        match writer.add(refused, b"2") {
            Err(TableError::KeyOrder { previous, key, path: named }) => {
                assert_eq!((previous.as_slice(), key.as_slice()), (&b"m\xFF"[..], refused));
                assert_eq!(named, path);
            }
            other => panic!("{other:?}"),
        }
    }
    let error = writer.add(b"a", b"2").unwrap_err().to_string();
    assert!(error.contains(r#""a" was added after "m\xff""#), "{error}");
    writer.add(b"m\xFF\0", b"3").unwrap();
    writer.finish().unwrap();
    let table = open(&path).unwrap();
    assert_eq!(table.entries(), 3);
    assert_eq!(table.get(b"m\xFF").unwrap(), Some(&b"1"[..]));
}
