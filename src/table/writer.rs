//! Writing table files and filter files.

use std::io::{self, Write};
use std::path::Path;

use super::atomic_file::AtomicFile;
use super::block::BlockBuilder;
use super::cancel::Cancel;
use super::index::IndexBuilder;
use super::layout::{self, Extent, FILE_HEADER_BYTES, Footer, encode_header};
use super::properties::{self, Properties};
use super::sealed::{BlockType, seal};
use crate::error::{FilterError, FormatError, TableError};
use crate::filter::{FilterBlock, FilterBuilder, FilterOptions, Membership};

/// The most bytes of a key: 1 MiB.
pub const MAX_KEY_BYTES: usize = 1 << 20;

/// The most bytes of a value: 1 GiB.
pub const MAX_VALUE_BYTES: usize = 1 << 30;

/// The most bytes that [`TableOptions::block_bytes`] can ask for: 1 GiB.
const MAX_BLOCK_BYTES: usize = 1 << 30;

/// How to write a table. The default has a blocked filter with a false-positive rate of 1% and data blocks of
/// 4 KiB.
#[derive(Debug, Clone)]
pub struct TableOptions {
    filter: Option<FilterOptions>,
    block_bytes: usize,
    cancel: Cancel,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { filter: Some(FilterOptions::default()), block_bytes: 4096, cancel: Cancel::never() }
    }
}

impl TableOptions {
    /// Sets the filter; `None` for a table without one.
    #[must_use]
    pub fn filter(self, filter: Option<FilterOptions>) -> Self {
        Self { filter, ..self }
    }

    /// Sets the size that a data block is filled up to, before it is closed; 1 GiB where more is asked for. An
    /// entry that is larger has a block of its own, so 0 gives one to each. Larger blocks make a smaller index
    /// and cost more for each lookup.
    #[must_use]
    pub fn block_bytes(self, block_bytes: usize) -> Self {
        Self { block_bytes: block_bytes.min(MAX_BLOCK_BYTES), ..self }
    }

    /// Sets when to give the table up: [`TableWriter::add`] and [`TableWriter::finish`] then return
    /// [`TableError::Interrupted`].
    #[must_use]
    pub fn cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TableSummary {
    /// Entries of the table.
    pub entries: u64,
    /// Data blocks.
    pub data_blocks: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the filter block, header included; 0 without a filter.
    pub filter_bytes: u64,
    /// The false-positive rate that theory gives for the filter; 1 without a filter.
    pub expected_fpp: f64,
}

/// Writes a table file: sorted entries, a filter over their keys, an index.
///
/// Call order: `create add* finish`. The file appears under its name when `finish` has returned, whole and on
/// the disk, in place of whatever file was there. Before that, or when the writer is dropped, it leaves nothing
/// behind; a process that is killed leaves at most a file `.bloomline-*.tmp`.
///
/// Memory is one data block, the index, and 8 bytes for each key until the filter is built.
///
/// ```
/// use bloomline::hash::Hashers;
/// use bloomline::{TableOptions, TableReader, TableWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("fruit.table");
/// let mut writer = TableWriter::create(&path, TableOptions::default())?;
/// writer.add(b"apple", b"red")?;
/// writer.add(b"pear", b"green")?;
/// assert_eq!(writer.finish()?.entries, 2);
///
/// let table = TableReader::open(&path, &Hashers::new())?;
/// assert_eq!(table.get(b"pear")?, Some(&b"green"[..]));
/// assert_eq!(table.get(b"plum")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableWriter {
    file: AtomicFile,
    block_bytes: usize,
    block: BlockBuilder,
    index: IndexBuilder,
    filter: Option<FilterBuilder>,
    properties: Properties,
    /// Reused for each block.
    buffer: Vec<u8>,
    /// A write has failed, so what was written may end anywhere.
    given_up: bool,
}

