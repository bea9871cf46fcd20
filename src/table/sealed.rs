//! The trailer that closes every block of a table but the filter, which has checksums of its own: one byte for
//! the type of the block, and the CRC32 of contents and type.

use crate::error::{Section, TableFault};
use crate::format::crc32;

/// Bytes of the trailer: type and CRC32.
pub(super) const TRAILER_BYTES: usize = 1 + 4;

/// The type of a block. The numbers are part of the format: append-only, and 0 is none, so that a hole of zeros
/// is never a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum BlockType {
    /// Entries with shared prefixes, not compressed.
    Data = 1,
    /// The last key and the end of each data block.
    Index = 2,
    /// Tagged facts about the table.
    Properties = 3,
}

impl BlockType {
    fn section(self) -> Section {
        match self {
            Self::Data => Section::Data,
            Self::Index => Section::Index,
            Self::Properties => Section::Properties,
        }
    }
}

/// Closes a block: appends its trailer to its contents.
pub(super) fn seal(contents: &mut Vec<u8>, block_type: BlockType) {
    contents.push(block_type as u8);
    let crc = crc32(contents);
    contents.extend_from_slice(&crc.to_le_bytes());
}

/// The contents of a block that begins at byte `offset` of the file, its checksum verified.
pub(super) fn open(block: &[u8], block_type: BlockType, offset: u64) -> Result<&[u8], TableFault> {
    let section = block_type.section();
    if let Some((sealed, crc)) = block.split_last_chunk() {
        let (expected, got) = (u32::from_le_bytes(*crc), crc32(sealed));
        if expected != got {
            return Err(TableFault::BlockChecksum { section, offset, expected, got });
        }
    }
    open_trusted(block, block_type, offset)
}

/// [`open`] for a block of which the checksum is known to hold.
pub(super) fn open_trusted(block: &[u8], block_type: BlockType, offset: u64) -> Result<&[u8], TableFault> {
    let section = block_type.section();
    let Some((contents, &[got, ..])) = block.split_last_chunk::<TRAILER_BYTES>() else {
        return Err(TableFault::Malformed { section, offset, what: "a block shorter than its trailer" });
    };
    if got != block_type as u8 {
        return Err(TableFault::BlockType { section, offset, expected: block_type as u8, got });
    }
    Ok(contents)
}
