//! Data blocks: sorted entries that share prefixes, with restart points to search from.
//!
//! ```text
//! contents = entry* (u32 offset of a restart point)+ (u32 number of restart points)
//! entry    = varint shared, varint unshared, varint value bytes, key[shared..], value
//! ```
//!
//! The first `shared` bytes of a key are those of the key before it. At a restart point `shared` is 0, so that a
//! search can begin there: it halves its way over the restart points to the last that is not past the key, then
//! reads on from it. Nothing is believed: every length is checked against the bytes that are left, and against the
//! limits that bind the writer.
//!
//! Shared prefixes are a way to store much in little, so readers bound how much. A restart point comes at least
//! every 16 entries, and its key is stored whole; a key is at most as long as the stored bytes since then. So all
//! keys of a block, put together, have at most 16 times the bytes of the block, and one at most
//! [`MAX_KEY_BYTES`].

use super::malformed::Malformed;
use super::varint;
use super::writer::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

/// Entries from one restart point to the next: one in sixteen keys is stored whole. Readers refuse longer runs,
/// see [`Run`].
const RESTART_INTERVAL: usize = 16;

pub(super) const NOT_ASCENDING: &str = "a key that is not past the one before it";
const NOT_A_RESTART: &str = "a restart point that is no entry with a whole key";
const SHARES_TOO_MUCH: &str = "an entry that shares more than the key before it has";

/// Writes one block after another. Call order: `(push+ finish)*`.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries since the last restart point.
    run: usize,
    /// The last key pushed, of this block or the one before.
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// Adds an entry. Key and value are short enough, and the key is past the last: the writer has checked both.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) {
        let shared = if self.restarts.is_empty() || self.run == RESTART_INTERVAL {
            self.restarts.push(length(self.bytes.len()));
            self.run = 0;
            0
        } else {
            common_prefix(&self.last_key, key)
        };
        self.run += 1;
        let suffix = &key[shared..];
        for part in [shared, suffix.len(), value.len()] {
            varint::push(&mut self.bytes, length(part));
        }
        self.bytes.extend_from_slice(suffix);
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.restarts.is_empty()
    }

    /// Bytes of the contents so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + 4 * (self.restarts.len() + 1)
    }

    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Moves the contents to the end of `to` and begins the next block.
    pub(super) fn finish(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.bytes);
        for &restart in &self.restarts {
            to.extend_from_slice(&restart.to_le_bytes());
        }
        to.extend_from_slice(&length(self.restarts.len()).to_le_bytes());
        self.restarts.clear();
    }
}

/// A length within a block. The limits on block, key and value keep blocks far under 4 GiB.
fn length(length: usize) -> u32 {
    debug_assert!(u32::try_from(length).is_ok(), "the writer bounds keys, values and blocks");
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// How many leading bytes are equal.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The contents of a block, not yet read.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockView<'a> {
    entries: &'a [u8],
    restarts: &'a [[u8; 4]],
}

/// One entry as it is stored.
struct Stored<'a> {
    shared: usize,
    suffix: &'a [u8],
    value: &'a [u8],
    /// Where the next entry begins.
    end: usize,
}

impl<'a> BlockView<'a> {
    /// Finds entries and restart points in O(1).
    pub(super) fn new(contents: &'a [u8]) -> Result<Self, Malformed> {
        let malformed = |what| Malformed::new(contents.len(), what);
        let (rest, count) =
            contents.split_last_chunk::<4>().ok_or(malformed("no number of restart points"))?;
        let count = usize::try_from(u32::from_le_bytes(*count)).unwrap_or(usize::MAX);
        let entries_end = count
            .checked_mul(4)
            .and_then(|bytes| rest.len().checked_sub(bytes))
            .ok_or(malformed("more restart points than there is room for"))?;
        let (entries, restarts) = rest.split_at(entries_end);
        let restarts: &[[u8; 4]] = bytemuck::try_cast_slice(restarts).unwrap_or_default();
        if restarts.is_empty() || entries.is_empty() {
            return Err(malformed("a block without entries"));
        }
        Ok(Self { entries, restarts })
    }

