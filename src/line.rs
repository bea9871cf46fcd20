//! The 64-byte line, and owned buffers of lines.
//!
//! A line is one cache line: the unit that a lookup touches. Probe kernels take [`LineBytes`], which may lie at
//! any address; [`LineBuf`] owns lines at addresses that are multiples of 64, so that none straddles two cache
//! lines. Alignment buys speed only, never correctness. [`AtomicLines`] is such a buffer lent to many threads at
//! once, as [`AtomicLine`]s; [`ReadLine`] is what the two forms of a line have in common.

#[expect(
    unsafe_code,
    reason = "one buffer type owns heap or mapped memory, and lends it as plain or atomic words"
)]
mod buffer;

mod atomic;
#[cfg(loom)]
mod modelled;

pub use atomic::AtomicLine;
#[cfg(not(loom))]
pub use buffer::AtomicLines;
pub use buffer::LineBuf;
#[cfg(loom)]
pub use modelled::AtomicLines;

/// Bytes in a line.
pub const LINE_BYTES: usize = 64;

/// Bits in a line.
pub const LINE_BITS: u64 = 512;

/// The bytes of one line, at any address.
pub type LineBytes = [u8; LINE_BYTES];

/// A line that can be read: plain bytes, or words that other threads are setting bits in.
pub trait ReadLine {
    /// The bytes of the line. Where others write, each of its words is of some moment during the call.
    fn load(&self) -> LineBytes;

    /// A number of which the lowest bit is bit `bit` of the line: bit `bit` mod 8 of byte `bit` / 8. What its other
    /// bits are is not said, so that several probes can be combined by AND and looked at once.
    ///
    /// # Panics
    /// Where `bit` is 512 or more.
    fn shifted(&self, bit: usize) -> u64;
}

impl ReadLine for LineBytes {
    #[inline(always)]
    fn load(&self) -> LineBytes {
        *self
    }

    #[inline(always)]
    fn shifted(&self, bit: usize) -> u64 {
        // By words of 64 bits: a shift by the low 6 bits of a number is one instruction, one by 3 bits is two.
        let words: &[[u8; 8]; LINE_BYTES / 8] = bytemuck::must_cast_ref(self);
        u64::from_le_bytes(words[bit / 64]) >> (bit % 64)
    }
}

/// The lines in `bytes`, or `None` where the length is not a whole number of lines.
#[inline]
#[must_use]
pub fn lines_of(bytes: &[u8]) -> Option<&[LineBytes]> {
    bytemuck::try_cast_slice(bytes).ok()
}

/// Asks the CPU to bring line `index` near, ahead of its use: both cache lines that it lies in, where it lies across two.
/// Never faults, whatever the index; changes nothing.
#[inline(always)]
pub(crate) fn prefetch<L: ReadLine>(lines: &[L], index: usize) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the prefetch intrinsic takes a pointer")]
    // SAFETY: a prefetch is a hint that can't fault, at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line: *const i8 = lines.as_ptr().wrapping_add(index).cast();
        _mm_prefetch::<_MM_HINT_T0>(line);
        if !lines.as_ptr().addr().is_multiple_of(LINE_BYTES) {
            _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(LINE_BYTES - 1));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (lines, index);
}
