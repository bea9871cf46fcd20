//! A table answers as a `BTreeMap` of the same entries does, whatever the keys, the values and the block size.

mod table_common;

use std::ops::Bound;

use bloomline::format::Kind;
use bloomline::hash::Hashers;
use bloomline::{FilterOptions, TableOptions, TableReader};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Keys from few letters, so that many share prefixes or are prefixes of each other, among free ones.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(prop::sample::select(&[0_u8, b'a', 0xFF][..]), 0..12), vec(any::<u8>(), 0..40)]
}

fn options() -> impl Strategy<Value = TableOptions> {
    let filter = prop_oneof![
        Just(None),
        Just(Some(FilterOptions::default())),
        Just(Some(FilterOptions::default().kind(Kind::Classic))),
    ];
    (filter, prop_oneof![Just(0_usize), 1..600_usize, Just(usize::MAX)])
        .prop_map(|(filter, block_bytes)| TableOptions::default().filter(filter).block_bytes(block_bytes))
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded),]
}

/// Whether a map would panic on the range.
fn is_backwards(start: &Bound<Vec<u8>>, end: &Bound<Vec<u8>>) -> bool {
    match (start, end) {
        (Bound::Excluded(start), Bound::Excluded(end)) => start >= end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
            start > end
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_table_is_a_sorted_map(
        model in btree_map(key(), vec(any::<u8>(), 0..60), 0..150),
        options in options(),
        other_keys in vec(key(), 0..100),
        ranges in vec((bound(), bound()), 0..20),
        verified: bool,
    ) {
        let (_folder, path) = table_common::scratch("model.table");
        let summary =
            table_common::write_table(&path, options, model.iter().map(|(k, v)| (k.as_slice(), v.as_slice())));
        prop_assert_eq!(summary.entries, model.len() as u64);
        prop_assert_eq!(summary.file_bytes, std::fs::metadata(&path).unwrap().len());
        let opener = if verified { TableReader::open } else { TableReader::open_unverified };
        let table = opener(&path, &Hashers::new()).unwrap();
        prop_assert_eq!(table.entries(), model.len() as u64);
        prop_assert!(!table.is_filter_only());

        let keys: Vec<&Vec<u8>> = model.keys().chain(&other_keys).collect();
        let expected: Vec<Option<&[u8]>> = keys.iter().map(|key| model.get(*key).map(Vec::as_slice)).collect();
        for (key, &value) in keys.iter().zip(&expected) {
            prop_assert_eq!(table.get(key).unwrap(), value);
            prop_assert_eq!(table.get_without_filter(key).unwrap(), value);
        }
        prop_assert_eq!(&table.multi_get(&keys).unwrap(), &expected);

        let all: Vec<_> = table.iter().unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.as_slice())).collect();
        prop_assert_eq!(all, expected);
        for (start, end) in ranges {
            let got: Vec<_> =
                table.range((start.clone(), end.clone())).unwrap().map(Result::unwrap).collect();
            let expected: Vec<_> = if is_backwards(&start, &end) {
                Vec::new()
            } else {
                model.range((start, end)).map(|(key, value)| (key.clone(), value.as_slice())).collect()
            };
            prop_assert_eq!(got, expected);
        }
        let properties = table.properties();
        prop_assert_eq!(properties.first_key.as_ref(), model.keys().next());
        prop_assert_eq!(properties.last_key.as_ref(), model.keys().next_back());
        prop_assert_eq!(properties.key_bytes, model.keys().map(|key| key.len() as u64).sum::<u64>());
        prop_assert_eq!(properties.value_bytes, model.values().map(|value| value.len() as u64).sum::<u64>());
    }
}
