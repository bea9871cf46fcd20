//! Verifying a whole file.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::block::{BlockView, NOT_ASCENDING};
use super::malformed::Malformed;
use super::reader::{Filter, TableReader, malformed_data};
use crate::error::{Section, TableError, TableFault};
use crate::filter::FilterReader;
use crate::hash::{Hashers, KeyHash};
use crate::mmap::{Access, FileSlice};

/// Verifies a file as [`TableReader::verify`] does, even where `hashers` lacks the hasher of its filter: all
/// checksums and all of the structure are checked, only that the filter knows the table's keys is not.
///
/// # Errors
/// As [`TableReader::open`], save for a missing hasher.
pub fn verify_file(path: &Path, hashers: &Hashers) -> Result<(), TableError> {
    TableReader::open_to_inspect(path, hashers)?.verify_unasked()
}

/// What the data blocks turn out to hold.
#[derive(Default)]
struct Tally {
    entries: u64,
    key_bytes: u64,
    value_bytes: u64,
}

impl TableReader {
    /// Checks every byte of the file: all checksums, all padding, and that what they cover makes sense. Keys
    /// ascend, index and properties agree with the data blocks, the filter knows every key.
    ///
    /// Lookups don't verify again what has once been found to be whole. Where the filter turns out to be damaged,
    /// or to deny a key of the table, lookups no longer ask it.
    ///
    /// # Errors
    /// [`TableError::File`] with the first fault that is found.
    pub fn verify(&self) -> Result<(), TableError> {
        match &self.filter {
            Filter::Locked(_, fault) => Err(self.fault(fault.clone())),
            _ => self.verify_unasked(),
        }
    }

    /// [`verify`](Self::verify) to which a missing hasher is no fault: then everything is checked but that the
    /// filter knows the table's keys.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), save for a missing hasher.
    pub fn verify_unasked(&self) -> Result<(), TableError> {
        self.map.advise(Access::Sequential);
        let verified = self.verify_filter().and_then(|filter| match self.sections.index {
            Some(_) => self.verify_entries(filter),
            None => Ok(()),
        });
        self.map.advise(Access::Random);
        verified.map_err(|fault| self.fault(fault))?;
        self.verified.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Checks the filter block; returns the filter if it can be asked.
    fn verify_filter(&self) -> Result<Option<&FilterReader<FileSlice>>, TableFault> {
        match &self.filter {
            Filter::Absent => Ok(None),
            Filter::Ready(filter) => {
                // What was once seen to be damaged stays so.
                filter.verify().inspect_err(|_| self.filter_damaged.store(true, Ordering::Relaxed))?;
                Ok(Some(filter))
            }
            Filter::Locked(block, _) => {
                block.verify()?;
                Ok(None)
            }
            Filter::Unusable(fault) => Err(fault.clone().into()),
        }
    }

    /// Checks index, data blocks and the padding after them, and the properties against them.
    fn verify_entries(&self, filter: Option<&FilterReader<FileSlice>>) -> Result<(), TableFault> {
        let index = self.index()?;
        index.check_keys_end().map_err(|malformed| self.malformed_index(malformed))?;
        let mut tally = Tally::default();
        let mut hashes = Vec::new();
        let (mut first_key, mut last_key) = (None, None);
        for number in 0..index.len() {
            let (block, offset) = self.data_block(index.block(number).unwrap_or_default())?;
            hashes.clear();
            let keys = tally
                .read(block, |key| hashes.extend(filter.map(|filter| filter.hasher().hash(key))))
                .map_err(|malformed| malformed_data(offset, malformed))?;
            if last_key.is_some_and(|last| last >= keys.first.as_slice()) {
                return Err(malformed_data(offset, Malformed::new(0, NOT_ASCENDING)));
            }
            let indexed = index.key(number).map_err(|malformed| self.malformed_index(malformed))?;
            same_key("last key of a block, by the index", Some(indexed), Some(&keys.last))?;
            check_known(filter, &hashes, offset)
                .inspect_err(|_| self.filter_damaged.store(true, Ordering::Relaxed))?;
            first_key.get_or_insert(keys.first);
            last_key = Some(indexed);
        }
        self.verify_padding(index.data_end())?;

        let properties = self.properties();
        for (field, expected, got) in [
            ("entries", properties.entries, tally.entries),
            ("bytes of keys", properties.key_bytes, tally.key_bytes),
            ("bytes of values", properties.value_bytes, tally.value_bytes),
        ] {
            if expected != got {
                return Err(TableFault::CountMismatch { field, expected, got });
            }
        }
        same_key("first key", properties.first_key.as_deref(), first_key.as_deref())?;
        same_key("last key", properties.last_key.as_deref(), last_key)
    }

    /// Checks that from the last data block to the next section there is what padding there should be, of zeros.
    fn verify_padding(&self, data_end: u64) -> Result<(), TableFault> {
        let next = self.sections.data.end as u64;
        let section = if self.sections.filter.is_some() { Section::Filter } else { Section::Index };
        let expected = match section {
            Section::Filter => super::layout::filter_offset(data_end),
            _ => Some(data_end),
        };
        if expected != Some(next) {
            let expected = expected.unwrap_or(u64::MAX);
            return Err(TableFault::SectionStart { section, expected, got: next });
        }
        let start = usize::try_from(data_end).unwrap_or(usize::MAX);
        let padding = self.map.as_ref().get(start..self.sections.data.end).unwrap_or_default();
        match padding.iter().zip(data_end..).find(|(byte, _)| **byte != 0) {
            Some((&got, offset)) => Err(TableFault::Padding { offset, got }),
            None => Ok(()),
        }
    }
}

/// The first and the last key of a block.
struct BlockKeys {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Tally {
    /// Reads a block whole. Its cursor sees to it that keys ascend and restart points are entries with whole keys.
    fn read(
        &mut self,
        block: BlockView<'_>,
        mut with_key: impl FnMut(&[u8]),
    ) -> Result<BlockKeys, Malformed> {
        let mut cursor = block.cursor();
        let mut first = None;
        while let Some(value) = cursor.advance()? {
            let key = cursor.key();
            with_key(key);
            self.entries += 1;
            self.key_bytes += key.len() as u64;
            self.value_bytes += value.len() as u64;
            first.get_or_insert_with(|| key.to_vec());
        }
        Ok(BlockKeys { first: first.unwrap_or_default(), last: cursor.into_key() })
    }
}

/// Checks that the filter knows the keys of a block.
fn check_known(
    filter: Option<&FilterReader<FileSlice>>,
    hashes: &[KeyHash],
    offset: u64,
) -> Result<(), TableFault> {
    let Some(filter) = filter else { return Ok(()) };
    let mut known = [false; 256];
    for hashes in hashes.chunks(known.len()) {
        let known = &mut known[..hashes.len()];
        filter.might_contain_hashes(hashes, known);
        if known.contains(&false) {
            return Err(TableFault::FilterDeniesKey { offset });
        }
    }
    Ok(())
}

fn same_key(field: &'static str, expected: Option<&[u8]>, got: Option<&[u8]>) -> Result<(), TableFault> {
    if expected == got {
        return Ok(());
    }
    let owned = |key: Option<&[u8]>| key.unwrap_or_default().to_vec();
    Err(TableFault::KeyMismatch { field, expected: owned(expected), got: owned(got) })
}
