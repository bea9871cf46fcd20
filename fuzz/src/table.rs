//! Table and filter files: any bytes, files of the writer's with changes, and tables put together by hand.

mod by_hand;
mod lookups;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};
use bloomline::error::{TableError, TableFault};
use bloomline::filter::Budget;
use bloomline::format::Kind;
use bloomline::hash::Hashers;
use bloomline::table::{verify_file, write_filter_block};
use bloomline::{FilterOptions, KeyHash, TableOptions, TableReader, TableWriter};

use crate::answers;
use crate::edit::Edit;
use crate::memory::within;
use crate::mend::{self, Mend};
use crate::recipe::{AnyHasher, Keys, Recipe};
use by_hand::ByHand;

/// What a table holds.
pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// An input.
#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Bytes, after the mending that is asked for.
    Bytes(Mend, &'a [u8]),
    /// A table that the writer wrote, changed.
    Written(Written, Vec<Edit>, Mend),
    /// A filter file that the library wrote, changed.
    Filter(Recipe, Vec<Edit>, Mend),
    /// A table put together field by field.
    ByHand(ByHand),
}

/// A table for the writer.
#[derive(Arbitrary, Debug, Clone)]
pub(crate) struct Written {
    keys: Keys,
    values: Vec<Vec<u8>>,
    block_bytes: u16,
    filter: Option<(u8, u8, AnyHasher)>,
}

/// Most keys of a run.
const RUN: u16 = 200;

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let hashes = answers::hashes(&mut input);
    let Ok(input) = Input::arbitrary_take_rest(input) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = &folder.path().join("file");
    match input {
        Input::Bytes(mend, bytes) => {
            let mut file = bytes.to_vec();
            mend::table(&mut file, mend);
            check(path, &file, &Hashers::new(), &hashes);
        }
        Input::Written(written, edits, mend) => {
            let (entries, hashers) = (written.entries(), written.hashers());
            written.write(path, &entries);
            let (sound, file) = edited(path, &edits, mend);
            let read = check(path, &file, &hashers, &hashes);
            if file == sound {
                assert!(read.as_ref() == Some(&entries), "a table is read otherwise than it was written");
            } else if mend == Mend::Nothing {
                assert!(read.is_none(), "damage was accepted");
                lookups::damaged(path, &entries, &hashers);
            }
        }
        Input::Filter(recipe, edits, mend) => {
            write_filter_block(path, &recipe.block()).expect("a sound block");
            let (sound, file) = edited(path, &edits, mend);
            let hashers = recipe.hasher.hashers();
            let asked: Vec<_> = hashes.iter().copied().chain(recipe.hashes()).collect();
            let read = check(path, &file, &hashers, &asked);
            assert_eq!(read.is_some() && mend == Mend::Nothing, file == sound && mend == Mend::Nothing);
            if file == sound {
                let reader = TableReader::open(path, &hashers).expect("it was opened before");
                let filter = reader.filter().expect("a filter file");
                assert!(
                    recipe.hashes().into_iter().all(|hash| filter.might_contain_hash(hash)),
                    "a key is forgotten"
                );
            }
        }
        Input::ByHand(by_hand) => {
            let (file, valid) = by_hand.file();
            let read = check(path, &file, &Hashers::new(), &hashes);
            assert_eq!(read, valid, "what DESIGN.md says of this table");
        }
    }
}

impl Written {
    pub(crate) fn entries(&self) -> Entries {
        let values = self.values.iter().cycle();
        let padding = std::iter::repeat(Vec::new());
        let keys = self.keys.keys(RUN).into_iter();
        if self.values.is_empty() { keys.zip(padding).collect() } else { keys.zip(values.cloned()).collect() }
    }

    fn hashers(&self) -> Hashers {
        self.filter.map_or(Hashers::new(), |(.., hasher)| hasher.hashers())
    }

