//! Many threads read and write while flushes and compactions replace files beneath them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bloomline_rocksdb::Tickers;
use rocksdb::{BlockBasedIndexType, Options};

use crate::harness::{Model, SORTS, Sort, absent, folder, open, present, stock};

const WRITERS: usize = 3;
const KEYS: u64 = 20_000;

/// The `at`-th number of a writer.
fn number(writer: usize, at: u64) -> u64 {
    at * WRITERS as u64 + writer as u64
}

fn options(partitioned: bool) -> Options {
    let mut options = stock(|table| {
        if partitioned {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(1024);
            table.set_cache_index_and_filter_blocks(true);
        }
    });
    options.set_disable_auto_compactions(false);
    options.set_write_buffer_size(256 << 10);
    options.set_target_file_size_base(128 << 10);
    options.set_max_bytes_for_level_base(512 << 10);
    options.set_max_bytes_for_level_multiplier(4.0);
    options.increase_parallelism(4);
    options
}

fn scenario(partitioned: bool) {
    SORTS.into_iter().for_each(|sort| scenario_of(sort, partitioned));
}

fn scenario_of(sort: Sort, partitioned: bool) {
    let folder = folder();
    let policy = sort.policy();
    let mut options = options(partitioned);
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    // Each writer owns the numbers that leave its remainder; readers look at what is already written.
    let written = [const { AtomicU64::new(0) }; WRITERS];
    thread::scope(|scope| {
        for (writer, progress) in written.iter().enumerate() {
            let db = &db;
            scope.spawn(move || {
                for at in 0..KEYS {
                    let number = number(writer, at);
                    db.put(present(number), number.to_be_bytes()).unwrap();
                    progress.store(at + 1, Ordering::Release);
                }
            });
        }
        for reader in 0..3_u64 {
            let (db, written) = (&db, &written);
            scope.spawn(move || {
                let mut random = crate::harness::Random::new(reader);
                while written.iter().any(|progress| progress.load(Ordering::Acquire) < KEYS) {
                    let writer = random.index(WRITERS);
                    let done = written[writer].load(Ordering::Acquire);
                    if done == 0 {
                        continue;
                    }
                    let number = number(writer, random.below(done));
                    let got = db.get(present(number)).unwrap();
                    assert_eq!(got.as_deref(), Some(&number.to_be_bytes()[..]), "{number}");
                    assert_eq!(db.get(absent(number)).unwrap(), None);
                }
            });
        }
    });
    db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).unwrap();
    let numbers = 0..KEYS * WRITERS as u64;
    let model: BTreeMap<_, _> =
        numbers.map(|number| (present(number).to_vec(), number.to_be_bytes().to_vec())).collect();
    Model(model).check(&db, 10_000);
    let levels = db.live_files().unwrap().into_iter().map(|file| file.level).max().unwrap();
    assert!(levels > 0, "compactions ran");
    assert!(policy.counters().filters_built > 20, "{:?}", policy.counters());
    assert!(Tickers::read(&options).unwrap().useful > 10_000);
}

#[test]
fn full_filters() {
    scenario(false);
}

#[test]
fn partitioned_filters() {
    scenario(true);
}
