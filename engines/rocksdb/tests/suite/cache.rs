//! Readers in a shared block cache outlive their table, database and policy.

use bloomline_rocksdb::FilterPolicy;
use rocksdb::Cache;

use crate::harness::{Model, SORTS, folder, open, stock};

#[test]
fn cached_readers_outlive_the_database_and_the_policy() {
    let cache = Cache::new_lru_cache(4 << 20);
    let build = |policy: &FilterPolicy, partitioned: bool| {
        let mut options = stock(|table| {
            table.set_block_cache(&cache);
            table.set_cache_index_and_filter_blocks(true);
            table.set_partition_filters(partitioned);
            if partitioned {
                table.set_index_type(rocksdb::BlockBasedIndexType::TwoLevelIndexSearch);
            }
        });
        policy.install(&mut options).unwrap();
        options
    };
    let mut folders = Vec::new();
    for round in 0..12 {
        let folder = folder();
        let policy = SORTS[round / 2 % 2].policy();
        let options = build(&policy, round % 2 == 0);
        drop(policy);
        let mut model = Model::default();
        let db = open(&options, folder.path());
        drop(options);
        model.fill(&db, 0..5_000);
        model.check(&db, 500);
        drop(db);
        // The filters of every round are still cached, and make room for those of the next.
        assert!(cache.get_usage() > 0);
        folders.push(folder);
    }
    let mut cache = cache;
    cache.set_capacity(0);
    assert_eq!(cache.get_usage(), 0);
}
