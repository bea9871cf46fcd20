//! Tables whose checksums all hold and whose blocks are not what any writer writes. Lookups in them could give
//! wrong answers, so verification refuses each.

mod table_common;

use bloomline::error::{Section, TableFault};
use table_common::by_hand::Bytes;
use table_common::fault_of;

/// An entry that shares `shared` bytes with the key before it.
fn entry(shared: u8, suffix: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[shared, length(suffix), length(value)], suffix.as_bytes(), value.as_bytes()].concat()
}

/// The contents of a data block.
fn block(entries: &[Vec<u8>], restarts: &[u32]) -> Vec<u8> {
    let mut block = Bytes::default();
    block.raw(&entries.concat());
    for &restart in restarts {
        block.u32(restart);
    }
    block.u32(u32::try_from(restarts.len()).unwrap());
    block.0
}

/// A table without filter of the given blocks. The rest of it is right for `keys`, which have values of one byte.
struct Table {
    blocks: Vec<Vec<u8>>,
    last_keys: Vec<&'static str>,
    keys: Vec<&'static str>,
    /// Bytes between the data blocks and the index.
    gap: usize,
    /// Bytes after the last key in the index.
    index_rest: &'static str,
}

impl Table {
    fn new(
        blocks: impl Into<Vec<Vec<u8>>>,
        last_keys: impl Into<Vec<&'static str>>,
        keys: impl Into<Vec<&'static str>>,
    ) -> Self {
        let (blocks, last_keys, keys) = (blocks.into(), last_keys.into(), keys.into());
        Self { blocks, last_keys, keys, gap: 0, index_rest: "" }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = Bytes::default();
        file.header();
        let mut ends = Vec::new();
        for block in &self.blocks {
            let start = file.len();
            file.raw(block).seal(1, start);
            ends.push(file.len());
        }
        file.raw(&vec![0; self.gap]);
        let index = file.len();
        file.u64(ends.len() as u64);
        let mut key_end = 0;
        for (end, key) in ends.iter().zip(&self.last_keys) {
            key_end += key.len();
            file.u64(key_end as u64).u64(*end as u64);
        }
        file.raw(self.last_keys.concat().as_bytes()).raw(self.index_rest.as_bytes()).seal(2, index);
        let properties = file.len();
        let count = self.keys.len() as u64;
        let key_bytes = self.keys.concat().len() as u64;
        for (tag, number) in [(1, count), (2, key_bytes), (3, count)] {
            file.property(tag, &number.to_le_bytes());
        }
        file.property(4, self.keys[0].as_bytes()).property(5, self.keys[self.keys.len() - 1].as_bytes());
        file.property(6, b"by hand").seal(3, properties);
        let end = file.len();
        file.footer([(0, 0), (index, properties), (properties, end)]);
        file.0
    }

    fn fault(&self) -> TableFault {
        let fault = fault_of(&self.bytes());
        assert!(fault.is_damage());
        fault
    }

    /// Asserts that a malformed data block is found, by words of the message.
    fn assert_malformed(&self, words: &str) {
        let fault = self.fault();
        let right = matches!(&fault, TableFault::Malformed { section: Section::Data, what, .. } if what.contains(words));
        assert!(right, "{words} was expected: {fault}");
    }
}

fn one(entries: &[Vec<u8>], restarts: &[u32], keys: impl Into<Vec<&'static str>>) -> Table {
    let keys = keys.into();
    Table::new([block(entries, restarts)], [keys[keys.len() - 1]], keys)
}

fn ab() -> Vec<u8> {
    block(&[entry(0, "a", "1"), entry(0, "b", "2")], &[0])
}

#[test]
fn the_control() {
    let (_folder, path) = table_common::scratch("control.table");
    let table = Table::new(
        [ab(), block(&[entry(0, "cc", "3"), entry(1, "d", "4")], &[0])],
        ["b", "cd"],
        ["a", "b", "cc", "cd"],
    );
    std::fs::write(&path, table.bytes()).unwrap();
    let table = table_common::open(&path).unwrap();
    assert_eq!(table.get(b"cd").unwrap(), Some(&b"4"[..]));
    assert_eq!(table.iter().unwrap().count(), 4);
}

#[test]
fn keys_out_of_order() {
    one(&[entry(0, "b", "1"), entry(0, "a", "2")], &[0], ["b", "a"]).assert_malformed("not past");
    one(&[entry(0, "a", "1"), entry(0, "a", "2")], &[0], ["a", "a"]).assert_malformed("not past");
    one(&[entry(0, "ab", "1"), entry(1, "", "2")], &[0], ["ab", "a"]).assert_malformed("not past");
    // Each block is in order, the blocks are not.
    Table::new([ab(), ab()], ["b", "b"], ["a", "b", "a", "b"]).assert_malformed("not past");
    let overlapping = block(&[entry(0, "b", "3"), entry(0, "c", "4")], &[0]);
    Table::new([ab(), overlapping], ["b", "c"], ["a", "b", "b", "c"]).assert_malformed("not past");
}

