//! Bytes changed at random with every checksum mended: nothing panics, and what verifies answers consistently.

mod table_common;

use std::sync::LazyLock;

use bloomline::TableReader;
use bloomline::hash::Hashers;
use proptest::prelude::*;
use table_common::surgery::{Map, map, mend};
use table_common::{entries, small_blocks, table_bytes};

/// A table to change, and where its parts lie.
static WHOLE: LazyLock<(Vec<u8>, Map)> = LazyLock::new(|| {
    let bytes = table_bytes(40, small_blocks());
    let map = map(&bytes);
    (bytes, map)
});

/// Asks for everything; the answers may be errors.
fn read_all(table: &TableReader) {
    for (key, _) in entries(40) {
        let _ = table.get(&key);
        let _ = table.get_without_filter(&key);
    }
    let _ = table.multi_get(&[&b"\xFF\xFF"[..], b"", b"key 3"]);
    let ranges = [table.iter(), table.range("key 3"..), table.range(.."key 4"), table.range("a".."key 2")];
    for entries in ranges.into_iter().flatten() {
        // Blocks in a hostile index can't overlap, so there are no more entries than bytes.
        assert!(entries.count() as u64 <= table.file_bytes());
    }
    if let Some(filter) = table.filter() {
        let _ = (filter.might_contain(b"x"), filter.expected_fpp(), filter.fill());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mended_changes(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (mut bytes, map) = WHOLE.clone();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        mend(&mut bytes, &map);
        let (_folder, path) = table_common::scratch("hostile.table");
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(table) = TableReader::open_unverified(&path, &Hashers::new()) {
            read_all(&table);
        }
        if let Ok(table) = table_common::open(&path) {
            read_all(&table);
            let all: Vec<_> = table.iter().unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(all.len() as u64, table.entries());
            prop_assert!(all.is_sorted_by(|a, b| a.0 < b.0));
            for (key, value) in all {
                prop_assert_eq!(table.get(&key).unwrap(), Some(value));
            }
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), with_magics: bool) {
        let mut bytes = bytes;
        if with_magics && bytes.len() >= 80 {
            bytes[..12].copy_from_slice(b"\x89BLT\r\n\x1a\n\x01\0\0\0");
            let (len, crc) = (bytes.len(), table_common::surgery::crc32(&bytes[..12]));
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            bytes[len - 8..].copy_from_slice(b"\x89BLT-END");
        }
        prop_assert!(table_common::fault_of(&bytes).is_damage());
    }
}
