//! Table files and filter files: sorted entries with a filter and an index, or a filter alone, in one checked
//! container that is read through a memory map.
//!
//! ```text
//! file header  16 B  magic 89 42 4C 54 0D 0A 1A 0A, version u16 = 1, flags u16 = 0, CRC32 of bytes 0 to 11
//! data blocks        entries with shared prefixes; each block followed by its type u8 and a CRC32
//! padding            zeros, at most 63, only before a filter
//! filter block       begins at 16 mod 64, so that its lines are cache lines in the mapping
//! index block        for each data block its last key and its end; type u8 and CRC32
//! properties         counts, first and last key, writer; type u8 and CRC32
//! footer       64 B  where filter, index and properties lie, version, flags, CRC32, magic 89 "BLT-END"
//! ```
//!
//! All integers are little-endian. Sections follow each other without gaps, so that every byte of a file is
//! covered by a checksum or has one right value. A file without an index block is a filter file; a table without
//! entries has an index of no blocks.
//!
//! Files are immutable. [`TableWriter`] and [`write_filter_file`] write them beside their name, put them on the
//! disk and then rename them, so that a crash or a full disk leaves the old file or the new one. There is no
//! update, no delete, no merge of tables, and no compression: those are the engine's.
//!
//! [`TableReader::open`] verifies a file whole. After [`TableReader::open_unverified`], which is O(1), nothing is
//! believed that a lookup reads except the body of the filter; hostile bytes give errors, never a panic.
//!
//! Readers hold files to the writer's limits: a key has at most [`MAX_KEY_BYTES`], a value at most
//! [`MAX_VALUE_BYTES`], and of 16 entries one at least stores its key whole. So a small file can't unfold to a
//! large one: all keys of a file, put together, have at most 16 times its bytes.

mod atomic_file;
mod block;
mod cancel;
mod index;
mod iter;
mod layout;
mod malformed;
mod properties;
mod reader;
mod sealed;
mod stats;
mod varint;
mod verify;
mod writer;

pub use cancel::Cancel;
pub use iter::Entries;
pub use layout::{END_MAGIC, FILE_HEADER_BYTES, FOOTER_BYTES, MAGIC, MIN_FILE_BYTES, VERSION};
pub use properties::Properties;
pub use reader::TableReader;
pub use stats::ReadStats;
pub use verify::verify_file;
pub use writer::{
    MAX_KEY_BYTES, MAX_VALUE_BYTES, TableOptions, TableSummary, TableWriter, write_filter_block,
    write_filter_file, write_filter_file_with,
};
