//! The counters: what the filter saved, what it wasted, what was read.

mod table_common;

use bloomline::TableOptions;
use bloomline::error::{TableError, TableFault};
use bloomline::hash::Hashers;
use bloomline::table::ReadStats;
use bloomline::{TableReader, TableWriter};
use table_common::{open, scratch};

const KEYS: u64 = 20_000;

fn key(number: u64) -> Vec<u8> {
    format!("key {number:08}").into_bytes()
}

/// Even numbers are in the table, odd ones between them are not.
fn table(options: TableOptions) -> (tempfile::TempDir, TableReader) {
    let (folder, path) = scratch("counted.table");
    let mut writer = TableWriter::create(&path, options).unwrap();
    for number in 0..KEYS {
        writer.add(&key(2 * number), b"value").unwrap();
    }
    writer.finish().unwrap();
    let table = open(&path).unwrap();
    assert_eq!(table.stats(), ReadStats::default(), "opening counts nothing");
    (folder, table)
}

fn ask(table: &TableReader, keys: &[Vec<u8>], batched: bool) {
    if batched {
        table.multi_get(keys).unwrap();
    } else {
        for key in keys {
            table.get(key).unwrap();
        }
    }
}

#[test]
fn present_and_absent_keys() {
    let present: Vec<_> = (0..KEYS).map(|number| key(2 * number)).collect();
    let absent: Vec<_> = (0..KEYS - 1).map(|number| key(2 * number + 1)).collect();
    let mut of_both = Vec::new();
    for batched in [false, true] {
        let (_folder, table) = table(TableOptions::default());
        ask(&table, &present, batched);
        let stats = table.stats();
        assert_eq!((stats.lookups, stats.found, stats.block_reads), (KEYS, KEYS, KEYS));
        assert_eq!((stats.filter_negatives, stats.false_positives, stats.filter_unusable), (0, 0, 0));

        ask(&table, &absent, batched);
        let stats = table.stats();
        assert_eq!(stats.filter_negatives + stats.false_positives, KEYS - 1);
        assert_eq!((stats.lookups, stats.found), (2 * KEYS - 1, KEYS));
        assert_eq!(stats.block_reads, KEYS + stats.false_positives, "each false positive wastes one read");
        // 1% of 19,999 lookups: 200 ± 5σ.
        assert!((130..270).contains(&stats.false_positives), "{stats:?}");
        of_both.push(stats);
    }
    assert_eq!(of_both[0], of_both[1], "batches count as single lookups do");
}

#[test]
fn without_a_filter_every_lookup_reads() {
    let (_folder, table) = table(TableOptions::default().filter(None));
    for number in 0..1000 {
        assert_eq!(table.get(&key(2 * number + 1)).unwrap(), None);
    }
    let stats = table.stats();
    assert_eq!((stats.lookups, stats.block_reads), (1000, 1000));
    assert_eq!((stats.filter_negatives, stats.false_positives, stats.filter_unusable), (0, 0, 0));
    // Past the last key the index alone tells.
    assert_eq!(table.get(b"z").unwrap(), None);
    assert_eq!((table.stats().lookups, table.stats().block_reads), (1001, 1000));
}

#[test]
fn lookups_that_pass_the_filter_by_are_no_false_positives() {
    let (_folder, table) = table(TableOptions::default());
    for number in 0..1000 {
        assert_eq!(table.get_without_filter(&key(2 * number + 1)).unwrap(), None);
    }
    let stats = table.stats();
    assert_eq!((stats.lookups, stats.block_reads, stats.false_positives), (1000, 1000, 0));
}