impl TableWriter {
    /// Begins a table that will be at `path`.
    ///
    /// # Errors
    /// [`TableError::File`] where something other than a regular file is at `path`; [`TableError::Io`].
    pub fn create(path: &Path, options: TableOptions) -> Result<Self, TableError> {
        let mut file = AtomicFile::create(path, options.cancel)?;
        file.write(&encode_header())?;
        Ok(Self {
            file,
            block_bytes: options.block_bytes,
            block: BlockBuilder::default(),
            index: IndexBuilder::default(),
            filter: options.filter.map(FilterBuilder::new),
            properties: Properties { writer: properties::writer(), ..Properties::default() },
            buffer: Vec::new(),
            given_up: false,
        })
    }

    /// Adds an entry, of which the key comes after all keys before it in the order of their bytes.
    ///
    /// # Errors
    /// [`TableError::KeyOrder`] and [`TableError::TooLong`] for an entry that is refused: the writer is as it
    /// was, and takes others. [`TableError::Io`] where a write failed and [`TableError::Interrupted`]
    /// where the caller cancelled, and [`TableError::GivenUp`] from then on.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), TableError> {
        self.check(key, value)?;
        let entry_bytes = key.len() + value.len();
        if !self.block.is_empty() && self.block.bytes().saturating_add(entry_bytes) > self.block_bytes {
            self.close_block()?;
        }
        self.block.push(key, value);
        if let Some(filter) = &mut self.filter {
            filter.add(key);
        }
        if self.properties.entries == 0 {
            self.properties.first_key = Some(key.to_vec());
        }
        self.properties.entries += 1;
        self.properties.key_bytes += key.len() as u64;
        self.properties.value_bytes += value.len() as u64;
        Ok(())
    }

    /// Entries added so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.properties.entries
    }

    /// Refuses what can't follow.
    fn check(&self, key: &[u8], value: &[u8]) -> Result<(), TableError> {
        let path = || self.file.path().to_owned();
        if self.given_up {
            return Err(TableError::GivenUp { path: path() });
        }
        for (what, bytes, max) in [("key", key.len(), MAX_KEY_BYTES), ("value", value.len(), MAX_VALUE_BYTES)]
        {
            if bytes > max {
                let (max, got) = (max as u64, bytes as u64);
                return Err(TableError::TooLong { path: path(), what, max, got });
            }
        }
        let previous = self.block.last_key();
        if self.properties.entries > 0 && key <= previous {
            let (previous, key) = (previous.to_vec(), key.to_vec());
            return Err(TableError::KeyOrder { path: path(), previous, key });
        }
        Ok(())
    }

    /// Writes the block that is being filled.
    fn close_block(&mut self) -> Result<(), TableError> {
        self.buffer.clear();
        self.block.finish(&mut self.buffer);
        seal(&mut self.buffer, BlockType::Data);
        let written = self.file.write(&self.buffer);
        self.given_up = written.is_err();
        written?;
        self.index.push(self.block.last_key(), self.file.bytes());
        Ok(())
    }

    /// Writes the rest and publishes the file: when this returns, it is whole, under its name, and on the disk.
    ///
    /// # Errors
    /// [`TableError::Filter`] where the filter's budget can't be met for so many keys, [`TableError::Io`],
    /// [`TableError::Interrupted`], [`TableError::GivenUp`]. The file that was at the path is then still there,
    /// except where only the last step failed, an [`Io`](TableError::Io) whose operation is `"sync its folder"`:
    /// then the new file is at the path, whole, and a power failure may still bring the old one back.
    pub fn finish(mut self) -> Result<TableSummary, TableError> {
        if self.given_up {
            return Err(TableError::GivenUp { path: self.file.path().to_owned() });
        }
        if !self.block.is_empty() {
            self.close_block()?;
        }
        let Self { mut file, block, index, filter, mut properties, .. } = self;
        let mut footer = Footer::default();
        let mut expected_fpp = 1.0;
        if let Some(filter) = filter {
            let failed = |source| TableError::Filter { path: file.path().to_owned(), source };
            expected_fpp = filter.estimated_fpp().map_err(|error| failed(FilterError::from(error)))?;
            let filter = filter.finish().map_err(failed)?;
            footer.filter = write_filter(&mut file, |out| out.write_all(&filter))?;
        }
        let data_blocks = index.blocks();
        footer.index = write_sealed(&mut file, index.finish(), BlockType::Index)?;
        properties.last_key = (properties.entries > 0).then(|| block.last_key().to_vec());
        footer.properties = write_sealed(&mut file, properties.encode(true), BlockType::Properties)?;
        file.write(&footer.encode())?;
        Ok(TableSummary {
            entries: properties.entries,
            data_blocks,
            file_bytes: file.commit()?,
            filter_bytes: footer.filter.bytes,
            expected_fpp,
        })
    }
}

