//! The limit of the memory: loops that do nothing but read one random line per key.
//!
//! No filter that reads a line per key can be faster out of cache. The buffer has the size of the blocked
//! filter, the line comes from the hash by the same fast range, and the buffer is Bloomline's own, so that it
//! gets huge pages as a filter does.

use bloomline::KeyHash;
use bloomline::line::{LINE_BYTES, LineBuf, LineBytes};

use crate::contender::{BuildFrom, Contender, Filter, count};
use crate::keys::Key;

/// Keys between the prefetch of a line and its use: the depth that measured best of 8, 16, 32 and 64.
const DEPTH: usize = 32;

/// The loops, over a buffer of `bytes` bytes.
pub(crate) fn memory(bytes: usize) -> Contender {
    Contender {
        name: "limit: one line read",
        settings: "no filter: one random line of as many; the batch prefetches",
        build_from: BuildFrom::Nothing,
        expected_fpp: None,
        build: Box::new(move |_| {
            let mut lines = LineBuf::zeroed(bytes / LINE_BYTES).expect("memory for a buffer");
            // Written, because pages that were never written all share one page of zeros.
            for (line, value) in lines.lines_mut().iter_mut().zip((0..=u8::MAX).cycle()) {
                line.fill(value);
            }
            Box::new(Memory { lines })
        }),
        build_parallel: None,
    }
}

struct Memory {
    lines: LineBuf,
}

#[inline(always)]
fn line_of(lines: &[LineBytes], hash: KeyHash) -> &LineBytes {
    &lines[(((hash.get() & 0xFFFF_FFFF) * lines.len() as u64) >> 32) as usize]
}

impl Filter for Memory {
    fn bytes(&self) -> usize {
        self.lines.bytes().len()
    }

    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
        let lines = self.lines.lines();
        Some(count(hashes, |&hash| line_of(lines, hash)[0] == 0))
    }

    fn count_hashes_batched(&self, hashes: &[KeyHash]) -> Option<usize> {
        let lines = self.lines.lines();
        let ahead = hashes.get(DEPTH..).unwrap_or_default();
        let mut zeros = 0;
        for (&hash, &next) in hashes.iter().zip(ahead) {
            prefetch(line_of(lines, next));
            zeros += usize::from(line_of(lines, hash)[0] == 0);
        }
        Some(zeros + count(&hashes[ahead.len()..], |&hash| line_of(lines, hash)[0] == 0))
    }

    fn count_keys(&self, _: &[Key]) -> Option<usize> {
        None
    }
}

#[inline(always)]
fn prefetch(line: &LineBytes) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the prefetch intrinsic takes a pointer")]
    // SAFETY: a prefetch is a hint that can't fault; and the pointer comes from a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(line[0]);
}
