//! Leaving the plugin: a stock RocksDB reads its files. Blocked filters work there, compact ones let every key through.

use bloomline_rocksdb::{FilterPolicy, Tickers};
use rocksdb::DB;

use crate::harness::{Model, SORTS, Sort, folder, open, options, stock};

#[test]
fn a_stock_rocksdb_reads_every_key_and_uses_the_filters_that_it_can() {
    SORTS.into_iter().for_each(leave);
}

fn leave(sort: Sort) {
    let folder = folder();
    let mut model = Model::default();
    let policy = sort.policy();
    {
        let mut options = options();
        policy.install(&mut options).unwrap();
        let db = open(&options, folder.path());
        model.fill(&db, 0..20_000);
        model.check(&db, 2_000);
        assert_eq!(policy.counters().keys, 20_000);
        assert_eq!(policy.counters().filters_built, 4);
        let rate = Tickers::read(&options).unwrap().false_positive_rate().unwrap();
        assert!(sort.has_rate(rate), "{sort:?}: {rate}");
    }
    let options = stock(|table| table.set_bloom_filter(10.0, false));
    let db = open(&options, folder.path());
    let before = Tickers::read(&options).unwrap();
    model.check_absent(&db, 5_000);
    let tickers = Tickers::read(&options).unwrap().since(before);
    if sort.stock {
        // Four files, each asked by get and by multi_get.
        let asked = tickers.useful + tickers.wasted_reads();
        assert!(asked > 39_000, "{tickers:?}");
        let rate = tickers.false_positive_rate().unwrap();
        assert!(sort.has_rate(rate), "{rate}");
    } else {
        assert_eq!(tickers.useful, 0, "{tickers:?}");
    }
    model.check(&db, 0);
    // What it compacts gets filters of its own, which then work.
    db.compact_range::<&[u8], &[u8]>(None, None);
    let before = Tickers::read(&options).unwrap();
    model.check_absent(&db, 5_000);
    let tickers = Tickers::read(&options).unwrap().since(before);
    assert!(tickers.useful > 9_000, "{tickers:?}");
    drop(db);
    // And without any filter policy at all.
    let db = DB::open(&crate::harness::options(), folder.path()).unwrap();
    model.check(&db, 1_000);
}

/// The other way round: the plugin is installed on a database that exists.
fn the_plugin_uses_the_filters_of(stock_options: &rocksdb::Options, delegated: bool) {
    let folder = folder();
    let mut model = Model::default();
    {
        let db = open(stock_options, folder.path());
        model.fill(&db, 0..20_000);
    }
    let policy = FilterPolicy::blocked(10.0).unwrap();
    let mut options = options();
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    model.check(&db, 5_000);
    let tickers = Tickers::read(&options).unwrap();
    assert!(tickers.useful > 39_000, "{tickers:?}");
    let rate = tickers.false_positive_rate().unwrap();
    assert!((0.004..0.015).contains(&rate), "{rate}");
    let counters = policy.counters();
    assert_eq!(counters.filters_built, 0);
    assert_eq!((counters.readers_delegated > 0, counters.readers_opened > 0), (delegated, !delegated));
    assert_eq!(counters.readers_fell_open, 0);
    // A compaction replaces them by the plugin's.
    db.compact_range::<&[u8], &[u8]>(None, None);
    assert_eq!(policy.counters().keys, 20_000);
    model.check(&db, 1_000);
}

#[test]
fn the_plugin_uses_filters_of_built_in_bloom() {
    the_plugin_uses_the_filters_of(&stock(|table| table.set_bloom_filter(10.0, false)), false);
}

#[test]
fn the_plugin_uses_filters_of_built_in_ribbon() {
    // Ribbon for flushes too.
    the_plugin_uses_the_filters_of(&stock(|table| table.set_hybrid_ribbon_filter(10.0, -1)), true);
}

#[test]
fn the_plugin_uses_legacy_bloom_filters() {
    let legacy = stock(|table| {
        table.set_format_version(4);
        table.set_bloom_filter(10.0, false);
    });
    the_plugin_uses_the_filters_of(&legacy, true);
}
