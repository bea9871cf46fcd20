//! What is no file of this library, or not one for this program: one clear error each, that names the file.

mod table_common;

use std::path::Path;

use bloomline::error::{FormatError, HasherError, TableError, TableFault};
use bloomline::hash::{Hasher, Hashers, SecretKey};
use bloomline::sizing::BlockedParams;
use bloomline::table::{verify_file, write_filter_block, write_filter_file};
use bloomline::{BlockedFilter, TableReader};
use table_common::{fault_of, filter_file_bytes, scratch, small_blocks, table_bytes};

fn error_of(path: &Path) -> TableError {
    let error = table_common::open(path).unwrap_err();
    let unverified = TableReader::open_unverified(path, &Hashers::new()).unwrap_err();
    assert_eq!(error.to_string(), unverified.to_string());
    assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

#[test]
fn a_missing_file() {
    let (_folder, path) = scratch("missing.table");
    let error = error_of(&path);
    assert!(matches!(&error, TableError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
    assert!(!error.is_damage());
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let error = error_of(folder.path());
    assert!(matches!(error, TableError::File { source: TableFault::NotAFile { got: "a directory" }, .. }));
    assert!(!error.is_damage());
}

/// Opening a pipe would wait for somebody to write to it.
#[cfg(unix)]
#[test]
fn a_pipe() {
    let (_folder, path) = scratch("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = error_of(&path);
    assert!(matches!(error, TableError::File { source: TableFault::NotAFile { .. }, .. }));
}

#[test]
fn an_empty_file_and_other_formats() {
    let (_folder, path) = scratch("other");
    let block = filter_file_bytes()[16..].to_vec();
    for foreign in
        [&b"apple\nbanana\n"[..], b"x", &[0; 4096], b"\x89PNG\r\n\x1a\n and more", b"\x1f\x8b\x08", &block]
    {
        std::fs::write(&path, foreign).unwrap();
        let error = error_of(&path);
        assert!(matches!(error, TableError::File { source: TableFault::Magic { .. }, .. }), "{error}");
        assert!(error.is_damage());
    }
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(error_of(&path), TableError::File { source: TableFault::Empty { needed: 80 }, .. }));
}

/// As a transfer in text mode does: the magic is made so that this is seen at once.
#[test]
fn line_ends_that_were_changed() {
    for whole in [table_bytes(40, small_blocks()), filter_file_bytes()] {
        let mut bytes = whole.clone();
        bytes.remove(4);
        assert!(matches!(fault_of(&bytes), TableFault::Magic { .. }));
        let mut bytes = whole;
        bytes.insert(7, b'\r');
        assert!(matches!(fault_of(&bytes), TableFault::Magic { .. }));
    }
}

#[test]
fn a_secret_key_that_is_missing_or_wrong() {
    let key = |byte| SecretKey::from_bytes([byte; 16]);
    let params = BlockedParams::explicit(1024, 6).unwrap();
    let mut filter = BlockedFilter::with_hasher(params, Hasher::siphash_2_4(key(1))).unwrap();
    filter.add(b"member");
    let (_folder, path) = scratch("keyed.filter");
    write_filter_file(&path, &filter).unwrap();

    let fault = |hashers: &Hashers| match TableReader::open(&path, hashers).unwrap_err() {
        error @ TableError::File { .. } if error.is_damage() => panic!("{error}"),
        TableError::File { source: TableFault::Filter(FormatError::Hasher(fault)), .. } => fault,
        error => panic!("{error}"),
    };
    assert!(matches!(fault(&Hashers::new()), HasherError::SecretKeyNeeded { .. }));
    let wrong = Hashers::new().with_secret_key(key(2));
    assert!(matches!(fault(&wrong), HasherError::WrongSecretKey { .. }));
    verify_file(&path, &Hashers::new()).expect("the checksums need no key");

    let right = Hashers::new().with_secret_key(key(2)).with_secret_key(key(1));
    let reader = TableReader::open(&path, &right).unwrap();
    assert!(reader.filter().unwrap().might_contain(b"member"));
}

#[test]
fn a_damaged_block_is_not_written() {
    let (folder, path) = scratch("encoded.filter");
    let block = filter_file_bytes();
    let block = &block[16..16 + 48 + 128];
    let bytes = write_filter_block(&path, block).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), filter_file_bytes());
    assert_eq!(bytes, filter_file_bytes().len() as u64);
    std::fs::remove_file(&path).unwrap();
    let mut damaged = block.to_vec();
    damaged[100] ^= 1;
    for bad in [&damaged[..], &block[..100], b""] {
        assert!(write_filter_block(&path, bad).unwrap_err().is_damage());
    }
    assert!(table_common::names_in(folder.path()).is_empty());
}
