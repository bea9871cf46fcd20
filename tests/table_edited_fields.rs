//! Fields of file header, footer, index, blocks and properties that hold what no writer writes, with every
//! checksum mended: each is refused with an error of its own.

mod table_common;

use std::sync::OnceLock;

use bloomline::error::{FormatError, Section, TableFault};
use bloomline::table::verify_file;
use table_common::surgery::{self, Map, mend, u64_at};
use table_common::{fault_of, filter_file_bytes, small_blocks, table_bytes};

/// A table of several blocks.
fn table() -> (Vec<u8>, Map) {
    static TABLE: OnceLock<(Vec<u8>, Map)> = OnceLock::new();
    let made = || {
        let bytes = table_bytes(40, small_blocks());
        let map = surgery::map(&bytes);
        assert!(map.blocks.len() > 3);
        (bytes, map)
    };
    TABLE.get_or_init(made).clone()
}

/// The fault after an edit, its checksums mended for the layout before it.
fn edited((mut bytes, map): (Vec<u8>, Map), edit: impl FnOnce(&mut [u8], &Map)) -> TableFault {
    edit(&mut bytes, &map);
    mend(&mut bytes, &map);
    fault_of(&bytes)
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn mending_alone_changes_nothing() {
    let (mut bytes, map) = table();
    let whole = bytes.clone();
    mend(&mut bytes, &map);
    assert_eq!(bytes, whole);
}

#[test]
fn the_file_header() {
    let fault = edited(table(), |bytes, _| bytes[8] = 2);
    assert_eq!(fault, TableFault::Version { newest: 1, got: 2 });
    assert!(!fault.is_damage(), "a newer file is not a damaged one");
    assert_eq!(edited(table(), |bytes, _| bytes[11] = 1), TableFault::Reserved { field: "flags", got: 256 });
}

/// A version 0 was once said to be newer than 1, and such a file not to be damaged: of file header or filter.
#[test]
fn version_0_is_damage_and_not_newer() {
    let fault = edited(table(), |bytes, _| bytes[8] = 0);
    assert_eq!(fault, TableFault::NoVersion);
    assert!(fault.is_damage());
    let fault = edited(table(), |bytes, map| bytes[map.filter.clone().unwrap().start + 4] = 0);
    assert_eq!(fault, TableFault::Filter(FormatError::NoVersion));
    assert!(fault.is_damage());
    for version in [2_u16, 256, u16::MAX] {
        let fault = edited(table(), |bytes, _| bytes[8..10].copy_from_slice(&version.to_le_bytes()));
        assert_eq!(fault, TableFault::Version { newest: 1, got: version });
        assert!(!fault.is_damage());
    }
}

#[test]
fn the_footers_version_and_flags() {
    assert_eq!(
        edited(table(), |bytes, map| bytes[map.footer + 48] = 3),
        TableFault::FooterVersion { expected: 1, got: 3 }
    );
    assert_eq!(
        edited(table(), |bytes, map| bytes[map.footer + 50] = 1),
        TableFault::Reserved { field: "footer flags", got: 1 }
    );
}

/// Every offset and length in the footer, set to every value that could overflow, overlap or leave a gap.
#[test]
fn the_footers_offsets_and_lengths() {
    for whole in [table(), (filter_file_bytes(), surgery::map(&filter_file_bytes()))] {
        let len = whole.0.len() as u64;
        for field in (0..48).step_by(8) {
            let right = u64_at(&whole.0, whole.1.footer + field);
            let near =
                [1, 5, 8, 16, 48, 64].into_iter().flat_map(|step| [right + step, right.wrapping_sub(step)]);
            let edges =
                [0, 1, 15, 16, len - 64, len, len + 1, 1 << 31, 1 << 32, 1 << 63, u64::MAX - 63, u64::MAX];
            for value in near.chain(edges).filter(|&value| value != right) {
                let fault = edited(whole.clone(), |bytes, map| put(bytes, map.footer + field, value));
                let right = matches!(
                    fault,
                    TableFault::SectionStart { .. }
                        | TableFault::SectionBytes { .. }
                        | TableFault::SectionsEnd { .. }
                        | TableFault::Filter(FormatError::Length { .. })
                );
                assert!(right && fault.is_damage(), "{value} at {field} of the footer: {fault}");
            }
        }
    }
}

#[test]
fn a_file_that_claims_to_hold_nothing() {
    let fault = edited(table(), |bytes, map| bytes[map.footer..map.footer + 32].fill(0));
    assert_eq!(fault, TableFault::SectionMissing { section: Section::Index });
}

/// A table that hides its filter would be valid if the filter's place could be taken for data.
#[test]
fn a_table_that_denies_its_filter() {
    let fault = edited(table(), |bytes, map| bytes[map.footer..map.footer + 16].fill(0));
    assert!(matches!(fault, TableFault::SectionStart { section: Section::Index, .. }), "{fault}");
}

#[test]
fn padding() {
    let (bytes, map) = table();
    let padding = map.blocks.last().unwrap().end..map.filter.clone().unwrap().start;
    assert!(!padding.is_empty(), "choose other entries, so that there is padding");
    for at in padding {
        let mut bytes = bytes.clone();
        bytes[at] = 7;
        assert_eq!(fault_of(&bytes), TableFault::Padding { offset: at as u64, got: 7 });
    }
}

#[test]
fn block_types() {
    let fault = edited(table(), |bytes, map| bytes[map.blocks[1].end - 5] = 2);
    assert!(matches!(fault, TableFault::BlockType { section: Section::Data, expected: 1, got: 2, .. }));
    let fault = edited(table(), |bytes, map| bytes[map.index.clone().unwrap().end - 5] = 0);
    assert!(matches!(fault, TableFault::BlockType { section: Section::Index, expected: 2, got: 0, .. }));
    let fault = edited(table(), |bytes, map| bytes[map.properties.end - 5] = 0xFF);
    assert!(matches!(
        fault,
        TableFault::BlockType { section: Section::Properties, expected: 3, got: 255, .. }
    ));
}

#[test]
fn the_index() {
    let index = |map: &Map| map.index.clone().unwrap().start;
    let blocks = table().1.blocks.len();
    let near = |step| blocks.wrapping_add_signed(step) as u64;
    for count in [0, 1, near(-1), near(1), 1 << 20, 1 << 60, u64::MAX / 16, u64::MAX] {
        let fault = edited(table(), |bytes, map| put(bytes, index(map), count));
        assert!(fault.is_damage(), "{count} blocks: {fault}");
    }
    // The two ends in the first, second and last record.
    for record in [0, 1, blocks - 1] {
        for half in [0, 8] {
            let (bytes, map) = table();
            let at = index(&map) + 8 + 16 * record + half;
            let right = u64_at(&bytes, at);
            let edges = [0, 1, 16, right - 1, right + 1, 1 << 20, 1 << 40, u64::MAX - 1, u64::MAX];
            for value in edges.into_iter().filter(|&value| value != right) {
                let fault = edited(table(), |bytes, _| put(bytes, at, value));
                assert!(fault.is_damage(), "{value} in record {record}: {fault}");
            }
        }
    }
    // A last key that is not the block's.
    let fault = edited(table(), |bytes, map| bytes[map.index.clone().unwrap().end - 6] ^= 1);
    assert!(matches!(fault, TableFault::KeyMismatch { .. }), "{fault}");
}

#[test]
fn restart_points() {
    for restarts in [0_u32, 2, 1000, u32::MAX] {
        let fault = edited(table(), |bytes, map| {
            let at = map.blocks[1].end - 9;
            bytes[at..at + 4].copy_from_slice(&restarts.to_le_bytes());
        });
        assert!(matches!(fault, TableFault::Malformed { section: Section::Data, .. }), "{restarts}: {fault}");
    }
    for offset in [1_u32, 5, 1000, u32::MAX] {
        let fault = edited(table(), |bytes, map| {
            let at = map.blocks[1].end - 13;
            bytes[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        });
        assert!(matches!(fault, TableFault::Malformed { section: Section::Data, .. }), "{offset}: {fault}");
    }
}

/// Every byte of a block's first entries, set to every value: it is refused, or gives the table back unchanged.
#[test]
fn entries() {
    let (whole, map) = table();
    let (_folder, path) = table_common::scratch("edited.table");
    for at in map.blocks[1].start..map.blocks[1].start + 24 {
        for value in 0..=255_u8 {
            let mut bytes = whole.clone();
            bytes[at] = value;
            mend(&mut bytes, &map);
            table_common::overwrite(&path, &bytes);
            let Ok(table) = table_common::open(&path) else { continue };
            // What passes differs in a value only: its key is known to the filter and in its place.
            let keys: Vec<_> = table.iter().unwrap().map(|entry| entry.unwrap().0).collect();
            assert!(keys.is_sorted_by(|a, b| a < b));
            for key in &keys {
                assert!(table.get(key).unwrap().is_some());
            }
        }
    }
}

/// A filter that belongs to another table: its own checksums hold, and it would hide keys.
#[test]
fn a_filter_that_denies_keys() {
    let fault = edited(table(), |bytes, map| {
        let filter = map.filter.clone().unwrap();
        bytes[filter.start + 48..filter.end].fill(0);
    });
    assert_eq!(fault, TableFault::FilterDeniesKey { offset: 16 });
}

#[test]
fn a_filter_of_a_newer_version_or_kind_is_no_damage() {
    for (at, value) in [(4, 2), (5, 77)] {
        let fault = edited(table(), |bytes, map| bytes[map.filter.clone().unwrap().start + at] = value);
        assert!(
            matches!(
                fault,
                TableFault::Filter(
                    FormatError::Version { newest: 1, got: 2 } | FormatError::UnknownKind { got: 77 }
                )
            ),
            "{fault}"
        );
        assert!(!fault.is_damage());
    }
}

#[test]
fn properties_that_disagree_with_the_data() {
    // Tag, length, number: 14 bytes each.
    let number = |map: &Map, nth: usize| map.properties.start + 14 * nth + 6;
    for nth in 0..3 {
        let fault = edited(table(), |bytes, map| bytes[number(map, nth)] ^= 1);
        assert!(matches!(fault, TableFault::CountMismatch { .. }), "{fault}");
    }
    let first_key = |map: &Map| map.properties.start + 3 * 14 + 6;
    let fault = edited(table(), |bytes, map| bytes[first_key(map)] ^= 1);
    assert!(matches!(fault, TableFault::KeyMismatch { field: "first key", .. }), "{fault}");
    // Another tag, an overlong length, no entries with keys all the same.
    let edits: [fn(&mut [u8], &Map); 4] = [
        |bytes, map| bytes[map.properties.start] = 9,
        |bytes, map| bytes[map.properties.start + 14] = 1,
        |bytes, map| bytes[map.properties.start + 5] = 0x7F,
        |bytes, map| put(bytes, map.properties.start + 6, 0),
    ];
    for edit in edits {
        let fault = edited(table(), edit);
        assert!(matches!(fault, TableFault::Malformed { section: Section::Properties, .. }), "{fault}");
    }
}

/// Without the hasher everything is verified but that the filter knows the keys.
#[test]
fn an_unknown_hasher_does_not_hide_damage() {
    let (_folder, path) = table_common::scratch("foreign hasher");
    let (mut bytes, map) = table();
    bytes[map.filter.clone().unwrap().start + 33] = 0x80;
    mend(&mut bytes, &map);
    std::fs::write(&path, &bytes).unwrap();
    let hashers = bloomline::hash::Hashers::new();
    let error = table_common::open(&path).unwrap_err();
    assert!(error.to_string().contains("application hasher 0x8001") && !error.is_damage(), "{error}");
    verify_file(&path, &hashers).unwrap();
    for at in [map.filter.clone().unwrap().end - 1, map.blocks[0].start + 3] {
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(verify_file(&path, &hashers).unwrap_err().is_damage());
        bytes[at] ^= 1;
    }
}