/// Writes a filter block, by the function that is given, to where its body is line-aligned.
fn write_filter(
    file: &mut AtomicFile,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Extent, TableError> {
    let end = file.bytes();
    // A file that the system can hold is far from 2⁶⁴ bytes.
    let offset = layout::filter_offset(end).unwrap_or(end);
    for _ in end..offset {
        file.write(&[0])?;
    }
    file.write_by(write)?;
    Ok(Extent { offset, bytes: file.bytes() - offset })
}

fn write_sealed(
    file: &mut AtomicFile,
    mut contents: Vec<u8>,
    block_type: BlockType,
) -> Result<Extent, TableError> {
    seal(&mut contents, block_type);
    let extent = Extent { offset: file.bytes(), bytes: contents.len() as u64 };
    file.write(&contents)?;
    Ok(extent)
}

/// Writes a filter of any kind to a file of its own: atomic and durable as [`TableWriter::finish`]. An owned
/// filter is written straight from its lines; see [`Membership::write_to`]. Returns the bytes of the file.
///
/// What was written is read back and verified before it gets its name, so that a damaged filter, such as a
/// [`FilterReader`](crate::FilterReader) that was opened unverified may be, is never published.
///
/// # Errors
/// [`TableError::File`] where something other than a regular file is at `path`, or the filter is damaged;
/// [`TableError::Io`], after which the old file is there as [`TableWriter::finish`] says.
pub fn write_filter_file(path: &Path, filter: &(impl Membership + ?Sized)) -> Result<u64, TableError> {
    write_filter_file_with(path, filter, &Cancel::never())
}

/// [`write_filter_file`] that can be cancelled.
///
/// # Errors
/// As [`write_filter_file`]; [`TableError::Interrupted`].
pub fn write_filter_file_with(
    path: &Path,
    filter: &(impl Membership + ?Sized),
    cancel: &Cancel,
) -> Result<u64, TableError> {
    write_filter_alone(path, cancel, |out| filter.write_to(out))
}

/// [`write_filter_file`] for a filter that is encoded already, such as [`FilterBuilder::finish`] gives.
///
/// # Errors
/// As [`write_filter_file`].
pub fn write_filter_block(path: &Path, block: &[u8]) -> Result<u64, TableError> {
    write_filter_alone(path, &Cancel::never(), |out| out.write_all(block))
}

fn write_filter_alone(
    path: &Path,
    cancel: &Cancel,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<u64, TableError> {
    let mut file = AtomicFile::create(path, cancel.clone())?;
    file.write(&encode_header())?;
    let filter = write_filter(&mut file, write)?;
    let damaged = |fault: FormatError| TableError::File { path: path.to_owned(), source: fault.into() };
    // The filter is all that follows the header, so far.
    let written = file.map()?;
    FilterBlock::open(written.as_ref().get(FILE_HEADER_BYTES..).unwrap_or_default()).map_err(damaged)?;
    drop(written);
    let properties = Properties { writer: properties::writer(), ..Properties::default() };
    let properties = write_sealed(&mut file, properties.encode(false), BlockType::Properties)?;
    file.write(&Footer { filter, properties, ..Footer::default() }.encode())?;
    file.commit()
}
