//! The header of a filter block, field by field.

use super::{Kind, crc32};
use crate::error::{FormatError, SizingError};
use crate::hash::{HasherId, HasherIdentity};
use crate::line::{LINE_BITS, LINE_BYTES};
use crate::sizing::{BlockedParams, ClassicParams, CompactParams, ScalableParams};

/// The first four bytes of every block: a byte that no text begins with, then "BLF".
pub const MAGIC: [u8; 4] = [0x89, b'B', b'L', b'F'];

/// The version that this library writes. It reads all versions up to this one.
pub const VERSION: u8 = 1;

// Each field begins where the one before it ends.
const VERSION_AT: usize = MAGIC.len();
const KIND_AT: usize = VERSION_AT + 1;
const PROBES_AT: usize = KIND_AT + 1;
const FLAGS_AT: usize = PROBES_AT + 1;
const BITS_AT: usize = FLAGS_AT + 1;
const COUNT_AT: usize = BITS_AT + 8;
const SEED_AT: usize = COUNT_AT + 8;
const HASHER_AT: usize = SEED_AT + 8;
const RESERVED_AT: usize = HASHER_AT + 2;
const CHECK_AT: usize = RESERVED_AT + 2;
const BODY_CRC_AT: usize = CHECK_AT + 4;
const HEADER_CRC_AT: usize = BODY_CRC_AT + 4;

/// Bytes of the header. 48, so that a file header of 16 bytes before it, or a large allocation of glibc's (which
/// lies 16 bytes past a multiple of 64), puts the body on a line boundary.
pub const HEADER_BYTES: usize = HEADER_CRC_AT + 4;

/// The header of a block, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the block holds.
    pub kind: Kind,
    /// Probes of a key, fingerprint bits of a compact filter or layers of a scalable one; 0 for an empty block.
    pub probes: u8,
    /// Bits of the filter, or of the whole body of a compact or scalable one; 0 for an empty block. The body is as many
    /// whole lines as they need.
    pub bits: u64,
    /// Keys added: distinct ones, as far as the filter could tell.
    pub count: u64,
    /// What the keys were hashed with.
    pub hasher: HasherIdentity,
    /// CRC32 of the body.
    pub body_crc: u32,
}

/// What a checked header describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// No key was added: every key is absent.
    Empty,
    /// A classic filter.
    Classic(ClassicParams),
    /// A blocked filter.
    Blocked(BlockedParams),
    /// A compact filter with so many fingerprint bits, whose lines
    /// [`CompactLayout`](crate::compact::CompactLayout) reads on.
    Compact(u8),
    /// A scalable filter, which [`Container`](super::Container) reads on.
    Scalable,
}

impl Header {
    /// The header of a block without keys, of which the body is empty.
    #[must_use]
    pub fn empty(kind: Kind, hasher: HasherIdentity) -> Self {
        Self { kind, probes: 0, bits: 0, count: 0, hasher, body_crc: crc32(&[]) }
    }

