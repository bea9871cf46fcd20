//! Opening files and looking keys up.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::atomic_file::{failed, not_a_file};
use super::block::BlockView;
use super::index::IndexView;
use super::layout::Sections;
use super::malformed::Malformed;
use super::properties::Properties;
use super::sealed::{self, BlockType};
use super::stats::{Counters, Outcome, ReadStats};
use crate::error::{FormatError, Section, TableError, TableFault};
use crate::filter::{FilterBlock, FilterReader};
use crate::hash::Hashers;
use crate::mmap::{Access, FileMap, FileSlice};

/// Keys of a [`TableReader::multi_get`] that the filter is asked about at a time.
const CHUNK: usize = 256;

/// A table or filter file, mapped into memory.
///
/// The file's pages are shared with every other process that has it open; values are lent from them without a
/// copy. Threads share one reader by reference. See [`mmap`](crate::mmap) for what happens when somebody
/// truncates or rewrites the file in place, which this library never does.
///
/// A lookup asks the filter first, then the index, then at most one data block. [`stats`](Self::stats) says how
/// often each was needed.
#[derive(Debug)]
pub struct TableReader {
    pub(super) path: PathBuf,
    pub(super) map: FileMap,
    pub(super) sections: Sections,
    pub(super) filter: Filter,
    properties: Properties,
    /// The filter has been seen to be damaged, or to deny a key of the table.
    pub(super) filter_damaged: AtomicBool,
    /// The checksum of the index has been seen to hold.
    index_verified: AtomicBool,
    /// All checksums have been seen to hold.
    pub(super) verified: AtomicBool,
    counters: Counters,
}

/// The filter of a file.
#[derive(Debug)]
pub(super) enum Filter {
    Absent,
    Ready(FilterReader<FileSlice>),
    /// There is one, and the hasher to ask it with is missing.
    Locked(FilterBlock<FileSlice>, FormatError),
    /// There is one, and its header is damaged.
    Unusable(FormatError),
}

/// Why a lookup goes on to the index.
#[derive(Clone, Copy)]
enum Verdict {
    /// The filter says that the key is perhaps present.
    Maybe,
    /// There was no filter to ask, or it was passed by on purpose.
    Unasked,
    /// There is a filter, and it can't be asked.
    Unusable,
}

impl TableReader {
    /// Opens a file and verifies all of it: see [`verify`](Self::verify).
    ///
    /// `hashers` holds the secret keys and application hashers that the filter may need; `&Hashers::new()` where
    /// there are none.
    ///
    /// # Errors
    /// [`TableError::Io`]; [`TableError::File`] with what is wrong with the file, each kind of fault its own
    /// variant of [`TableFault`].
    pub fn open(path: &Path, hashers: &Hashers) -> Result<Self, TableError> {
        let reader = Self::open_unverified(path, hashers)?;
        reader.verify()?;
        Ok(reader)
    }

    /// Opens a file and checks only file header, footer, properties and the header of the filter: O(1), whatever
    /// the size of the file.
    ///
    /// Lookups then verify what they read of index and data blocks, the index once. The filter's body is
    /// believed: where it is damaged it may deny keys that are there. A table whose filter header is damaged is
    /// opened all the same; its lookups go to the index, and are counted in [`ReadStats::filter_unusable`].
    ///
    /// # Errors
    /// As [`open`](Self::open), for what is checked. A filter that needs a hasher which is not in `hashers` is an
    /// error, and so is a damaged filter header in a filter file.
    pub fn open_unverified(path: &Path, hashers: &Hashers) -> Result<Self, TableError> {
        let reader = Self::open_to_inspect(path, hashers)?;
        match &reader.filter {
            Filter::Locked(_, fault) => Err(reader.fault(fault.clone())),
            Filter::Unusable(fault) if reader.is_filter_only() => Err(reader.fault(fault.clone())),
            _ => Ok(reader),
        }
    }

