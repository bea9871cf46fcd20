//! The blocked schema: one line per key.
//!
//! With `lo` and `hi` the halves of the 64-bit hash:
//!
//! ```text
//! line    = (lo · lines) >> 32                       a number in 0..lines, without a division
//! x₀      = hi
//! xᵢ₊₁    = xᵢ · 0x9E3779B9  (mod 2³²)
//! bit i   = xᵢ >> 23                                 0..512; bit b is bit b mod 8 of byte b / 8
//! ```
//!
//! This is, bit for bit, the schema of RocksDB's FastLocalBloom (`util/bloom_impl.h`): with RocksDB's own key
//! hash these lines are the ones that RocksDB writes and reads. Multiplying by an odd constant (2³² divided by
//! the golden ratio) spreads the probes of a key and is free of the patterns of double hashing, whose probes lie
//! in an arithmetic progression: inside 512 bits that costs a fifth more false positives at 10 bits per key and
//! three times as many at 16.

use super::batch::fetch_ahead;
use super::kernel::{Backend, add_shared};
use super::{Probe, ones};
use crate::hash::KeyHash;
use crate::line::{AtomicLine, LINE_BITS, LineBytes, ReadLine, prefetch};
use crate::sizing::BlockedParams;

/// The number of the hash's line among `lines` (at most 2³²).
#[inline(always)]
pub(super) fn line_index(hash: KeyHash, lines: usize) -> usize {
    (((hash.get() & 0xFFFF_FFFF) * lines as u64) >> 32) as usize
}

/// The half of the hash from which the probes inside the line come.
#[inline(always)]
pub(super) fn probe_seed(hash: KeyHash) -> u32 {
    (hash.get() >> 32) as u32
}

/// For each number of zeros in a line, 0 to 512, the number of keys that most likely left them; infinite for 0.
fn keys_per_zeros(probes: u8) -> Vec<f64> {
    let step = (-1.0 / LINE_BITS as f64).ln_1p() * f64::from(probes);
    // From 512 zeros, which no key left, −0 would come.
    (0..=512_u32).map(|zeros| ((f64::from(zeros) / 512.0).ln() / step).max(0.0)).collect()
}

impl Probe for BlockedParams {
    #[inline]
    fn bits(&self) -> u64 {
        (*self).bits()
    }

    #[inline]
    fn probes(&self) -> u8 {
        (*self).probes()
    }

    #[inline]
    fn line_count(&self) -> Option<usize> {
        usize::try_from(self.lines()).ok()
    }

    fn expected_fpp(&self, keys: u64) -> f64 {
        (*self).expected_fpp(keys)
    }

    fn fill_fpp<L: ReadLine>(&self, lines: &[L]) -> f64 {
        // A line is picked evenly, then every probe meets a one with the line's own fill; or the key shares the
        // 32 bits of hash inside the line with one of its keys.
        let per_fill: Vec<f64> = (0..=512_u32)
            .zip(keys_per_zeros(self.probes()).into_iter().rev())
            .map(|(ones, keys)| {
                let met = (f64::from(ones) / 512.0).powi(i32::from(self.probes()));
                (met + keys / 2_f64.powi(32)).min(1.0)
            })
            .collect();
        let sum: f64 = lines.iter().map(|line| per_fill[ones(line) as usize]).sum();
        if lines.is_empty() { 0.0 } else { sum / lines.len() as f64 }
    }

    fn keys_from_fill<L: ReadLine>(&self, lines: &[L]) -> Option<u64> {
        // Line by line, i keys leave 512·(1 − 1/512)^(i·k) zeros on average; the sum over lines estimates n.
        let per_zeros = keys_per_zeros(self.probes());
        let sum: f64 = lines.iter().map(|line| per_zeros[512 - ones(line) as usize]).sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "finite, at least 0")]
        sum.is_finite().then(|| sum.round() as u64)
    }

    #[inline]
    fn might_contain<L: ReadLine>(&self, backend: Backend, lines: &[L], hash: KeyHash) -> bool {
        backend.might_contain(lines, hash, self.probes())
    }

    fn might_contain_batch<L: ReadLine>(
        &self,
        backend: Backend,
        lines: &[L],
        hashes: &[KeyHash],
        answers: &mut [bool],
    ) {
        backend.might_contain_batch(lines, hashes, self.probes(), answers);
    }

    #[inline]
    fn add(&self, backend: Backend, lines: &mut [LineBytes], hash: KeyHash) -> bool {
        backend.add(lines, hash, self.probes())
    }

    fn add_batch(&self, backend: Backend, lines: &mut [LineBytes], hashes: &[KeyHash]) -> u64 {
        backend.add_batch(lines, hashes, self.probes())
    }

    #[inline]
    fn add_shared(&self, lines: &[AtomicLine], hash: KeyHash) -> bool {
        add_shared(&lines[line_index(hash, lines.len())], probe_seed(hash), self.probes())
    }

    fn add_shared_batch(&self, lines: &[AtomicLine], hashes: &[KeyHash]) -> u64 {
        let mut new = 0;
        fetch_ahead(
            &mut new,
            hashes,
            |_, &hash| prefetch(lines, line_index(hash, lines.len())),
            |new, &hash| *new += u64::from(self.add_shared(lines, hash)),
        );
        new
    }
}
