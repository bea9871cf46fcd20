//! The hashes that the shim has collected.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::slice;

use bloomline::hash::KeyHash;

use crate::ffi::{CHUNK, RawHashes};

/// Hashes in chunks, which are the shim's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashes<'a> {
    raw: RawHashes,
    chunks: PhantomData<&'a [KeyHash]>,
}

impl<'a> Hashes<'a> {
    /// # Safety
    /// `raw` is as `shim/abi.h` says, and nobody writes what it points at during the life `'a`.
    pub(crate) unsafe fn new(raw: RawHashes) -> Self {
        Self { raw, chunks: PhantomData }
    }

    pub(crate) fn len(self) -> usize {
        self.raw.n
    }

    /// The chunks, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [KeyHash]> {
        (0..self.raw.n).step_by(CHUNK).map(move |begin| {
            let n = CHUNK.min(self.raw.n - begin);
            // SAFETY: `new` was promised a chunk for every `CHUNK` hashes, and `n` hashes in this one.
            unsafe { slice::from_raw_parts(*self.raw.chunks.add(begin / CHUNK), n) }
        })
    }

    /// All of them in one slice: where they are, if they lie so.
    pub(crate) fn in_one_piece(self) -> Cow<'a, [KeyHash]> {
        if self.raw.one_piece && self.raw.n > 0 {
            // SAFETY: the first chunk is the beginning of one array of all hashes.
            return Cow::Borrowed(unsafe { slice::from_raw_parts(*self.raw.chunks, self.raw.n) });
        }
        Cow::Owned(self.iter().flatten().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_one_piece_hold_the_same_hashes_in_order() {
        for n in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let all: Vec<_> = (0..n as u64).map(KeyHash::new).collect();
            for one_piece in [false, true] {
                let apart: Vec<Vec<_>> = all.chunks(CHUNK).map(<[_]>::to_vec).collect();
                let pointers: Vec<_> = match one_piece {
                    true => (0..n).step_by(CHUNK).map(|begin| all.as_ptr().wrapping_add(begin)).collect(),
                    false => apart.iter().map(Vec::as_ptr).collect(),
                };
                // SAFETY: chunks of the lengths that are promised, which live on.
                let hashes = unsafe { Hashes::new(RawHashes { chunks: pointers.as_ptr(), n, one_piece }) };
                assert_eq!(hashes.len(), n);
                assert_eq!(hashes.iter().collect::<Vec<_>>().concat(), all);
                assert_eq!(*hashes.in_one_piece(), all);
            }
        }
    }
}
