//! The index block: for each data block its last key and where it ends.
//!
//! ```text
//! contents = u64 number of data blocks, record*, keys
//! record   = u64 end of the key within `keys`, u64 end of the data block within the file
//! ```
//!
//! A key begins where the one before it ends, and so does a data block: the first key at 0, the first block
//! right after the file header. So blocks can neither overlap nor leave gaps. Records have one width, so opening
//! parses nothing and a search halves its way over them.

use std::ops::Range;

use super::layout::FILE_HEADER_BYTES;
use super::malformed::Malformed;
use super::sealed::TRAILER_BYTES;
use super::writer::MAX_KEY_BYTES;

const COUNT_BYTES: usize = 8;
const RECORD_BYTES: usize = 16;

/// Bytes of the index of no data blocks.
pub(super) const MIN_BYTES: usize = COUNT_BYTES + TRAILER_BYTES;

/// Collects the index while the data blocks are written.
#[derive(Debug, Default)]
pub(super) struct IndexBuilder {
    records: Vec<u8>,
    keys: Vec<u8>,
}

impl IndexBuilder {
    /// Adds a data block by its last key and the offset of the first byte after its trailer.
    pub(super) fn push(&mut self, last_key: &[u8], block_end: u64) {
        self.keys.extend_from_slice(last_key);
        self.records.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        self.records.extend_from_slice(&block_end.to_le_bytes());
    }

    pub(super) fn blocks(&self) -> u64 {
        (self.records.len() / RECORD_BYTES) as u64
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut contents = self.blocks().to_le_bytes().to_vec();
        contents.extend_from_slice(&self.records);
        contents.extend_from_slice(&self.keys);
        contents
    }
}

/// The contents of an index block, not yet read.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexView<'a> {
    records: &'a [[u8; RECORD_BYTES]],
    keys: &'a [u8],
}

impl<'a> IndexView<'a> {
    /// Finds records and keys in O(1).
    pub(super) fn new(contents: &'a [u8]) -> Result<Self, Malformed> {
        let too_many = Malformed::new(0, "more data blocks than there is room for in the index");
        let (count, rest) = contents.split_first_chunk::<COUNT_BYTES>().ok_or(too_many)?;
        let (records, keys) = usize::try_from(u64::from_le_bytes(*count))
            .ok()
            .and_then(|count| rest.split_at_checked(count.checked_mul(RECORD_BYTES)?))
            .ok_or(too_many)?;
        Ok(Self { records: bytemuck::try_cast_slice(records).unwrap_or_default(), keys })
    }

    /// Data blocks.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The two ends that record `index` holds: of the key, of the data block.
    fn ends(&self, index: usize) -> Option<(u64, u64)> {
        let (key, block) = self.records.get(index)?.split_at(RECORD_BYTES / 2);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        Some((number(key)?, number(block)?))
    }

    /// The ends of the record before `index`.
    fn starts(&self, index: usize) -> Option<(u64, u64)> {
        match index.checked_sub(1) {
            Some(before) => self.ends(before),
            None => Some((0, FILE_HEADER_BYTES as u64)),
        }
    }

    /// The last key of a data block.
    pub(super) fn key(&self, index: usize) -> Result<&'a [u8], Malformed> {
        let range = || {
            let offset = |offset| usize::try_from(offset).ok();
            Some(offset(self.starts(index)?.0)?..offset(self.ends(index)?.0)?)
        };
        let at = COUNT_BYTES.saturating_add(index.saturating_mul(RECORD_BYTES));
        let key = range()
            .and_then(|range| self.keys.get(range))
            .ok_or(Malformed::new(at, "a key that ends before it begins or past the index"))?;
        if key.len() > MAX_KEY_BYTES {
            return Err(Malformed::limit(at, "bytes of a key", MAX_KEY_BYTES, key.len()));
        }
        Ok(key)
    }

    /// Where a data block lies in the file, trailer included.
    pub(super) fn block(&self, index: usize) -> Option<Range<u64>> {
        Some(self.starts(index)?.1..self.ends(index)?.1)
    }

    /// The first data block whose last key is not smaller than `key`: the only one that can hold it. The number
    /// of blocks where there is none.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, Malformed> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Where the last data block ends.
    pub(super) fn data_end(&self) -> u64 {
        self.starts(self.len()).map_or(FILE_HEADER_BYTES as u64, |(_, end)| end)
    }

    /// Checks that the last key ends where the keys do.
    pub(super) fn check_keys_end(&self) -> Result<(), Malformed> {
        let end = self.starts(self.len()).map_or(0, |(end, _)| end);
        if end == self.keys.len() as u64 {
            return Ok(());
        }
        Err(Malformed::new(COUNT_BYTES + self.records.len() * RECORD_BYTES, "bytes that belong to no key"))
    }
}
