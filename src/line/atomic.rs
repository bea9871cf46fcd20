//! A line that many threads set bits in at once.

use super::{LINE_BYTES, LineBytes, ReadLine};
use crate::sync::{AtomicU64, Ordering};

/// Words in a line.
const WORDS: usize = LINE_BYTES / 8;

/// A line as atomic words. In memory it is the very bytes of a [`LineBytes`], on machines of either byte order:
/// masks are turned to little-endian before they meet a word.
///
/// Every access is relaxed. Bits are only ever set, so all that a reader needs is to see a word no older than
/// one it knows of, and that the coherence of a single word gives: if setting a bit happened before a load, by
/// whatever synchronisation the threads have between them, the load sees the bit. The same holds for a thread
/// that found the bit set by another and passed that on.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(64)))]
pub struct AtomicLine {
    words: [AtomicU64; WORDS],
}

impl AtomicLine {
    /// Sets the bits of `mask` in one word, bit `i` of it being bit `64·word + i` of the line. True when at least
    /// one of them was not set. Where all are, nothing is written, and a line that many threads ask for stays
    /// in all their caches.
    #[inline(always)]
    pub(crate) fn set(&self, word: usize, mask: u64) -> bool {
        let mask = mask.to_le();
        let word = &self.words[word];
        word.load(Ordering::Relaxed) & mask != mask && word.fetch_or(mask, Ordering::Relaxed) & mask != mask
    }

    /// A line with these bits: what the model checker, of which the atomics are no plain words, copies into.
    #[cfg(loom)]
    pub(super) fn from_bytes(bytes: &LineBytes) -> Self {
        let words: [[u8; 8]; WORDS] = bytemuck::must_cast(*bytes);
        Self { words: words.map(|word| AtomicU64::new(u64::from_ne_bytes(word))) }
    }
}

impl ReadLine for AtomicLine {
    #[inline(always)]
    fn load(&self) -> LineBytes {
        bytemuck::must_cast(std::array::from_fn::<_, WORDS, _>(|i| self.words[i].load(Ordering::Relaxed)))
    }

    #[inline(always)]
    fn shifted(&self, bit: usize) -> u64 {
        u64::from_le(self.words[bit / 64].load(Ordering::Relaxed)) >> (bit % 64)
    }
}
