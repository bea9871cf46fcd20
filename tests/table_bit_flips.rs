//! Every single bit of a small table and of a small filter file, flipped: verification finds it, and lookups that
//! did not verify beforehand neither panic nor invent a value.

mod table_common;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use bloomline::error::TableError;
use bloomline::hash::Hashers;
use bloomline::table::verify_file;
use bloomline::{TableOptions, TableReader};
use table_common::{entries, filter_file_bytes, small_blocks, surgery, table_bytes};

const ENTRIES: u32 = 12;

/// Puts a file of these bytes on the disk, flips each of its bits in turn, and hands over the bit and the path.
fn each_flip(bytes: &[u8], mut check: impl FnMut(usize, &Path)) {
    let (_folder, path) = table_common::scratch("flipped");
    std::fs::write(&path, bytes).unwrap();
    let mut file = File::options().write(true).open(&path).unwrap();
    let mut put = |at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    for bit in 0..bytes.len() * 8 {
        let at = bit / 8;
        put(at, bytes[at] ^ 1 << (bit % 8));
        check(bit, &path);
        put(at, bytes[at]);
    }
    table_common::open(&path).expect("whole again");
}

fn assert_verification_fails(bytes: &[u8]) {
    each_flip(bytes, |bit, path| {
        for error in [table_common::open(path).unwrap_err(), verify_file(path, &Hashers::new()).unwrap_err()]
        {
            assert!(error.is_damage(), "bit {bit} of byte {}: {error}", bit / 8);
        }
    });
}

#[test]
fn of_a_table() {
    assert_verification_fails(&table_bytes(ENTRIES, small_blocks()));
}

#[test]
fn of_a_table_without_filter() {
    assert_verification_fails(&table_bytes(ENTRIES, TableOptions::default().filter(None)));
}

#[test]
fn of_a_filter_file() {
    assert_verification_fails(&filter_file_bytes());
}

#[test]
fn lookups_in_an_unverified_table_err_and_never_lie_but_for_the_filters_body() {
    let bytes = table_bytes(ENTRIES, small_blocks());
    let filter_body = surgery::map(&bytes).filter.map(|filter| filter.start + 48..filter.end).unwrap();
    let entries = entries(ENTRIES);
    let mut errors = 0;
    each_flip(&bytes, |bit, path| {
        let Ok(table) = TableReader::open_unverified(path, &Hashers::new()) else { return };
        for (key, value) in &entries {
            match table.get(key) {
                Ok(Some(got)) => assert_eq!(got, value, "bit {bit}"),
                Ok(None) => assert!(filter_body.contains(&(bit / 8)), "bit {bit}"),
                Err(error) => {
                    assert!(matches!(error, TableError::File { .. }) && error.is_damage());
                    errors += 1;
                }
            }
            match table.get_without_filter(key) {
                Ok(got) => assert_eq!(got, Some(value.as_slice()), "bit {bit}"),
                Err(error) => assert!(error.is_damage()),
            }
        }
        let absent = table.get(b"no such key");
        assert!(absent.is_err() || absent.is_ok_and(|value| value.is_none()), "bit {bit}");
    });
    assert!(errors > 0);
}
