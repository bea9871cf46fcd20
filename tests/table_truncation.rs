//! Files cut off at every length, and files with bytes after their end.

mod table_common;

use bloomline::error::TableFault;
use table_common::{fault_of, filter_file_bytes, small_blocks, table_bytes};

fn assert_every_truncation_is_found(bytes: &[u8]) {
    for len in 0..bytes.len() {
        let fault = fault_of(&bytes[..len]);
        let got = len as u64;
        let right = match len {
            0 => fault == TableFault::Empty { needed: 80 },
            1..80 => fault == TableFault::TooShort { needed: 80, got },
            _ => matches!(fault, TableFault::MissingFooter { .. }),
        };
        assert!(right && fault.is_damage(), "{len} bytes: {fault}");
    }
}

#[test]
fn a_table_cut_off_anywhere() {
    assert_every_truncation_is_found(&table_bytes(12, small_blocks()));
}

#[test]
fn a_filter_file_cut_off_anywhere() {
    assert_every_truncation_is_found(&filter_file_bytes());
}

#[test]
fn bytes_after_the_end_are_told_with_the_length_that_is_right() {
    for whole in [table_bytes(12, small_blocks()), filter_file_bytes()] {
        let expected = whole.len() as u64;
        for extra in (1..200).chain([4096, 60_000]) {
            let mut bytes = whole.clone();
            bytes.resize(whole.len() + extra, b'\n');
            assert_eq!(fault_of(&bytes), TableFault::TrailingBytes { expected, got: bytes.len() as u64 });
        }
        let mut far = whole.clone();
        far.resize(whole.len() + (1 << 20), 0);
        assert!(matches!(fault_of(&far), TableFault::MissingFooter { .. }));
    }
}

/// Two downloads into one file: it begins and ends as it should.
#[test]
fn a_file_followed_by_itself() {
    for whole in [table_bytes(12, small_blocks()), filter_file_bytes()] {
        let fault = fault_of(&whole.repeat(2));
        assert!(matches!(fault, TableFault::SectionsEnd { .. }), "{fault}");
    }
}

/// A hole where the file's middle should be, as a file system may leave after a power failure.
#[test]
fn a_file_with_a_hole_of_zeros() {
    let whole = table_bytes(100, small_blocks());
    for (start, end) in [(16, 200), (0, 300), (whole.len() - 300, whole.len()), (0, whole.len())] {
        let mut bytes = whole.clone();
        bytes[start..end].fill(0);
        assert!(fault_of(&bytes).is_damage());
    }
}