    /// Where a restart point is; `None` past the last.
    fn restart(&self, index: usize) -> Option<usize> {
        self.restarts.get(index).map(|&at| offset(at))
    }

    #[inline]
    fn entry(&self, at: usize) -> Result<Stored<'a>, Malformed> {
        let mut rest = self.entries.get(at..).unwrap_or_default();
        let mut part = || varint::take(&mut rest).and_then(|value| usize::try_from(value).ok());
        let lengths = (part(), part(), part());
        let (Some(shared), Some(unshared), Some(value)) = lengths else {
            return Err(Malformed::new(at, "an entry whose lengths don't end"));
        };
        let overlong = Malformed::new(at, "an entry longer than its block");
        let (suffix, rest) = rest.split_at_checked(unshared).ok_or(overlong)?;
        let (value, rest) = rest.split_at_checked(value).ok_or(overlong)?;
        let key_bytes = shared.saturating_add(unshared);
        for (what, bytes, max) in
            [("bytes of a key", key_bytes, MAX_KEY_BYTES), ("bytes of a value", value.len(), MAX_VALUE_BYTES)]
        {
            if bytes > max {
                return Err(Malformed::limit(at, what, max, bytes));
            }
        }
        Ok(Stored { shared, suffix, value, end: self.entries.len() - rest.len() })
    }

    /// The entry at a restart point.
    fn entry_at_restart(&self, at: usize) -> Result<Stored<'a>, Malformed> {
        let entry = self.entry(at)?;
        if entry.shared != 0 {
            return Err(Malformed::new(at, NOT_A_RESTART));
        }
        Ok(entry)
    }

    /// The last restart point whose key is not past `key`, or else the first.
    fn restart_before(&self, key: &[u8]) -> Result<usize, Malformed> {
        let (mut low, mut high) = (0, self.restarts.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.entry_at_restart(offset(self.restarts[middle]))?.suffix <= key {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The value of `key`.
    ///
    /// No key is put together. With `matched` the bytes that `key` has in common with the entry before, which
    /// is smaller: an entry that shares more than `matched` bytes with the one before it is smaller too, at the
    /// same byte. Only one that shares no more has to be compared, from its own bytes on.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>, Malformed> {
        let mut run = Run::from_restart(self.restart_before(key)?);
        let (mut matched, mut length) = (0, 0);
        let mut at = self.restart(run.next).unwrap_or_default();
        while at < self.entries.len() {
            let entry = self.entry(at)?;
            run.step(self, at, &entry)?;
            if entry.shared > length {
                return Err(Malformed::new(at, SHARES_TOO_MUCH));
            }
            length = entry.shared + entry.suffix.len();
            if entry.shared <= matched {
                let wanted = &key[entry.shared..];
                let common = common_prefix(entry.suffix, wanted);
                match (entry.suffix.get(common), wanted.get(common)) {
                    (None, None) => return Ok(Some(entry.value)),
                    (Some(_), None) => return Ok(None),
                    (Some(got), Some(wanted)) if got > wanted => return Ok(None),
                    _ => matched = entry.shared + common,
                }
            }
            at = entry.end;
        }
        Ok(None)
    }

    /// A cursor before the first entry.
    pub(super) fn cursor(self) -> BlockCursor<'a> {
        BlockCursor { at: 0, ..self.cursor_at(0) }
    }

    /// A cursor before the first entry of some that are smaller than `key`, or before the first that isn't.
    pub(super) fn cursor_before(self, key: &[u8]) -> Result<BlockCursor<'a>, Malformed> {
        Ok(self.cursor_at(self.restart_before(key)?))
    }

    fn cursor_at(self, restart: usize) -> BlockCursor<'a> {
        let first = self.restart(restart).unwrap_or_default();
        BlockCursor { block: self, first, at: first, key: Vec::new(), run: Run::from_restart(restart) }
    }
}

