//! Owned, zeroed, 64-byte-aligned lines.

use std::fmt;
use std::ptr::NonNull;

#[cfg(not(loom))]
use super::AtomicLine;
use super::{LINE_BYTES, LineBytes};
use crate::error::FilterError;
use crate::mmap::AnonMap;

/// One line at an address that is a multiple of 64: what the heap is asked for.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct AlignedLine(LineBytes);

/// An owned buffer of zeroed lines: on the heap when small, from an anonymous mapping that asks for huge pages
/// from 2 MiB on.
///
/// Memory is kept as a raw pointer and not as a `Box`, because the same allocation is lent as plain bytes
/// ([`lines`](Self::lines), [`lines_mut`](Self::lines_mut)) and, inside [`AtomicLines`] that never does that, as
/// atomic words.
pub struct LineBuf {
    /// The first line; dangling but aligned when `count` is 0.
    first: NonNull<AlignedLine>,
    count: usize,
    owner: Owner,
}

enum Owner {
    /// `first` and `count` are a leaked `Box<[AlignedLine]>`.
    Heap,
    /// The memory belongs to this map.
    Map { _map: AnonMap },
}

// SAFETY: the buffer owns its memory alone, as a `Box<[u8]>` would; shared access only reads.
unsafe impl Send for LineBuf {}
// SAFETY: as above: `&LineBuf` gives out `&[LineBytes]` only, and `AtomicLines`, which owns its buffer alone, gives out
// atomics only.
unsafe impl Sync for LineBuf {}

impl LineBuf {
    /// `count` zeroed lines.
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`] where the system has no room for them.
    pub fn zeroed(count: usize) -> Result<Self, FilterError> {
        let out_of_memory = |source| FilterError::OutOfMemory {
            bytes: (count as u64).saturating_mul(LINE_BYTES as u64),
            source,
        };
        let bytes = count.checked_mul(LINE_BYTES).ok_or_else(|| out_of_memory(None))?;
        if bytes >= AnonMap::HUGE_PAGE {
            let mut map = AnonMap::zeroed(bytes).map_err(|error| out_of_memory(Some(error)))?;
            let first = NonNull::new(map.as_mut_ptr().cast()).ok_or_else(|| out_of_memory(None))?;
            return Ok(Self { first, count, owner: Owner::Map { _map: map } });
        }
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).map_err(|_| out_of_memory(None))?;
        lines.resize(count, AlignedLine([0; LINE_BYTES]));
        let lines: Box<[AlignedLine]> = lines.into_boxed_slice();
        let first = NonNull::from(Box::leak(lines)).cast();
        Ok(Self { first, count, owner: Owner::Heap })
    }

    /// How many lines there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True for a buffer of no lines.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The lines, to read.
    #[inline]
    #[must_use]
    pub fn lines(&self) -> &[LineBytes] {
        // SAFETY: `first` and `count` describe initialised memory that this buffer owns until it is dropped;
        // `AlignedLine` has the layout of `LineBytes` with a stricter alignment.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().cast(), self.count) }
    }

    /// The lines, to write.
    #[inline]
    #[must_use]
    pub fn lines_mut(&mut self) -> &mut [LineBytes] {
        // SAFETY: as in `lines`, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().cast(), self.count) }
    }

    /// All bytes, line after line.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.lines().as_flattened()
    }
}

impl Drop for LineBuf {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Heap) {
            let lines = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.count);
            // SAFETY: these are the parts of the box that `zeroed` leaked, and nothing refers to it any more.
            drop(unsafe { Box::from_raw(lines) });
        }
    }
}

impl fmt::Debug for LineBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineBuf").field("lines", &self.count).finish_non_exhaustive()
    }
}

/// A [`LineBuf`] lent to many threads at once. The two turn into each other without copying.
#[cfg(not(loom))]
#[derive(Debug)]
pub struct AtomicLines(LineBuf);

#[cfg(not(loom))]
impl AtomicLines {
    /// The lines, to read and to set bits in.
    #[inline]
    #[must_use]
    pub fn lines(&self) -> &[AtomicLine] {
        // SAFETY: `first` and `count` describe initialised memory that the buffer owns until it is dropped, and
        // its pointer came from a unique one, so it may be written through. `AtomicLine` has the layout of
        // `AlignedLine` (eight 64-bit words, alignment 64) and every bit pattern is one of its values. The
        // buffer is private to this type, which lends its memory in no other form, so no plain reference to it
        // lives beside this one.
        unsafe { std::slice::from_raw_parts(self.0.first.as_ptr().cast(), self.0.count) }
    }
}

#[cfg(not(loom))]
impl From<LineBuf> for AtomicLines {
    fn from(lines: LineBuf) -> Self {
        Self(lines)
    }
}

#[cfg(not(loom))]
impl From<AtomicLines> for LineBuf {
    fn from(lines: AtomicLines) -> Self {
        lines.0
    }
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<AtomicLine>() == size_of::<AlignedLine>());
    assert!(align_of::<AtomicLine>() == align_of::<AlignedLine>());
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_writable_at_every_size() {
        let huge = AnonMap::HUGE_PAGE / LINE_BYTES;
        for count in [0, 1, 2, 1000, huge - 1, huge, huge + 1] {
            let mut buffer = LineBuf::zeroed(count).unwrap();
            assert_eq!(buffer.len(), count);
            assert_eq!(buffer.lines().as_ptr() as usize % LINE_BYTES, 0);
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
            for line in buffer.lines_mut() {
                line.fill(0xA5);
            }
            assert!(buffer.bytes().iter().all(|&byte| byte == 0xA5));
        }
    }

    #[test]
    fn a_size_that_no_machine_has_is_an_error() {
        for count in [usize::MAX, usize::MAX / LINE_BYTES, 1 << 52] {
            assert!(matches!(LineBuf::zeroed(count), Err(FilterError::OutOfMemory { .. })));
        }
    }
}
