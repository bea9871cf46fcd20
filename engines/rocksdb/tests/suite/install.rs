//! Installing: into what, into what not, and what is touched.

use bloomline_rocksdb::{Error, FilterPolicy, When, policy_name};
use rocksdb::{Options, PlainTableFactoryOptions};

use crate::harness::{Model, folder, open, options, stock};

#[test]
fn the_table_options_survive() {
    let mut options = stock(|table| {
        table.set_format_version(5);
        table.set_block_size(12_345);
        table.set_bloom_filter(3.0, false);
    });
    // The C interface loses the parameters of RocksDB's own policies.
    assert_eq!(policy_name(&options), "bloomfilter");
    let policy = FilterPolicy::blocked(12.5).unwrap();
    policy.install(&mut options).unwrap();
    assert_eq!(policy_name(&options), "bloomline:blocked:12.5");
    assert_eq!(FilterPolicy::installed(&options), Some(policy));
    // One policy takes the place of another.
    let policy = FilterPolicy::compact(0.02).unwrap();
    policy.install(&mut options).unwrap();
    assert_eq!(policy_name(&options), "bloomline:compact:0.02");
    assert_eq!(FilterPolicy::installed(&options), Some(policy));
    let folder = folder();
    Model::default().fill(&open(&options, folder.path()), 0..100);
    let stored = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .last()
        .unwrap();
    for line in ["format_version=5", "block_size=12345", "filter_policy=bloomline:compact:0.02"] {
        assert!(stored.contains(line), "{line} in {stored}");
    }
}

#[test]
fn copies_of_the_options_are_not_touched() {
    let mut options = options();
    let before = options.clone();
    FilterPolicy::blocked(10.0).unwrap().install(&mut options).unwrap();
    let after = options.clone();
    FilterPolicy::uninstall(&mut options).unwrap();
    assert_eq!([&before, &after, &options].map(policy_name), ["", "bloomline:blocked:10", ""]);
    assert_eq!(FilterPolicy::installed(&options), None);
}

#[test]
fn a_table_factory_without_filters_is_refused() {
    let mut options = Options::default();
    options.set_plain_table_factory(&PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: rocksdb::KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    });
    let policy = FilterPolicy::blocked(10.0).unwrap();
    assert_eq!(policy.install(&mut options), Err(Error::NotBlockBased));
    assert_eq!(FilterPolicy::uninstall(&mut options), Err(Error::NotBlockBased));
    assert_eq!(FilterPolicy::installed(&options), None);
}

#[test]
fn a_policy_of_rocksdb_s_own_is_not_taken_for_ours() {
    let options = stock(|table| table.set_ribbon_filter(9.0));
    assert_eq!(FilterPolicy::installed(&options), None);
    assert_eq!(policy_name(&options), "ribbonfilter");
}

#[test]
fn policies_out_of_range_are_refused() {
    for bits_per_key in [0.0, 0.999, 100.1, -1.0, f64::NAN, f64::INFINITY] {
        let error = |result: Result<FilterPolicy, Error>| match result {
            Err(Error::BitsPerKey { got }) => got.to_bits() == bits_per_key.to_bits(),
            other => panic!("{other:?}"),
        };
        assert!(error(FilterPolicy::blocked(bits_per_key)));
        assert!(error(FilterPolicy::rocksdb_bloom(bits_per_key)));
        assert!(error(FilterPolicy::rocksdb_ribbon(bits_per_key)));
    }
    for fpp in [0.0, 1.0 / 65_537.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        let got = match FilterPolicy::compact(fpp) {
            Err(Error::FalsePositiveRate { got }) => got,
            other => panic!("{other:?}"),
        };
        assert_eq!(got.to_bits(), fpp.to_bits());
    }
    assert_eq!(FilterPolicy::blocked_with_probes(10.0, 31), Err(Error::Probes { got: 31 }));
    let ten = FilterPolicy::blocked(10.0).unwrap();
    let levels = FilterPolicy::per_level([(When::any().level(0), ten.clone())], &ten).unwrap();
    assert_eq!(FilterPolicy::per_level([], &levels), Err(Error::NestedLevels));
}

#[test]
fn the_last_handle_may_go_before_the_database() {
    let folder = folder();
    let mut options = options();
    FilterPolicy::blocked(10.0).unwrap().install(&mut options).unwrap();
    let db = open(&options, folder.path());
    drop(options);
    let mut model = Model::default();
    model.fill(&db, 0..2_000);
    model.check(&db, 200);
    assert_eq!(FilterPolicy::in_use(&db).unwrap().counters().keys, 2_000);
}
