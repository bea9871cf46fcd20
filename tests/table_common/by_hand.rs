//! Files put together field by field, from the byte map and not through the library.

use super::surgery::crc32;

/// A file under construction.
#[derive(Debug, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// The CRC32 of everything from `start` on.
    pub(crate) fn crc_from(&mut self, start: usize) -> &mut Self {
        self.u32(crc32(&self.0[start..]))
    }

    pub(crate) fn header(&mut self) -> &mut Self {
        self.raw(&[0x89, 0x42, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A]).u16(1).u16(0).crc_from(0)
    }

    pub(crate) fn property(&mut self, tag: u16, value: &[u8]) -> &mut Self {
        self.u16(tag).u32(u32::try_from(value.len()).unwrap()).raw(value)
    }

    /// Type byte and checksum of the block that began at `start`.
    pub(crate) fn seal(&mut self, block_type: u8, start: usize) -> &mut Self {
        self.raw(&[block_type]).crc_from(start)
    }

    pub(crate) fn footer(&mut self, extents: [(usize, usize); 3]) -> &mut Self {
        let start = self.0.len();
        for (from, to) in extents {
            self.u64(from as u64).u64((to - from) as u64);
        }
        self.u16(1).u16(0).crc_from(start).raw(b"\x89BLT-END")
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
