//! The policy's counters agree with RocksDB's tickers, and with what was done.

use std::thread;

use bloomline_rocksdb::{Tickers, inspect};

use crate::harness::{Model, SORTS, Sort, absent, folder, open, options, present};

#[test]
fn counters_agree_with_the_tickers() {
    SORTS.into_iter().for_each(agree);
}

fn agree(sort: Sort) {
    let folder = folder();
    let policy = sort.policy();
    let mut options = options();
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    Model::default().fill(&db, 0..8_000);
    let counters = policy.counters();
    assert_eq!((counters.filters_built, counters.keys, counters.filters_failed), (4, 8_000, 0));
    let tables = inspect::folder(folder.path()).unwrap();
    assert_eq!(counters.bytes, tables.iter().map(|table| table.filter_bytes).sum());

    thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for number in (0..4_000).map(|at| at * 4 + thread) {
                    assert_eq!(db.get(absent(number)).unwrap(), None);
                    assert_eq!(db.get(present(number)).unwrap().is_some(), number < 8_000);
                }
                let keys: Vec<_> = (0..100).map(absent).collect();
                assert!(db.multi_get(keys).into_iter().all(|got| got.unwrap().is_none()));
            });
        }
    });
    let (counters, tickers) = (policy.counters(), Tickers::read(&options).unwrap());
    assert_eq!(counters.negatives, tickers.useful);
    assert_eq!(counters.probes, tickers.useful + tickers.full_positive);
    assert_eq!(tickers.full_true_positive, 8_000);
    assert_eq!((counters.readers_opened, counters.readers_fell_open), (4, 0));
    let rate = tickers.false_positive_rate().unwrap();
    assert!(sort.has_rate(rate), "{sort:?}: {rate}");
}

#[test]
fn without_statistics_there_are_no_tickers() {
    assert_eq!(Tickers::read(&rocksdb::Options::default()), None);
}