    /// Opens a file to look at it: as [`open_unverified`](Self::open_unverified), but a filter that can't be asked
    /// is no error. [`filter`](Self::filter) is then `None`, and [`filter_block`](Self::filter_block) has what can
    /// be told of it without a hasher, or what is wrong with it. [`verify_unasked`](Self::verify_unasked) verifies.
    ///
    /// # Errors
    /// As [`open`](Self::open), for file header, footer and properties.
    pub fn open_to_inspect(path: &Path, hashers: &Hashers) -> Result<Self, TableError> {
        let fault = |source| TableError::File { path: path.to_owned(), source };
        // Looked at before it is opened, because opening a pipe would wait for its other end.
        let metadata = fs::metadata(path).map_err(failed(path, "open it"))?;
        if let Some(not_a_file) = not_a_file(&metadata) {
            return Err(fault(not_a_file));
        }
        let file = File::open(path).map_err(failed(path, "open it"))?;
        let map = FileMap::new(&file).map_err(failed(path, "map it"))?;
        map.advise(Access::Random);
        let sections = Sections::locate(map.as_ref()).map_err(fault)?;
        let properties = read_properties(map.as_ref(), &sections).map_err(fault)?;
        let filter = match sections.filter.clone().and_then(|range| map.slice(range)) {
            None => Filter::Absent,
            Some(bytes) => match FilterBlock::open_unverified(bytes) {
                Ok(block) => match block.clone().with_hasher(hashers) {
                    Ok(filter) => Filter::Ready(filter),
                    Err(fault) => Filter::Locked(block, fault),
                },
                Err(fault) => Filter::Unusable(fault),
            },
        };
        Ok(Self {
            path: path.to_owned(),
            map,
            sections,
            filter,
            properties,
            filter_damaged: AtomicBool::new(false),
            index_verified: AtomicBool::new(false),
            verified: AtomicBool::new(false),
            counters: Counters::default(),
        })
    }

