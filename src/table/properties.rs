//! Facts about a table, each with a tag.
//!
//! ```text
//! contents = (u16 tag, u32 bytes, bytes)*      tags ascend
//! ```
//!
//! Tags are append-only. A reader skips tags that it doesn't know, so that facts can be added without a new
//! version of the format.

use super::malformed::Malformed;
use super::writer::MAX_KEY_BYTES;

/// The most bytes that the contents may have: room for two keys and much else. It bounds what opening reads.
pub(super) const MAX_BYTES: usize = 2 * MAX_KEY_BYTES + (64 << 10);

const ENTRIES: u16 = 1;
const KEY_BYTES: u16 = 2;
const VALUE_BYTES: u16 = 3;
const FIRST_KEY: u16 = 4;
const LAST_KEY: u16 = 5;
const WRITER: u16 = 6;

/// What a file says about itself beside its entries and its filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Properties {
    /// Entries of the table; 0 for a filter file.
    pub entries: u64,
    /// Bytes of all keys, before prefixes were shared.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// The smallest key; `None` where there are no entries.
    pub first_key: Option<Vec<u8>>,
    /// The largest key; `None` where there are no entries.
    pub last_key: Option<Vec<u8>>,
    /// The program that wrote the file, and its version.
    pub writer: String,
}

/// What this library calls itself in the files that it writes.
pub(super) fn writer() -> String {
    concat!("bloomline ", env!("CARGO_PKG_VERSION")).to_owned()
}

impl Properties {
    /// The contents of the properties block. Keys are at most [`MAX_KEY_BYTES`].
    pub(super) fn encode(&self, of_table: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |tag: u16, value: &[u8]| {
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(value);
        };
        if of_table {
            push(ENTRIES, &self.entries.to_le_bytes());
            push(KEY_BYTES, &self.key_bytes.to_le_bytes());
            push(VALUE_BYTES, &self.value_bytes.to_le_bytes());
        }
        if let Some(key) = &self.first_key {
            push(FIRST_KEY, key);
        }
        if let Some(key) = &self.last_key {
            push(LAST_KEY, key);
        }
        push(WRITER, self.writer.as_bytes());
        bytes
    }

    /// Reads the contents of a properties block.
    pub(super) fn decode(contents: &[u8], of_table: bool) -> Result<Self, Malformed> {
        if contents.len() > MAX_BYTES {
            return Err(Malformed::new(0, "more properties than any writer writes"));
        }
        let mut properties = Self::default();
        let mut counts = [None; 3];
        let mut rest = contents;
        let mut last_tag = 0;
        while !rest.is_empty() {
            let at = contents.len() - rest.len();
            let malformed = |what| Malformed::new(at, what);
            let (tag, value) = take(&mut rest).ok_or(malformed("a property that does not end"))?;
            if tag <= last_tag {
                return Err(malformed("tags that don't ascend"));
            }
            last_tag = tag;
            if matches!(tag, FIRST_KEY | LAST_KEY) && value.len() > MAX_KEY_BYTES {
                return Err(Malformed::limit(at, "bytes of a key", MAX_KEY_BYTES, value.len()));
            }
            match tag {
                ENTRIES | KEY_BYTES | VALUE_BYTES => {
                    let number = value.try_into().map_err(|_| malformed("a number that has not 8 bytes"))?;
                    counts[usize::from(tag - ENTRIES)] = Some(u64::from_le_bytes(number));
                }
                FIRST_KEY => properties.first_key = Some(value.to_vec()),
                LAST_KEY => properties.last_key = Some(value.to_vec()),
                WRITER => {
                    let text = std::str::from_utf8(value).map_err(|_| malformed("a writer not in UTF-8"))?;
                    text.clone_into(&mut properties.writer);
                }
                _ => {}
            }
        }
        let end = |what| Malformed::new(contents.len(), what);
        match counts {
            [Some(entries), Some(key_bytes), Some(value_bytes)] if of_table => {
                (properties.entries, properties.key_bytes, properties.value_bytes) =
                    (entries, key_bytes, value_bytes);
            }
            [None, None, None] if !of_table => {}
            _ => return Err(end("a table has all its counts, a filter file none")),
        }
        let has_entries = properties.entries > 0;
        if properties.first_key.is_some() != has_entries || properties.last_key.is_some() != has_entries {
            return Err(end("a table with entries has a first and a last key, another file neither"));
        }
        Ok(properties)
    }
}

/// Takes a property off the front.
fn take<'a>(rest: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let (tag, after) = rest.split_first_chunk::<2>()?;
    let (bytes, after) = after.split_first_chunk::<4>()?;
    let bytes = usize::try_from(u32::from_le_bytes(*bytes)).ok()?;
    let (value, after) = after.split_at_checked(bytes)?;
    *rest = after;
    Some((u16::from_le_bytes(*tag), value))
}