/// Counts entries from restart point to restart point, and refuses more than [`RESTART_INTERVAL`].
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The restart point that is to come.
    next: usize,
    /// Entries since the last one, itself included; 0 before the first entry.
    entries: usize,
}

impl Run {
    /// Before the entry at a restart point.
    fn from_restart(restart: usize) -> Self {
        Self { next: restart, entries: 0 }
    }

    /// Takes the entry at `at`, the first or the one after the entry before.
    #[inline]
    fn step(&mut self, block: &BlockView<'_>, at: usize, entry: &Stored<'_>) -> Result<(), Malformed> {
        if block.restart(self.next) == Some(at) {
            if entry.shared != 0 {
                return Err(Malformed::new(at, NOT_A_RESTART));
            }
            *self = Self { next: self.next + 1, entries: 0 };
        } else if self.entries == 0 {
            return Err(Malformed::new(at, NOT_A_RESTART));
        } else if self.entries == RESTART_INTERVAL {
            let what = "entries from one restart point to the next";
            return Err(Malformed::limit(at, what, RESTART_INTERVAL, RESTART_INTERVAL + 1));
        }
        self.entries += 1;
        Ok(())
    }
}

fn offset(restart: [u8; 4]) -> usize {
    usize::try_from(u32::from_le_bytes(restart)).unwrap_or(usize::MAX)
}

/// Reads the entries of a block in order.
#[derive(Debug)]
pub(super) struct BlockCursor<'a> {
    block: BlockView<'a>,
    /// Where the first entry began.
    first: usize,
    /// Where the next entry begins.
    at: usize,
    /// The key of the last entry read.
    key: Vec<u8>,
    run: Run,
}

impl<'a> BlockCursor<'a> {
    /// Reads the next entry: its key is in [`key`](Self::key), its value is returned. `None` at the end, when all
    /// restart points have been seen to be entries with whole keys.
    pub(super) fn advance(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.at >= self.block.entries.len() {
            return match self.block.restart(self.run.next) {
                Some(at) => Err(Malformed::new(at, NOT_A_RESTART)),
                None => Ok(None),
            };
        }
        let entry = self.block.entry(self.at)?;
        let malformed = |what| Malformed::new(self.at, what);
        let replaced = self.key.get(entry.shared..).ok_or(malformed(SHARES_TOO_MUCH))?;
        self.run.step(&self.block, self.at, &entry)?;
        // The shared bytes are equal, so the rest decides.
        if self.at > self.first && entry.suffix <= replaced {
            return Err(malformed(NOT_ASCENDING));
        }
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(entry.suffix);
        self.at = entry.end;
        Ok(Some(entry.value))
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn into_key(self) -> Vec<u8> {
        self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of more than 1 GiB, which no writer takes, was once lent to whoever asked.
    #[test]
    fn a_value_longer_than_any_writer_takes() {
        let with_value_of = |bytes: usize| {
            let mut start = vec![0, 1];
            varint::push(&mut start, length(bytes));
            start.push(b'k');
            let value_at = start.len();
            // Zeros that are never touched take no memory.
            let mut contents = vec![0; value_at + bytes + 8];
            contents[..value_at].copy_from_slice(&start);
            contents[value_at + bytes + 4] = 1;
            contents
        };
        let contents = with_value_of(MAX_VALUE_BYTES);
        let block = BlockView::new(&contents).unwrap();
        assert_eq!(block.get(b"k").unwrap().map(<[u8]>::len), Some(MAX_VALUE_BYTES));
        assert!(block.cursor().advance().unwrap().is_some());
        drop(contents);

        let contents = with_value_of(MAX_VALUE_BYTES + 1);
        let block = BlockView::new(&contents).unwrap();
        let refused = Malformed::limit(0, "bytes of a value", MAX_VALUE_BYTES, MAX_VALUE_BYTES + 1);
        assert_eq!(block.get(b"k"), Err(refused));
        assert_eq!(block.cursor().advance(), Err(refused));
    }
}
