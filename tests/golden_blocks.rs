//! Blocks that were written once and are never written again: what was released must be read, and written, byte
//! for byte the same for ever.

#[path = "../fixtures/golden_blocks/recipe.rs"]
mod recipe;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bloomline::filter::open_any;
use bloomline::{FilterReader, Membership};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/golden_blocks"))
}

/// The list of blocks: name, keys counted and false positives.
fn list() -> BTreeMap<String, (u64, usize)> {
    let text = std::fs::read_to_string(folder().join("false_positives.tsv")).unwrap();
    let entry = |line: &str| {
        let [name, count, positives] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (name.to_owned(), (count.parse().unwrap(), positives.parse().unwrap()))
    };
    text.lines().map(entry).collect()
}

#[test]
fn every_block_is_read_with_the_answers_of_the_day_it_was_written() {
    let list = list();
    assert_eq!(list.len(), recipe::blocks().len());
    for (name, (count, positives)) in list {
        let block = std::fs::read(folder().join(&name)).unwrap();
        let reader = FilterReader::open(&block, &recipe::hashers()).unwrap();
        let owned = open_any(&block, &recipe::hashers()).unwrap();
        for filter in [&reader as &dyn Membership, owned.membership()] {
            assert_eq!(filter.count(), count, "{name}");
            assert!((0..recipe::KEYS).all(|i| filter.might_contain(&recipe::key(i))), "{name}");
            let absent = recipe::KEYS..recipe::KEYS + recipe::ABSENT;
            let got = absent.filter(|&i| filter.might_contain(&recipe::key(i))).count();
            assert_eq!(got, positives, "{name}");
            assert!(filter.encode() == block, "{name}");
        }
    }
}

#[test]
fn the_same_keys_still_make_the_same_bytes() {
    let written: BTreeSet<String> = list().into_keys().collect();
    for (name, block) in recipe::blocks() {
        assert!(written.contains(&name), "{name}");
        assert!(block == std::fs::read(folder().join(&name)).unwrap(), "{name}");
    }
}
