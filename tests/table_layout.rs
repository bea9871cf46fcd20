//! The byte map, held against files that are written out by hand.

mod table_common;

use bloomline::error::TableError;
use bloomline::sizing::BlockedParams;
use bloomline::table::{FILE_HEADER_BYTES, FOOTER_BYTES, write_filter_file};
use bloomline::{BlockedFilter, FilterOptions, TableOptions};
use table_common::by_hand::Bytes;

fn writer() -> String {
    format!("bloomline {}", env!("CARGO_PKG_VERSION"))
}

const ENTRIES: [(&[u8], &[u8]); 3] = [(b"ape", b"1"), (b"apple", b""), (b"bee", b"three")];

/// Two data blocks, `ape` and `apple` in the first, then index, properties and the filter if there is one.
fn table_by_hand(filter: Option<&[u8]>) -> Vec<u8> {
    let mut file = Bytes::default();
    file.header();
    let first = file.len();
    file.raw(&[0, 3, 1]).raw(b"ape1").raw(&[2, 3, 0]).raw(b"ple").u32(0).u32(1).seal(1, first);
    let second = file.len();
    file.raw(&[0, 3, 5]).raw(b"beethree").u32(0).u32(1).seal(1, second);
    let data_end = file.len();
    let mut filter_at = (0, 0);
    if let Some(filter) = filter {
        while file.len() % 64 != 16 {
            file.raw(&[0]);
        }
        filter_at = (file.len(), file.len() + filter.len());
        file.raw(filter);
    }
    let index = file.len();
    file.u64(2).u64(5).u64(second as u64).u64(8).u64(data_end as u64).raw(b"applebee").seal(2, index);
    let properties = file.len();
    file.property(1, &3_u64.to_le_bytes())
        .property(2, &11_u64.to_le_bytes())
        .property(3, &6_u64.to_le_bytes());
    file.property(4, b"ape").property(5, b"bee").property(6, writer().as_bytes()).seal(3, properties);
    let end = file.len();
    file.footer([filter_at, (index, properties), (properties, end)]);
    file.0
}

fn table_by_the_writer(filter: Option<FilterOptions>) -> Vec<u8> {
    let (_folder, path) = table_common::scratch("layout.table");
    table_common::write_table(&path, TableOptions::default().filter(filter).block_bytes(24), ENTRIES);
    std::fs::read(&path).unwrap()
}

#[test]
fn a_table_without_filter() {
    assert_eq!(table_by_the_writer(None), table_by_hand(None));
}

#[test]
fn a_table_with_a_filter() {
    let mut filter = bloomline::FilterBuilder::new(FilterOptions::default());
    for (key, _) in ENTRIES {
        filter.add(key);
    }
    let by_hand = table_by_hand(Some(&filter.finish().unwrap()));
    assert_eq!(table_by_the_writer(Some(FilterOptions::default())), by_hand);
}

#[test]
fn a_table_without_entries() {
    let mut file = Bytes::default();
    file.header();
    let index = file.len();
    file.u64(0).seal(2, index);
    let properties = file.len();
    for tag in 1..=3 {
        file.property(tag, &[0; 8]);
    }
    file.property(6, writer().as_bytes()).seal(3, properties);
    let end = file.len();
    file.footer([(0, 0), (index, properties), (properties, end)]);

    let (_folder, path) = table_common::scratch("empty.table");
    table_common::write_table(&path, TableOptions::default().filter(None), []);
    assert_eq!(std::fs::read(&path).unwrap(), file.0);
}

#[test]
fn a_filter_file() {
    let mut filter = BlockedFilter::new(BlockedParams::explicit(1024, 6).unwrap()).unwrap();
    filter.add(b"key");
    let block = filter.encode();
    let mut file = Bytes::default();
    file.header().raw(&block);
    let properties = file.len();
    file.property(6, writer().as_bytes()).seal(3, properties);
    let end = file.len();
    file.footer([(16, properties), (0, 0), (properties, end)]);

    let (_folder, path) = table_common::scratch("layout.filter");
    assert_eq!(write_filter_file(&path, &filter).unwrap(), file.len() as u64);
    assert_eq!(std::fs::read(&path).unwrap(), file.0);
    let reader = table_common::open(&path).unwrap();
    assert!(reader.is_filter_only() && reader.filter().unwrap().might_contain(b"key"));
    assert!(matches!(reader.get(b"key"), Err(TableError::FilterOnly { .. })));
}

/// Tags that a later version may add don't keep this one from reading.
#[test]
fn properties_with_tags_to_come_are_skipped() {
    let mut file = Bytes::default();
    file.header();
    let index = file.len();
    file.u64(0).seal(2, index);
    let properties = file.len();
    for tag in 1..=3 {
        file.property(tag, &[0; 8]);
    }
    file.property(6, b"another writer").property(7, b"what is to come").property(0xFFFF, b"");
    file.seal(3, properties);
    let end = file.len();
    file.footer([(0, 0), (index, properties), (properties, end)]);

    let (_folder, path) = table_common::scratch("later.table");
    std::fs::write(&path, &file.0).unwrap();
    let table = table_common::open(&path).unwrap();
    assert_eq!(table.properties().writer, "another writer");
    assert_eq!(table.iter().unwrap().count(), 0);
}

#[test]
fn header_and_footer_have_their_sizes() {
    assert_eq!((FILE_HEADER_BYTES, FOOTER_BYTES), (16, 64));
}