    /// The 48 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..VERSION_AT].copy_from_slice(&MAGIC);
        bytes[VERSION_AT] = VERSION;
        bytes[KIND_AT] = self.kind.id();
        bytes[PROBES_AT] = self.probes;
        bytes[BITS_AT..COUNT_AT].copy_from_slice(&self.bits.to_le_bytes());
        bytes[COUNT_AT..SEED_AT].copy_from_slice(&self.count.to_le_bytes());
        bytes[SEED_AT..HASHER_AT].copy_from_slice(&self.hasher.seed.to_le_bytes());
        bytes[HASHER_AT..RESERVED_AT].copy_from_slice(&self.hasher.id.get().to_le_bytes());
        bytes[CHECK_AT..BODY_CRC_AT].copy_from_slice(&self.hasher.check.to_le_bytes());
        bytes[BODY_CRC_AT..HEADER_CRC_AT].copy_from_slice(&self.body_crc.to_le_bytes());
        let crc = crc32(&bytes[..HEADER_CRC_AT]);
        bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads and checks the header at the start of `block`; what follows it is not looked at.
    ///
    /// # Errors
    /// In the order of the checks: [`FormatError::TooShort`], [`FormatError::Magic`],
    /// [`FormatError::HeaderChecksum`], [`FormatError::NoVersion`] or [`FormatError::Version`], then for fields
    /// that hold what no writer writes [`FormatError::Reserved`], [`FormatError::UnknownKind`],
    /// [`FormatError::EmptyWithKeys`], [`FormatError::Parameters`] and [`FormatError::Layers`].
    pub fn decode(block: &[u8]) -> Result<Self, FormatError> {
        let Some(bytes) = block.first_chunk::<HEADER_BYTES>() else {
            // A foreign file is better told by its first bytes than by its length.
            if !block.starts_with(&MAGIC[..block.len().min(MAGIC.len())]) {
                return Err(FormatError::Magic { got: first_bytes(block) });
            }
            return Err(FormatError::TooShort { needed: HEADER_BYTES as u64, got: block.len() as u64 });
        };
        if !bytes.starts_with(&MAGIC) {
            return Err(FormatError::Magic { got: first_bytes(block) });
        }
        let (expected, got) =
            (u32::from_le_bytes(field(bytes, HEADER_CRC_AT)), crc32(&bytes[..HEADER_CRC_AT]));
        if expected != got {
            return Err(FormatError::HeaderChecksum { expected, got });
        }
        if bytes[VERSION_AT] == 0 {
            return Err(FormatError::NoVersion);
        }
        if bytes[VERSION_AT] > VERSION {
            return Err(FormatError::Version { newest: VERSION, got: bytes[VERSION_AT] });
        }
        if bytes[FLAGS_AT] != 0 {
            return Err(FormatError::Reserved { field: "flags", got: bytes[FLAGS_AT].into() });
        }
        let reserved = u16::from_le_bytes(field(bytes, RESERVED_AT));
        if reserved != 0 {
            return Err(FormatError::Reserved { field: "reserved", got: reserved.into() });
        }
        let header = Self {
            kind: Kind::from_id(bytes[KIND_AT])?,
            probes: bytes[PROBES_AT],
            bits: u64::from_le_bytes(field(bytes, BITS_AT)),
            count: u64::from_le_bytes(field(bytes, COUNT_AT)),
            hasher: HasherIdentity {
                id: HasherId::new(u16::from_le_bytes(field(bytes, HASHER_AT))),
                seed: u64::from_le_bytes(field(bytes, SEED_AT)),
                check: u32::from_le_bytes(field(bytes, CHECK_AT)),
            },
            body_crc: u32::from_le_bytes(field(bytes, BODY_CRC_AT)),
        };
        header.shape()?;
        Ok(header)
    }

    /// The parameters that the header describes.
    ///
    /// # Errors
    /// [`FormatError::EmptyWithKeys`] for no bits and yet keys or probes; [`FormatError::Parameters`] or, for a
    /// scalable filter, [`FormatError::Layers`] for parameters that no filter of the kind has. A header that [`decode`](Self::decode) gave has neither.
    pub fn shape(&self) -> Result<Shape, FormatError> {
        let probes = u32::from(self.probes);
        if self.bits == 0 {
            if self.count != 0 || probes != 0 {
                return Err(FormatError::EmptyWithKeys { count: self.count, probes: self.probes });
            }
            if self.kind == Kind::Scalable {
                // It would have lost the options by which it grows: none is written so.
                return Err(FormatError::Layers { max: ScalableParams::MAX_LAYERS, got: 0 });
            }
            return Ok(Shape::Empty);
        }
        let refused = |source| FormatError::Parameters { kind: self.kind, source };
        match self.kind {
            Kind::Classic => ClassicParams::explicit(self.bits, probes).map(Shape::Classic).map_err(refused),
            Kind::Blocked => BlockedParams::explicit(self.bits, probes).map(Shape::Blocked).map_err(refused),
            Kind::Compact | Kind::Scalable if !self.bits.is_multiple_of(LINE_BITS) => {
                Err(refused(SizingError::NotWholeLines { got: self.bits }))
            }
            Kind::Compact => match CompactParams::new(self.probes) {
                Ok(params) => Ok(Shape::Compact(params.fingerprint_bits())),
                Err(source) => Err(refused(source)),
            },
            Kind::Scalable if !(1..=ScalableParams::MAX_LAYERS).contains(&self.probes) => {
                Err(FormatError::Layers { max: ScalableParams::MAX_LAYERS, got: self.probes })
            }
            Kind::Scalable => Ok(Shape::Scalable),
        }
    }

    /// Bytes of the body: whole lines.
    #[must_use]
    pub const fn body_bytes(&self) -> u64 {
        // At most 2⁵⁵ lines of 2⁶ bytes: no overflow.
        self.bits.div_ceil(LINE_BITS) * LINE_BYTES as u64
    }
}

/// The `N` bytes at `at`, a constant that leaves room for them.
fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

