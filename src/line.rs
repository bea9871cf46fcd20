//! The 64-byte line, and owned buffers of lines.
//!
//! A line is one cache line: the unit that a lookup touches. Probe kernels take [`LineBytes`], which may lie at
//! any address; [`LineBuf`] owns lines at addresses that are multiples of 64, so that none straddles two cache
//! lines. Alignment buys speed only, never correctness.

#[expect(
    unsafe_code,
    reason = "one buffer type owns heap or mapped memory, and lends it as plain or atomic words"
)]
mod buffer;

pub use buffer::LineBuf;

/// Bytes in a line.
pub const LINE_BYTES: usize = 64;

/// Bits in a line.
pub const LINE_BITS: u64 = 512;

/// The bytes of one line, at any address.
pub type LineBytes = [u8; LINE_BYTES];

/// The lines in `bytes`, or `None` where the length is not a whole number of lines.
#[inline]
#[must_use]
pub fn lines_of(bytes: &[u8]) -> Option<&[LineBytes]> {
    bytemuck::try_cast_slice(bytes).ok()
}

/// Asks the CPU to bring a line near, ahead of its use. Never faults, changes nothing.
#[inline(always)]
pub(crate) fn prefetch(line: &LineBytes) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the prefetch intrinsic takes a pointer")]
    // SAFETY: a prefetch is a hint that can't fault; and the pointer comes from a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