    pub(crate) fn write(&self, path: &Path, entries: &Entries) {
        let filter = self.filter.map(|(kind, rate, hasher)| {
            let kind = [Kind::Blocked, Kind::Classic, Kind::Compact][usize::from(kind % 3)];
            let budget = Budget::Fpp(0.5_f64.powi(i32::from(rate % 16) + 1));
            FilterOptions::default().kind(kind).budget(budget).hasher(hasher.hasher())
        });
        let options = TableOptions::default().filter(filter).block_bytes(self.block_bytes.into());
        let mut writer = TableWriter::create(path, options).expect("a folder to write in");
        for (key, value) in entries {
            writer.add(key, value).expect("keys in order");
        }
        let summary = writer.finish().expect("room");
        assert_eq!(summary.entries, entries.len() as u64);
    }
}

/// The file at `path`, as it is and with changes.
fn edited(path: &Path, edits: &[Edit], mend: Mend) -> (Vec<u8>, Vec<u8>) {
    let sound = fs::read(path).expect("a file that was written");
    let mut file = sound.clone();
    for edit in edits.iter().take(8) {
        edit.apply(&mut file, &mend::table_parts(&sound));
    }
    mend::table(&mut file, mend);
    (sound, file)
}

/// Has a file of these bytes, which may be any, opened and read in every way. Returns what it holds (nothing, where
/// it is a filter alone) if verification accepts it.
fn check(path: &Path, file: &[u8], hashers: &Hashers, hashes: &[KeyHash]) -> Option<Entries> {
    fs::write(path, file).expect("room");
    // Keys and hashes of a block at a time; no key has more bytes than the file.
    let bytes = 16 * file.len() + (128 << 10);
    let opened = within(bytes, || TableReader::open(path, hashers));
    let unverified = within(bytes, || TableReader::open_unverified(path, hashers));
    let unasked = within(bytes, || verify_file(path, hashers));
    let fault = opened.as_ref().err().map(said);
    match &unverified {
        Err(error) => {
            assert_eq!(Some(said(error)), fault, "opening finds the same with verification and without");
        }
        Ok(reader) => {
            assert_eq!(reader.file_bytes(), file.len() as u64);
            lookups::unharmed(reader, hashes);
            assert_eq!(reader.verify().err().as_ref().map(said), fault);
            assert_eq!(reader.verify().err().as_ref().map(said), fault, "verified again");
            lookups::unharmed(reader, hashes);
        }
    }
    if let Err(error) = unasked {
        said(&error);
        assert!(fault.is_some(), "{error}");
    }
    let reader = opened.ok()?;
    let mut mended = file.to_vec();
    mend::table(&mut mended, Mend::Checksums);
    assert!(mended == file, "a wrong checksum was accepted");

    let mend::Sections { blocks, filter, .. } = mend::sections(file);
    assert_eq!(filter.is_some(), reader.filter().is_some());
    if let Some(filter) = filter {
        let padding = &file[blocks.last().map_or(16, |last| last.end)..filter.start];
        assert!(padding.len() < 64 && padding.iter().all(|&byte| byte == 0), "padding: {padding:?}");
        assert_eq!(filter.start % 64, 16, "lines of a filter lie across cache lines");
        assert!(answers::check(&file[filter], hashers, hashes), "a file's filter is refused");
    }
    if reader.is_filter_only() {
        assert!(matches!(reader.get(b"key"), Err(TableError::FilterOnly { .. })));
        assert!(matches!(reader.iter().err(), Some(TableError::FilterOnly { .. })));
        return Some(Entries::new());
    }
    Some(lookups::consistent(&reader, file))
}

/// The text of an error about a file's contents: one line, that names the file.
fn said(error: &TableError) -> String {
    let TableError::File { source, .. } = error else { panic!("not of the file's contents: {error}") };
    let out_of_memory =
        matches!(source, TableFault::Filter(bloomline::error::FormatError::OutOfMemory { .. }));
    assert!(!out_of_memory, "more memory than the bytes justify");
    let text = error.to_string();
    assert!(!text.contains('\n') && !source.to_string().is_empty(), "{text:?}");
    let _ = source.is_damage();
    text
}
