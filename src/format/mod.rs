//! The filter block: a 48-byte header, then the filter's lines.
//!
//! ```text
//! offset size field
//!      0    4 magic 89 42 4C 46
//!      4    1 version, 1
//!      5    1 kind
//!      6    1 probes of a key; layers of a scalable filter
//!      7    1 flags, zero in version 1
//!      8    8 bits
//!     16    8 keys added
//!     24    8 seed of the hasher
//!     32    2 hasher id
//!     34    2 reserved, zero
//!     36    4 hasher check
//!     40    4 CRC32 (IEEE) of the body
//!     44    4 CRC32 (IEEE) of bytes 0 to 43
//!     48      body: whole lines of 64 bytes
//! ```
//!
//! All integers are little-endian. A scalable filter is a [`Container`] of such blocks in one. DESIGN.md says what each field may hold; [`Header::decode`] enforces it.
//!
//! A block is believed only as far as it was checked: the length against the header before anything is computed
//! from it, every reserved bit, the parameters by the constructors of [`sizing`](crate::sizing), and the body by
//! its CRC. A short block is an error and never an empty filter, for an empty filter answers "absent".

mod container;
mod header;
mod kind;

pub use container::{Container, ContainerLayer};
pub use header::{HEADER_BYTES, Header, MAGIC, Shape, VERSION};
pub use kind::Kind;

use crate::error::FormatError;
use crate::line::{LINE_BYTES, LineBytes};

/// The CRC32 (IEEE 802.3, as in gzip and PNG) that all formats of this library use.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Splits a block into its checked header and its lines, which are not checked against their CRC.
///
/// # Errors
/// Whatever [`Header::decode`] finds; [`FormatError::Length`] where the bytes are not exactly the block.
pub fn split(block: &[u8]) -> Result<(Header, &[LineBytes]), FormatError> {
    let header = Header::decode(block)?;
    let body = &block[HEADER_BYTES..];
    let expected = header.body_bytes();
    if expected != body.len() as u64 {
        return Err(FormatError::Length {
            expected: expected.saturating_add(HEADER_BYTES as u64),
            got: block.len() as u64,
        });
    }
    let (lines, _) = body.split_at(body.len() / LINE_BYTES * LINE_BYTES);
    match crate::line::lines_of(lines) {
        Some(lines) => Ok((header, lines)),
        None => Err(FormatError::Length { expected, got: body.len() as u64 }),
    }
}

/// Checks the lines against the CRC of their header and that bits past the filter's end are zero.
///
/// # Errors
/// [`FormatError::BodyChecksum`] or [`FormatError::PaddingNotZero`].
pub fn verify_body(header: &Header, lines: &[LineBytes]) -> Result<(), FormatError> {
    let got = crc32(lines.as_flattened());
    if got != header.body_crc {
        return Err(FormatError::BodyChecksum { expected: header.body_crc, got });
    }
    let used = header.bits % 512;
    if let (Some(last), true) = (lines.last(), used != 0) {
        let padding = (used..512).filter(|bit| {
            let byte = usize::try_from(bit / 8).unwrap_or(0);
            last[byte] >> (bit % 8) & 1 == 1
        });
        if padding.count() > 0 {
            return Err(FormatError::PaddingNotZero { bits: header.bits });
        }
    }
    Ok(())
}