#[test]
fn restart_points() {
    let entries = [entry(0, "aa", "1"), entry(1, "b", "2"), entry(0, "bb", "3")];
    let keys = ["aa", "ab", "bb"];
    let second = u32::try_from(entries[0].len()).unwrap();
    let third = second + u32::try_from(entries[1].len()).unwrap();
    let refused: [&[u32]; 9] = [
        &[second],          // the first entry is none
        &[0, second],       // shares a byte
        &[0, 1],            // within an entry
        &[0, third, third], // twice the same
        &[third, 0],        // descending
        &[0, third + 6],    // the end
        &[0, third + 100],  // past the end
        &[0, u32::MAX],
        &[1],
    ];
    for restarts in refused {
        one(&entries, restarts, keys).assert_malformed("restart");
    }
    let (_folder, path) = table_common::scratch("restarts.table");
    for accepted in [&[0][..], &[0, third]] {
        std::fs::write(&path, one(&entries, accepted, keys).bytes()).unwrap();
        table_common::open(&path).unwrap();
    }
}

#[test]
fn entries() {
    one(&[entry(1, "a", "1")], &[0], ["a"]).assert_malformed("shares more");
    one(&[entry(0, "a", "1"), entry(2, "b", "2")], &[0], ["a", "ab"]).assert_malformed("shares more");
    one(&[entry(0, "a", "1"), vec![0, 1, 9, b'b', b'2']], &[0], ["a", "b"]).assert_malformed("longer");
    one(&[entry(0, "a", "1"), vec![0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, b'b']], &[0], ["a", "b"])
        .assert_malformed("longer");
    one(&[vec![0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 1, b'a']], &[0], ["a"]).assert_malformed("lengths");
    one(&[entry(0, "a", "1"), vec![0x80]], &[0], ["a", "b"]).assert_malformed("lengths");
    one(&[], &[0], ["a"]).assert_malformed("without entries");
    one(&[entry(0, "a", "1")], &[], ["a"]).assert_malformed("without entries");
}

#[test]
fn an_index_that_disagrees() {
    let fault = Table { index_rest: "?", ..Table::new([ab()], ["b"], ["a", "b"]) }.fault();
    assert!(matches!(fault, TableFault::Malformed { section: Section::Index, .. }), "{fault}");
    let fault = Table::new([ab()], ["c"], ["a", "b"]).fault();
    assert!(matches!(fault, TableFault::KeyMismatch { .. }), "{fault}");
    // A gap before the index would be a place to hide bytes in.
    let fault = Table { gap: 3, ..Table::new([ab()], ["b"], ["a", "b"]) }.fault();
    assert!(matches!(fault, TableFault::SectionStart { section: Section::Index, .. }), "{fault}");
    // Bytes that are no entry, between the entries of two blocks, would need a block of their own.
    let fault =
        Table { blocks: vec![ab(), vec![]], ..Table::new([ab(), ab()], ["b", "c"], ["a", "b"]) }.fault();
    assert!(matches!(fault, TableFault::Malformed { section: Section::Data, .. }), "{fault}");
}

#[test]
fn counts_and_keys_that_disagree() {
    let fault = Table::new([ab()], ["b"], ["a", "a", "b"]).fault();
    assert!(matches!(fault, TableFault::CountMismatch { field: "entries", expected: 3, got: 2 }), "{fault}");
    let fault = Table::new([ab()], ["b"], ["A", "b"]).fault();
    assert!(matches!(fault, TableFault::KeyMismatch { field: "first key", .. }), "{fault}");
    let fault = Table::new([ab()], ["b"], ["a", "B"]).fault();
    assert!(matches!(fault, TableFault::KeyMismatch { field: "last key", .. }), "{fault}");
}

/// Opening is O(1) because properties are bounded.
#[test]
fn endless_properties() {
    let mut file = Bytes::default();
    file.header();
    let index = file.len();
    file.u64(0).seal(2, index);
    let properties = file.len();
    for tag in 1..=3 {
        file.property(tag, &[0; 8]);
    }
    file.property(7, &vec![0; 3 << 20]).seal(3, properties);
    let end = file.len();
    file.footer([(0, 0), (index, properties), (properties, end)]);
    let fault = fault_of(&file.0);
    assert!(matches!(fault, TableFault::SectionBytes { section: Section::Properties, .. }), "{fault}");
}
