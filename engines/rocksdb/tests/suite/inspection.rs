//! The inspector on files of every kind.

use bloomline_rocksdb::{Error, FilterPolicy, Kind, inspect};
use rocksdb::{BlockBasedIndexType, Options};

use crate::harness::{Model, folder, open, options, stock};

fn inspected(options: &Options) -> inspect::Table {
    let folder = folder();
    let db = open(options, folder.path());
    Model::default().fill(&db, 0..20_000);
    db.compact_range::<&[u8], &[u8]>(None, None);
    drop(db);
    let mut tables = inspect::folder(folder.path()).unwrap();
    assert_eq!(tables.len(), 1);
    tables.remove(0)
}

#[test]
fn a_full_filter() {
    let mut options = options();
    FilterPolicy::blocked(10.0).unwrap().install(&mut options).unwrap();
    let table = inspected(&options);
    assert_eq!((table.entries, table.filter_entries, table.partitioned), (20_000, 20_000, false));
    assert_eq!(table.filter_name, "rocksdb.BuiltinBloomFilter");
    assert_eq!(table.policy_name, "bloomline");
    let [block] = &table.blocks[..] else { panic!("{table:?}") };
    assert_eq!(block.kind, Kind::Blocked { lines: 391, probes: 6 });
    assert_eq!(block.bytes, table.filter_bytes);
    assert!((10.0..10.1).contains(&table.bits_per_key().unwrap()));
    // 1 − e^(−6/10) of the bits.
    assert!((0.44..0.46).contains(&table.fill().unwrap()), "{:?}", table.fill());
    assert!((0.008..0.011).contains(&table.rate().unwrap()), "{:?}", table.rate());
}

#[test]
fn a_partitioned_filter() {
    let mut options = stock(|table| {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_metadata_block_size(1024);
    });
    FilterPolicy::blocked(10.0).unwrap().install(&mut options).unwrap();
    let table = inspected(&options);
    assert!(table.partitioned);
    assert!(table.blocks.len() > 20, "{}", table.blocks.len());
    assert!(table.blocks.iter().all(|block| matches!(block.kind, Kind::Blocked { probes: 6, .. })));
    assert!((10.0..11.0).contains(&table.bits_per_key().unwrap()));
}

#[test]
fn compact_filters() {
    for (fpp, bits) in [(0.01, 7), (0.0001, 14)] {
        let mut options = options();
        FilterPolicy::compact(fpp).unwrap().install(&mut options).unwrap();
        let table = inspected(&options);
        assert_eq!(
            (table.filter_name.as_str(), table.filter_entries),
            ("rocksdb.BuiltinBloomFilter", 20_000)
        );
        let [block] = &table.blocks[..] else { panic!("{table:?}") };
        let Kind::Compact { keys, lines, layers, fingerprint_bits } = block.kind else { panic!("{block:?}") };
        assert_eq!((keys, fingerprint_bits), (20_000, bits));
        assert_eq!(lines * 64 + 48 + 5, block.bytes);
        assert!((3..7).contains(&layers), "{layers}");
        let used = table.bits_per_key().unwrap() / f64::from(bits);
        assert!((1.03..1.11).contains(&used), "{used}");
        assert_eq!(table.rate(), Some(1.0 / f64::from(1 << bits)));
        assert_eq!(table.fill(), None);
    }
}

#[test]
fn filters_of_stock_rocksdb() {
    let ribbon = inspected(&stock(|table| table.set_ribbon_filter(10.0)));
    let [block] = &ribbon.blocks[..] else { panic!("{ribbon:?}") };
    let Kind::Ribbon { columns, .. } = block.kind else { panic!("{block:?}") };
    assert!((6.0..7.5).contains(&columns), "{columns}");
    assert!((0.008..0.012).contains(&ribbon.rate().unwrap()), "{:?}", ribbon.rate());
    assert_eq!(ribbon.fill(), None);

    let legacy = inspected(&stock(|table| {
        table.set_format_version(4);
        table.set_bloom_filter(10.0, false);
    }));
    assert!(matches!(legacy.blocks[0].kind, Kind::Legacy { probes: 6 }), "{legacy:?}");
    assert_eq!(legacy.rate(), None);

    let none = inspected(&options());
    assert_eq!((none.blocks.len(), none.filter_name.as_str(), none.filter_bytes), (0, "", 0));
    assert_eq!(none.bits_per_key(), None);
}

#[test]
fn what_is_no_table_file_is_an_error_that_names_it() {
    let folder = folder();
    for (name, bytes) in [("empty.sst", &b""[..]), ("text.sst", &[b'x'; 5_000])] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        match inspect::table(&path) {
            Err(Error::Damaged { path: named, reason }) => {
                assert_eq!(named, path);
                assert!(!reason.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
    for missing in [
        inspect::table(folder.path().join("absent.sst")).map(|_| ()),
        inspect::folder(folder.path().join("absent")).map(|_| ()),
    ] {
        assert!(matches!(missing, Err(Error::Inspect { .. })), "{missing:?}");
    }
}
