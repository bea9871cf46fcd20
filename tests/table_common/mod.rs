//! Helpers that several test files share.
#![allow(dead_code, reason = "each test file uses some of the helpers")]

pub(crate) mod by_hand;
pub(crate) mod child;
pub(crate) mod fields;
pub(crate) mod golden;
pub(crate) mod surgery;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use bloomline::error::{TableError, TableFault};
use bloomline::filter::Budget;
use bloomline::hash::Hashers;
use bloomline::sizing::BlockedParams;
use bloomline::table::write_filter_file;
use bloomline::{BlockedFilter, FilterOptions, TableOptions, TableReader, TableWriter};

/// A folder that is removed when it is dropped, and a path in it.
pub(crate) fn scratch(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    (folder, path)
}

/// Writes entries, which must be in order.
pub(crate) fn write_table<'a>(
    path: &Path,
    options: TableOptions,
    entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
) -> bloomline::table::TableSummary {
    let mut writer = TableWriter::create(path, options).unwrap();
    for (key, value) in entries {
        writer.add(key, value).unwrap();
    }
    writer.finish().unwrap()
}

/// Small blocks, so that a small table has several, and a filter.
pub(crate) fn small_blocks() -> TableOptions {
    let filter = FilterOptions::default().budget(Budget::BitsPerKey(10.0));
    TableOptions::default().filter(Some(filter)).block_bytes(200)
}

/// Entries whose keys share prefixes of many lengths.
pub(crate) fn entries(count: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries: Vec<_> = (0..count)
        .map(|i| (format!("key {:x}/{}", i % 7, i.wrapping_mul(2_654_435_761)), format!("value {i}")))
        .map(|(key, value)| (key.into_bytes(), value.into_bytes()))
        .collect();
    entries.sort();
    entries
}

/// Writes [`entries`].
pub(crate) fn write_entries(path: &Path, options: TableOptions, entries: &[(Vec<u8>, Vec<u8>)]) {
    write_table(path, options, entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice())));
}

/// The bytes of a table of `count` [`entries`].
pub(crate) fn table_bytes(count: u32, options: TableOptions) -> Vec<u8> {
    let (_folder, path) = scratch("some.table");
    write_entries(&path, options, &entries(count));
    std::fs::read(path).unwrap()
}

/// The bytes of a filter file of a few keys.
pub(crate) fn filter_file_bytes() -> Vec<u8> {
    let (_folder, path) = scratch("some.filter");
    let mut filter = BlockedFilter::new(BlockedParams::explicit(1024, 6).unwrap()).unwrap();
    for key in filter_keys() {
        filter.add(&key);
    }
    write_filter_file(&path, &filter).unwrap();
    std::fs::read(path).unwrap()
}

/// The keys in [`filter_file_bytes`].
pub(crate) fn filter_keys() -> impl Iterator<Item = Vec<u8>> {
    (0..90_u32).map(|i| format!("member {i}").into_bytes())
}

/// Opens and verifies.
pub(crate) fn open(path: &Path) -> Result<TableReader, TableError> {
    TableReader::open(path, &Hashers::new())
}

/// What `open` finds wrong with a file of these bytes.
pub(crate) fn fault_of(bytes: &[u8]) -> TableFault {
    let (_folder, path) = scratch("damaged");
    std::fs::write(&path, bytes).unwrap();
    match open(&path) {
        Err(TableError::File { path: named, source }) => {
            assert_eq!(named, path);
            source
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no fault was found"),
    }
}

/// Puts bytes in a file as they are, without truncating it first, which would make the disk write each version.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = File::options().create(true).truncate(false).write(true).open(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_all(bytes).unwrap();
}

/// The names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
