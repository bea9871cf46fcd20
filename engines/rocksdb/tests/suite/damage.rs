//! Filter blocks damaged on disk: nothing is lost, and what falls open is counted.

use std::fs;
use std::path::Path;

use bloomline_rocksdb::{FilterPolicy, inspect};
use rocksdb::{BlockBasedIndexType, Cache, Options, ReadOptions};

use crate::harness::{Model, absent, folder, open, stock};

/// Partitions are not cached, so that each lookup reads its own from the file.
fn options(partitioned: bool, policy: &FilterPolicy) -> Options {
    let mut options = stock(|table| {
        if partitioned {
            table.set_block_cache(&Cache::new_lru_cache(0));
            table.set_cache_index_and_filter_blocks(true);
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
        }
    });
    policy.install(&mut options).unwrap();
    options
}

/// Finds each trailer of a blocked filter with six probes in the table files, and changes its bytes.
fn damage(folder: &Path, change: impl Fn(&mut [u8])) -> usize {
    let mut damaged = 0;
    for table in inspect::folder(folder).unwrap() {
        let mut bytes = fs::read(&table.path).unwrap();
        // Followed by the block's compression type, which is none.
        let trailer = [0xff, 0, 6, 0, 0, 0];
        let found: Vec<usize> =
            (0..bytes.len() - trailer.len()).filter(|&at| bytes[at..].starts_with(&trailer)).collect();
        assert_eq!(found.len(), table.blocks.len(), "one trailer for each filter block");
        for at in found {
            change(&mut bytes[at..at + 5]);
            damaged += 1;
        }
        fs::write(&table.path, bytes).unwrap();
    }
    damaged
}

#[test]
fn a_full_filter_that_fails_its_checksum_is_not_used() {
    let folder = folder();
    let policy = FilterPolicy::blocked(10.0).unwrap();
    let mut model = Model::default();
    model.fill(&open(&options(false, &policy), folder.path()), 0..10_000);
    assert_eq!(damage(folder.path(), |trailer| trailer[2] = 7), 4);
    assert!(inspect::folder(folder.path()).is_err(), "the inspector verifies checksums");

    let policy = FilterPolicy::blocked(10.0).unwrap();
    let db = open(&options(false, &policy), folder.path());
    model.check(&db, 1_000);
    assert_eq!(policy.counters().probes, 0, "no damaged filter was asked");
}

#[test]
fn partitions_that_fail_their_checksum_or_cannot_be_decoded_let_every_key_through() {
    let folder = folder();
    let policy = FilterPolicy::blocked(10.0).unwrap();
    let mut model = Model::default();
    let db = open(&options(true, &policy), folder.path());
    model.fill(&db, 0..10_000);
    model.check(&db, 1_000);
    assert!(policy.counters().negatives > 1_000);

    let damaged = damage(folder.path(), |trailer| trailer.copy_from_slice(&[0x80, 1, 2, 3, 4]));
    assert!(damaged >= 4);
    let before = policy.counters();
    model.check(&db, 1_000);
    assert_eq!(policy.counters(), before, "a filter that fails its checksum is not even opened");

    // Without checksums, the plugin sees the damage for itself.
    let mut unchecked = ReadOptions::default();
    unchecked.set_verify_checksums(false);
    for (key, value) in &model.0 {
        assert_eq!(db.get_opt(key, &unchecked).unwrap().as_ref(), Some(value));
    }
    for number in 0..1_000 {
        assert_eq!(db.get_opt(absent(number), &unchecked).unwrap(), None);
    }
    let counters = policy.counters();
    assert_eq!(counters.probes, before.probes);
    assert!(counters.readers_fell_open > 10_000, "{counters:?}");
}