    /// The value of `key`, lent from the mapping; `None` where the table has no such key.
    ///
    /// # Errors
    /// [`TableError::FilterOnly`]; [`TableError::File`] where the index or the data block is damaged, which
    /// happens only with a reader that was opened unverified.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, TableError> {
        self.require_entries()?;
        let verdict = match self.filter() {
            None => self.unasked(),
            Some(filter) if filter.might_contain(key) => Verdict::Maybe,
            Some(_) => {
                self.counters.count(Outcome::FilterNegative, 1);
                return Ok(None);
            }
        };
        self.finish_lookup(key, verdict)
    }

    /// [`get`](Self::get) for many keys: the answers are in the order of the keys. The filter is asked in batches
    /// that fetch the memory of many keys at a time.
    ///
    /// # Errors
    /// As [`get`](Self::get), with no answers at all.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<&[u8]>>, TableError> {
        self.require_entries()?;
        let mut values = Vec::with_capacity(keys.len());
        let mut maybe = [true; CHUNK];
        for chunk in keys.chunks(CHUNK) {
            let maybe = &mut maybe[..chunk.len()];
            let verdict = match self.filter() {
                None => self.unasked(),
                Some(filter) => {
                    filter.might_contain_batch(chunk, maybe);
                    Verdict::Maybe
                }
            };
            let mut negatives = 0;
            let mut lookups = chunk.iter().zip(&*maybe).map(|(key, &maybe)| {
                if maybe {
                    return self.finish_lookup(key.as_ref(), verdict);
                }
                negatives += 1;
                Ok(None)
            });
            let result = lookups.try_for_each(|value| value.map(|value| values.push(value)));
            self.counters.count(Outcome::FilterNegative, negatives);
            result?;
        }
        Ok(values)
    }

    /// [`get`](Self::get) that doesn't ask the filter, to compare.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_without_filter(&self, key: &[u8]) -> Result<Option<&[u8]>, TableError> {
        self.require_entries()?;
        self.finish_lookup(key, Verdict::Unasked)
    }

    /// The filter, if there is one that can be asked. [`FilterReader::might_contain`] answers for a filter file
    /// what [`get`](Self::get) answers for a table.
    #[must_use]
    pub fn filter(&self) -> Option<&FilterReader<FileSlice>> {
        match &self.filter {
            Filter::Ready(filter) if !self.filter_damaged.load(Ordering::Relaxed) => Some(filter),
            _ => None,
        }
    }

    /// The filter, to look at, which takes no hasher; `None` where the file has none.
    ///
    /// # Errors
    /// What is wrong with its header.
    pub fn filter_block(&self) -> Result<Option<&FilterBlock<FileSlice>>, &FormatError> {
        match &self.filter {
            Filter::Absent => Ok(None),
            Filter::Ready(filter) => Ok(Some(filter.block())),
            Filter::Locked(block, _) => Ok(Some(block)),
            Filter::Unusable(fault) => Err(fault),
        }
    }

    /// What the file says about itself.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Entries of the table; 0 for a filter file.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.properties.entries
    }

    /// True for a file that holds a filter and no table. A table without entries is still a table.
    #[must_use]
    pub fn is_filter_only(&self) -> bool {
        self.sections.index.is_none()
    }

    /// Bytes of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.map.as_ref().len() as u64
    }

    /// The path that the file was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the lookups have gone so far. Exact when no lookup is under way.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.counters.snapshot()
    }

    /// The verdict where [`filter`](Self::filter) is `None`.
    fn unasked(&self) -> Verdict {
        match self.filter {
            Filter::Absent => Verdict::Unasked,
            _ => Verdict::Unusable,
        }
    }

    /// What follows the filter: index, then at most one data block.
    fn finish_lookup(&self, key: &[u8], verdict: Verdict) -> Result<Option<&[u8]>, TableError> {
        let value = self.search(key).map_err(|source| self.fault(source))?;
        let outcome = match (value, verdict) {
            (Some(_), _) => Outcome::Found,
            (None, Verdict::Maybe) => Outcome::FalsePositive,
            (None, _) => Outcome::Absent,
        };
        self.counters.count(outcome, 1);
        if let Verdict::Unusable = verdict {
            self.counters.count_unusable();
        }
        Ok(value)
    }

    fn search(&self, key: &[u8]) -> Result<Option<&[u8]>, TableFault> {
        let index = self.index()?;
        let number = index.find(key).map_err(|malformed| self.malformed_index(malformed))?;
        let Some(range) = index.block(number) else { return Ok(None) };
        self.counters.count_block_read();
        let (block, offset) = self.data_block(range)?;
        block.get(key).map_err(|malformed| malformed_data(offset, malformed))
    }

    /// The index, its checksum verified if it was not before.
    pub(super) fn index(&self) -> Result<IndexView<'_>, TableFault> {
        let Some(range) = self.sections.index.clone() else {
            return Err(TableFault::SectionMissing { section: Section::Index });
        };
        let offset = range.start as u64;
        let block = self.map.as_ref().get(range).unwrap_or_default();
        let contents = if self.index_verified.load(Ordering::Relaxed) {
            sealed::open_trusted(block, BlockType::Index, offset)?
        } else {
            let contents = sealed::open(block, BlockType::Index, offset)?;
            self.index_verified.store(true, Ordering::Relaxed);
            contents
        };
        IndexView::new(contents).map_err(|malformed| self.malformed_index(malformed))
    }

    /// The data block that the index puts at `range`, and where it begins. Its checksum is verified unless that
    /// of the whole file was.
    pub(super) fn data_block(&self, range: Range<u64>) -> Result<(BlockView<'_>, u64), TableFault> {
        let offset = range.start;
        let in_file = || {
            let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
            let data = &self.sections.data;
            (data.start <= start && end <= data.end).then(|| self.map.as_ref().get(start..end)).flatten()
        };
        let block = in_file().ok_or(TableFault::Malformed {
            section: Section::Index,
            offset,
            what: "a data block that ends before it begins or past the data",
        })?;
        let contents = if self.verified.load(Ordering::Relaxed) {
            sealed::open_trusted(block, BlockType::Data, offset)?
        } else {
            sealed::open(block, BlockType::Data, offset)?
        };
        let view = BlockView::new(contents).map_err(|malformed| malformed_data(offset, malformed))?;
        Ok((view, offset))
    }

    pub(super) fn require_entries(&self) -> Result<(), TableError> {
        if self.is_filter_only() {
            return Err(TableError::FilterOnly { path: self.path.clone() });
        }
        Ok(())
    }

    pub(super) fn fault(&self, source: impl Into<TableFault>) -> TableError {
        TableError::File { path: self.path.clone(), source: source.into() }
    }

    pub(super) fn malformed_index(&self, malformed: Malformed) -> TableFault {
        let start = self.sections.index.as_ref().map_or(0, |range| range.start);
        malformed.fault(Section::Index, start as u64)
    }
}

pub(super) fn malformed_data(offset: u64, malformed: Malformed) -> TableFault {
    malformed.fault(Section::Data, offset)
}

fn read_properties(file: &[u8], sections: &Sections) -> Result<Properties, TableFault> {
    let section = Section::Properties;
    let range = sections.properties.clone();
    let offset = range.start as u64;
    let max = super::properties::MAX_BYTES as u64;
    if range.len() as u64 > max {
        // Before its checksum is worked out, so that opening stays O(1).
        let min = sealed::TRAILER_BYTES as u64;
        return Err(TableFault::SectionBytes { section, min, max, got: range.len() as u64 });
    }
    let contents = sealed::open(file.get(range).unwrap_or_default(), BlockType::Properties, offset)?;
    Properties::decode(contents, sections.index.is_some())
        .map_err(|malformed| malformed.fault(section, offset))
}