#[test]
fn a_filter_with_a_damaged_header_is_passed_by_and_counted() {
    let (_folder, whole) = table(TableOptions::default());
    let mut bytes = std::fs::read(whole.path()).unwrap();
    let filter = table_common::surgery::map(&bytes).filter.unwrap();
    bytes[filter.start + 8] ^= 1;
    std::fs::write(whole.path(), &bytes).unwrap();
    let table = TableReader::open_unverified(whole.path(), &Hashers::new()).unwrap();
    assert!(table.filter().is_none());
    assert_eq!(table.get(&key(4)).unwrap(), Some(&b"value"[..]));
    assert_eq!(table.get(&key(5)).unwrap(), None);
    assert_eq!(table.multi_get(&[key(6), key(7)]).unwrap(), [Some(&b"value"[..]), None]);
    let stats = table.stats();
    assert_eq!((stats.filter_unusable, stats.lookups, stats.found, stats.block_reads), (4, 4, 2, 4));
    assert!(table.verify().unwrap_err().is_damage());

    // A filter file has nothing to fall back on.
    let mut bytes = table_common::filter_file_bytes();
    bytes[16 + 8] ^= 1;
    std::fs::write(whole.path(), &bytes).unwrap();
    assert!(TableReader::open_unverified(whole.path(), &Hashers::new()).unwrap_err().is_damage());
}

/// A body without bits denies every key, until verification finds it out.
#[test]
fn a_filter_with_a_damaged_body_is_passed_by_once_it_is_known() {
    let (_folder, whole) = table(TableOptions::default());
    let mut bytes = std::fs::read(whole.path()).unwrap();
    let filter = table_common::surgery::map(&bytes).filter.unwrap();
    bytes[filter.start + 48..filter.end].fill(0);
    std::fs::write(whole.path(), &bytes).unwrap();
    let table = TableReader::open_unverified(whole.path(), &Hashers::new()).unwrap();
    assert_eq!(table.get(&key(4)).unwrap(), None, "what the documentation of open_unverified warns of");
    assert!(table.verify().unwrap_err().is_damage());
    assert!(table.filter().is_none());
    assert_eq!(table.get(&key(4)).unwrap(), Some(&b"value"[..]));
    assert_eq!(table.stats().filter_unusable, 1);
}

/// A filter whose checksums held and whose bits were none denied every key, and verification said so; lookups
/// still asked it, and lost keys that the table had.
#[test]
fn a_filter_that_denies_a_key_is_passed_by_once_it_is_known() {
    let (_folder, whole) = table(TableOptions::default());
    let mut bytes = std::fs::read(whole.path()).unwrap();
    let map = table_common::surgery::map(&bytes);
    let filter = map.filter.clone().unwrap();
    bytes[filter.start + 48..filter.end].fill(0);
    table_common::surgery::mend(&mut bytes, &map);
    std::fs::write(whole.path(), &bytes).unwrap();
    let table = TableReader::open_unverified(whole.path(), &Hashers::new()).unwrap();
    assert_eq!(table.get(&key(4)).unwrap(), None, "what the documentation of open_unverified warns of");
    // The second time as the first, though the filter's own checksum holds.
    for _ in 0..2 {
        let error = table.verify().unwrap_err();
        assert!(
            matches!(&error, TableError::File { source: TableFault::FilterDeniesKey { .. }, .. }),
            "{error}"
        );
        assert!(table.filter().is_none());
        assert_eq!(table.get(&key(4)).unwrap(), Some(&b"value"[..]));
        assert_eq!(table.multi_get(&[key(4)]).unwrap(), [Some(&b"value"[..])]);
    }
    assert_eq!(table.stats().filter_unusable, 4);
}

/// Lookups that had failed were counted as such that could not ask the filter, 256 of a `multi_get` at a time.
#[test]
fn failed_lookups_count_only_the_blocks_that_they_read() {
    let (_folder, whole) = table(TableOptions::default());
    let mut bytes = std::fs::read(whole.path()).unwrap();
    let map = table_common::surgery::map(&bytes);
    bytes[map.filter.unwrap().start + 8] ^= 1;
    bytes[map.blocks[0].start] ^= 1;
    std::fs::write(whole.path(), &bytes).unwrap();
    let table = TableReader::open_unverified(whole.path(), &Hashers::new()).unwrap();
    assert!(table.get(&key(4)).unwrap_err().is_damage());
    assert!(table.multi_get(&[b"z".to_vec(), key(4).to_vec(), key(6).to_vec()]).unwrap_err().is_damage());
    let stats = table.stats();
    assert_eq!((stats.lookups, stats.filter_unusable, stats.found), (1, 1, 0), "the key past the last");
    assert_eq!(stats.block_reads, 2);
}
