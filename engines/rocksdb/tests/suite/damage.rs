//! Filter blocks damaged on disk: nothing is lost, and what falls open is counted.

use std::fs;
use std::path::Path;

use bloomline_rocksdb::{FilterPolicy, inspect};
use rocksdb::{BlockBasedIndexType, Cache, Options, ReadOptions};

use crate::harness::{Model, SORTS, Sort, absent, folder, open, stock};

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

/// Finds each filter block in the table files by its trailer, and changes its bytes.
fn damage(folder: &Path, sort: Sort, change: impl Fn(&mut [u8])) -> usize {
    let mut damaged = 0;
    for table in inspect::folder(folder).unwrap() {
        let mut bytes = fs::read(&table.path).unwrap();
        // Followed by the block's compression type, which is none.
        let probes = if sort.stock { 6 } else { 0 };
        let trailer = [sort.marker, 0, probes, 0, 0, 0];
        for block in &table.blocks {
            let len = usize::try_from(block.bytes).unwrap();
            let is_block = |at: &usize| {
                let block = &bytes[*at..*at + len + 1];
                block.ends_with(&trailer) && (sort.stock || block.starts_with(&bloomline::format::MAGIC))
            };
            let found: Vec<usize> = (0..bytes.len() - len).filter(is_block).collect();
            assert_eq!(found.len(), 1, "{table:?}");
            change(&mut bytes[found[0]..found[0] + len]);
            damaged += 1;
        }
        fs::write(&table.path, bytes).unwrap();
    }
    damaged
}

/// The last bytes of a block.
fn trailer(block: &mut [u8]) -> &mut [u8; 5] {
    block.last_chunk_mut().unwrap()
}

fn full(sort: Sort) {
    let folder = folder();
    let policy = sort.policy();
    let mut model = Model::default();
    model.fill(&open(&options(false, &policy), folder.path()), 0..10_000);
    assert_eq!(damage(folder.path(), sort, |block| trailer(block)[2] = 7), 4);
    assert!(inspect::folder(folder.path()).is_err(), "the inspector verifies checksums");

    let policy = sort.policy();
    let db = open(&options(false, &policy), folder.path());
    model.check(&db, 1_000);
    assert_eq!(policy.counters().probes, 0, "no damaged filter was asked");
}

#[test]
fn a_full_filter_that_fails_its_checksum_is_not_used() {
    SORTS.into_iter().for_each(full);
}

fn partitions(sort: Sort, change: impl Fn(&mut [u8])) {
    let folder = folder();
    let policy = sort.policy();
    let mut model = Model::default();
    let db = open(&options(true, &policy), folder.path());
    model.fill(&db, 0..10_000);
    model.check(&db, 1_000);
    assert!(policy.counters().negatives > 1_000);

    let damaged = damage(folder.path(), sort, change);
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

#[test]
fn partitions_that_fail_their_checksum_or_cannot_be_decoded_let_every_key_through() {
    for sort in SORTS {
        partitions(sort, |block| *trailer(block) = [0x80, 1, 2, 3, 4]);
    }
}

/// A Bloom filter with a bit more or less can't be told from a sound one; a compact filter has a checksum of its own.
#[test]
fn compact_partitions_with_one_wrong_bit_let_every_key_through() {
    let [_, compact] = SORTS;
    partitions(compact, |block| block[50] ^= 0x10);
    partitions(compact, |block| block[20] ^= 0x01);
    partitions(compact, |block| block[block.len() / 2] ^= 0x80);
}