/// Up to four bytes from the start, to show what was found in place of the magic.
fn first_bytes(block: &[u8]) -> Vec<u8> {
    block[..block.len().min(MAGIC.len())].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let hasher =
            HasherIdentity { id: HasherId::new(0x0102), seed: 0x1112_1314_1516_1718, check: 0x2122_2324 };
        Header { kind: Kind::Blocked, probes: 6, bits: 0x400, count: 0x3132, hasher, body_crc: 0x4142_4344 }
    }

    /// The bytes written out by hand from the byte map.
    #[test]
    fn the_byte_map() {
        #[rustfmt::skip]
        let mut by_hand = vec![
            0x89, 0x42, 0x4C, 0x46,                         // magic
            1, 2, 6, 0,                                     // version, kind, probes, flags
            0x00, 0x04, 0, 0, 0, 0, 0, 0,                   // bits
            0x32, 0x31, 0, 0, 0, 0, 0, 0,                   // keys added
            0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, // seed
            0x02, 0x01, 0, 0,                               // hasher id, reserved
            0x24, 0x23, 0x22, 0x21,                         // hasher check
            0x44, 0x43, 0x42, 0x41,                         // CRC of the body
        ];
        by_hand.extend(crc32(&by_hand).to_le_bytes());
        assert_eq!(header().encode().as_slice(), by_hand);
        assert_eq!(Header::decode(&by_hand).unwrap(), header());
    }

    #[test]
    fn every_truncation_is_too_short_and_never_empty() {
        let bytes = header().encode();
        for len in 0..HEADER_BYTES {
            let got = len as u64;
            assert_eq!(
                Header::decode(&bytes[..len]),
                Err(FormatError::TooShort { needed: 48, got }),
                "{len}"
            );
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = header().encode();
        for bit in 0..HEADER_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = Header::decode(&damaged).unwrap_err();
            let right = match bit / 8 {
                0..4 => matches!(error, FormatError::Magic { .. }),
                _ => matches!(error, FormatError::HeaderChecksum { .. }),
            };
            assert!(right, "bit {bit}: {error}");
        }
    }

    /// Writes a field and mends the checksum, as an attacker would.
    fn edited(at: usize, field: &[u8]) -> Result<Header, FormatError> {
        let mut bytes = header().encode();
        bytes[at..at + field.len()].copy_from_slice(field);
        let crc = crc32(&bytes[..HEADER_CRC_AT]);
        bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        Header::decode(&bytes)
    }

    /// A version is believed only where the checksum, which keeps its place in all versions, holds.
    #[test]
    fn a_newer_version_is_told_from_a_damaged_one() {
        assert!(matches!(edited(VERSION_AT, &[2]), Err(FormatError::Version { newest: 1, got: 2 })));
    }

    /// A block of version 0 was once said to be of a newer version than 1.
    #[test]
    fn version_0_is_not_a_newer_one() {
        assert_eq!(edited(VERSION_AT, &[0]), Err(FormatError::NoVersion));
    }

    #[test]
    fn edited_fields_with_a_mended_checksum_are_refused() {
        assert!(matches!(edited(FLAGS_AT, &[1]), Err(FormatError::Reserved { field: "flags", got: 1 })));
        assert!(matches!(
            edited(RESERVED_AT, &[0, 2]),
            Err(FormatError::Reserved { field: "reserved", got: 512 })
        ));
        for kind in [0, 9, 255] {
            assert!(matches!(edited(KIND_AT, &[kind]), Err(FormatError::UnknownKind { got }) if got == kind));
        }
        for probes in [0, 31, 255] {
            assert!(matches!(edited(PROBES_AT, &[probes]), Err(FormatError::Parameters { .. })), "{probes}");
        }
        for bits in [1, 511, 513, (1 << 39) + 512, u64::MAX, u64::MAX - 511] {
            assert!(
                matches!(edited(BITS_AT, &bits.to_le_bytes()), Err(FormatError::Parameters { .. })),
                "{bits}"
            );
        }
        assert!(matches!(
            edited(BITS_AT, &[0; 8]),
            Err(FormatError::EmptyWithKeys { count: 0x3132, probes: 6 })
        ));
        assert!(edited(COUNT_AT, &[0; 8]).is_ok());
    }

    #[test]
    fn a_foreign_file_is_told_by_its_first_bytes() {
        for text in [&b"x"[..], b"hello", &[0; 48], &[0xFF; 100]] {
            assert!(matches!(Header::decode(text), Err(FormatError::Magic { .. })));
        }
    }
}
