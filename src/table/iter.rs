//! Reading entries in order.

use std::ops::{Bound, RangeBounds};

use super::block::BlockCursor;
use super::reader::{TableReader, malformed_data};
use crate::error::{TableError, TableFault};

/// A key, put together from its parts, and a value, lent from the mapping.
type Entry<'a> = (Vec<u8>, &'a [u8]);

/// The entries of a table, or of a range of its keys, in ascending order: made by [`TableReader::iter`] and
/// [`TableReader::range`].
///
/// Keys are put together from what they share, so each is a vector; values are lent from the mapping. After an
/// error, which only a damaged file gives, there are no more entries.
#[derive(Debug)]
pub struct Entries<'a> {
    table: &'a TableReader,
    /// The data block to read after the current one.
    next_block: usize,
    /// The current data block, and where it begins.
    current: Option<(BlockCursor<'a>, u64)>,
    /// Entries before it are passed over; unbounded once the first entry was found.
    start: Bound<Vec<u8>>,
    end: Bound<Vec<u8>>,
    done: bool,
}

impl TableReader {
    /// All entries in ascending order.
    ///
    /// # Errors
    /// [`TableError::FilterOnly`]; [`TableError::File`] where the index is damaged.
    pub fn iter(&self) -> Result<Entries<'_>, TableError> {
        self.range::<Vec<u8>, _>(..)
    }

    /// The entries whose keys lie in `range`, in ascending order. Where the range ends before it begins there
    /// are none.
    ///
    /// ```
    /// # use bloomline::{TableOptions, TableWriter, TableReader, error::TableError, hash::Hashers};
    /// # fn fruit(table: &TableReader) -> Result<(), TableError> {
    /// for entry in table.range("apple".."banana")? {
    ///     let (key, value) = entry?;
    ///     println!("{}: {} bytes", key.escape_ascii(), value.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`iter`](Self::iter).
    pub fn range<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Result<Entries<'_>, TableError> {
        self.require_entries()?;
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let (start, end) = (owned(range.start_bound()), owned(range.end_bound()));
        let mut entries = Entries { table: self, next_block: 0, current: None, start, end, done: false };
        entries.seek().map_err(|source| self.fault(source))?;
        Ok(entries)
    }
}

impl<'a> Entries<'a> {
    /// Goes to the data block in which the range begins.
    fn seek(&mut self) -> Result<(), TableFault> {
        let table = self.table;
        let index = table.index()?;
        let (Bound::Included(key) | Bound::Excluded(key)) = &self.start else { return Ok(()) };
        let number = index.find(key).map_err(|malformed| table.malformed_index(malformed))?;
        self.next_block = number.saturating_add(1);
        let Some(range) = index.block(number) else { return Ok(()) };
        let (block, offset) = table.data_block(range)?;
        let cursor = block.cursor_before(key).map_err(|malformed| malformed_data(offset, malformed))?;
        self.current = Some((cursor, offset));
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<Entry<'a>>, TableFault> {
        while !self.done {
            let Some((cursor, offset)) = &mut self.current else {
                let table = self.table;
                let Some(range) = table.index()?.block(self.next_block) else { break };
                self.next_block += 1;
                let (block, offset) = table.data_block(range)?;
                self.current = Some((block.cursor(), offset));
                continue;
            };
            let Some(value) = cursor.advance().map_err(|malformed| malformed_data(*offset, malformed))?
            else {
                self.current = None;
                continue;
            };
            let key = cursor.key();
            let before_start = match &self.start {
                Bound::Included(start) => key < start.as_slice(),
                Bound::Excluded(start) => key <= start.as_slice(),
                Bound::Unbounded => false,
            };
            if before_start {
                continue;
            }
            let past_end = match &self.end {
                Bound::Included(end) => key > end.as_slice(),
                Bound::Excluded(end) => key >= end.as_slice(),
                Bound::Unbounded => false,
            };
            if past_end {
                break;
            }
            let key = key.to_vec();
            self.start = Bound::Unbounded;
            return Ok(Some((key, value)));
        }
        self.done = true;
        Ok(None)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(Vec<u8>, &'a [u8]), TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        self.done |= next.is_err();
        next.map_err(|source| self.table.fault(source)).transpose()
    }
}

impl std::iter::FusedIterator for Entries<'_> {}
