//! Full and partitioned filters, of whole keys, prefixes and both, with every kind of read.

use bloomline_rocksdb::{FilterPolicy, Kind, Tickers, inspect};
use rocksdb::{BlockBasedIndexType, DB, Direction, IteratorMode, Options, ReadOptions, SliceTransform};

use crate::harness::{Model, Random, SORTS, Sort, folder, open, stock};

const GROUPS: u64 = 2_000;

/// Keys of a group share their first six bytes. Odd groups are never written.
fn member(group: u64, number: u64) -> Vec<u8> {
    format!("g{group:05}-{number:04}").into_bytes()
}

fn options(partitioned: bool, prefix: bool, whole_key: bool, policy: &FilterPolicy) -> Options {
    let mut options = stock(|table| {
        table.set_whole_key_filtering(whole_key);
        if partitioned {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(512);
        }
    });
    if prefix {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(6));
    }
    policy.install(&mut options).unwrap();
    options
}

/// Written out of order, overwritten and deleted in part, in several files.
fn write(db: &DB, model: &mut Model) {
    let mut random = Random::new(0xB100);
    for round in 0..4 {
        for _ in 0..4_000 {
            let key = member(random.below(GROUPS) * 2, random.below(8));
            if random.below(6) == 0 {
                model.delete(db, &key);
            } else {
                model.put(db, &key, &random.next().to_be_bytes());
            }
        }
        // A key that the extractor's domain does not cover.
        model.put(db, &[b'x', round], b"short");
        db.flush().unwrap();
    }
    // Several files remain at the top.
    db.compact_range(None::<&[u8]>, Some(member(GROUPS, 0)));
}

/// The group by an iterator that may use the prefix filter.
fn seek(db: &DB, group: u64, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut read = ReadOptions::default();
    read.set_prefix_same_as_start(true);
    let start = match direction {
        Direction::Forward => member(group, 0),
        Direction::Reverse => member(group, 9_999),
    };
    let found = db.iterator_opt(IteratorMode::From(&start, direction), read);
    let found = found.map(|item| item.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec()));
    let prefix = &start[..6];
    let mut found: Vec<_> = found.take_while(|(key, _)| key.starts_with(prefix)).collect();
    found.sort();
    found
}

fn check(db: &DB, model: &Model, prefix: bool) {
    for group in 0..2 * GROUPS {
        let wanted: Vec<_> = model
            .0
            .range(member(group, 0)..member(group + 1, 0))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        assert_eq!(seek(db, group, Direction::Forward), wanted, "group {group}");
        if !prefix || group % 16 == 0 {
            assert_eq!(seek(db, group, Direction::Reverse), wanted, "group {group}, backwards");
        }
        let keys: Vec<Vec<u8>> = (0..9).map(|number| member(group, number)).collect();
        for (key, got) in keys.iter().zip(db.multi_get(&keys)) {
            assert_eq!(got.unwrap().as_ref(), model.0.get(key));
            assert_eq!(db.get(key).unwrap().as_ref(), model.0.get(key));
        }
    }
    // A scan in total order passes over every group.
    let mut read = ReadOptions::default();
    read.set_total_order_seek(true);
    let scanned: Vec<_> = db
        .iterator_opt(IteratorMode::Start, read)
        .map(|item| item.unwrap())
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    assert!(scanned.into_iter().eq(model.0.clone()));
}

fn scenario(partitioned: bool, prefix: bool, whole_key: bool) {
    SORTS.into_iter().for_each(|sort| scenario_of(sort, partitioned, prefix, whole_key));
}

fn scenario_of(sort: Sort, partitioned: bool, prefix: bool, whole_key: bool) {
    let folder = folder();
    let policy = sort.policy();
    let mut model = Model::default();
    let options = options(partitioned, prefix, whole_key, &policy);
    let db = open(&options, folder.path());
    write(&db, &mut model);
    check(&db, &model, prefix);

    let tickers = Tickers::read(&options).unwrap();
    assert_eq!(tickers.useful > 1_000, whole_key, "gets by whole key: {tickers:?}");
    assert_eq!(tickers.prefix_useful > 1_000, !whole_key, "gets by prefix: {tickers:?}");
    assert_eq!(tickers.seeks_filtered > 1_000, prefix, "seeks: {tickers:?}");
    drop(db);
    for table in inspect::folder(folder.path()).unwrap() {
        assert_eq!(table.partitioned, partitioned);
        assert_eq!(table.blocks.len() > 1, partitioned);
        let compact = table.blocks.iter().filter(|block| matches!(block.kind, Kind::Compact { .. })).count();
        // The last partition of a file may have so few keys that it is blocked.
        let least = if sort.stock { 0 } else { table.blocks.len() - usize::from(partitioned) };
        assert!(compact >= least && (compact == 0) == sort.stock, "{table:?}");
    }

    // Again from the files, with the plugin and without.
    let opened = open(&options, folder.path());
    check(&opened, &model, prefix);
    drop(opened);
    let mut without = stock(|table| {
        table.set_whole_key_filtering(whole_key);
        table.set_bloom_filter(10.0, false);
    });
    if prefix {
        without.set_prefix_extractor(SliceTransform::create_fixed_prefix(6));
    }
    check(&open(&without, folder.path()), &model, prefix);
    let tickers = Tickers::read(&without).unwrap();
    if sort.stock {
        assert!(tickers.useful + tickers.prefix_useful > 1_000, "{tickers:?}");
        assert_eq!(tickers.seeks_filtered > 1_000, prefix, "{tickers:?}");
    } else if !partitioned {
        assert_eq!(tickers.useful + tickers.prefix_useful + tickers.seeks_filtered, 0, "{tickers:?}");
    }
}

#[test]
fn full_whole_keys() {
    scenario(false, false, true);
}

#[test]
fn full_prefixes() {
    scenario(false, true, false);
}

#[test]
fn full_whole_keys_and_prefixes() {
    scenario(false, true, true);
}

#[test]
fn partitioned_whole_keys() {
    scenario(true, false, true);
}

#[test]
fn partitioned_prefixes() {
    scenario(true, true, false);
}

#[test]
fn partitioned_whole_keys_and_prefixes() {
    scenario(true, true, true);
}
