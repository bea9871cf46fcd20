//! RocksDB's blocked Bloom filter in Bloomline's terms: its size, its rate and its lines.
//!
//! The one file that binds this crate to the library's kernels and sizing. The line and probe schema of
//! `FastLocalBloom` is Bloomline's own (see [`bloomline::probe`]), so all that is particular to RocksDB is how it
//! rounds: thousandths of a bit per key, whole lines, and at most 2³² − 64 bytes.

use std::hint::assert_unchecked;
use std::ops::RangeInclusive;

use bloomline::hash::KeyHash;
use bloomline::line::{LINE_BITS, LINE_BYTES, LineBytes};
use bloomline::probe::{Backend, Probe};
use bloomline::sizing::{BlockedParams, blocked_fpp};

use crate::Error;
use crate::policy::Blocked;
use crate::reader::{Filter, Settled};

/// The most bytes that RocksDB's 32-bit lengths can express in whole lines.
pub(crate) const MAX_BYTES: u64 = 0xffff_ffc0;

/// Probes that RocksDB's trailer can express.
pub(crate) const PROBES: RangeInclusive<u8> = 1..=30;

const LINE: u64 = LINE_BYTES as u64;

/// Bytes of lines for `keys` keys: rounded up to whole lines, as RocksDB's builder rounds.
pub(crate) fn bytes_for(keys: u64, millibits: u32) -> u64 {
    let exact = (u128::from(keys) * u128::from(millibits)).div_ceil(8000);
    let capped = u64::try_from(exact).map_or(MAX_BYTES, |bytes| bytes.min(MAX_BYTES));
    capped.next_multiple_of(LINE)
}

/// Keys that `bytes` bytes of lines hold at `millibits` thousandths of a bit each.
pub(crate) fn keys_for(bytes: u64, millibits: u32) -> u64 {
    let whole = bytes.min(MAX_BYTES) / LINE * LINE;
    whole * 8000 / u64::from(millibits.max(1))
}

/// Probes that cost a rate of less than this times the lowest are as good, and the fewest of them are the best:
/// they set and test fewer bits, and up to eight are one vector. (At 10 bits per key 7 probes beat 6 by 0.05%.)
const AS_GOOD: f64 = 1.01;

/// The best number of probes at so many bits per key, and their rate.
pub(crate) fn best(bits_per_key: f64) -> (f64, u8) {
    // The rate has one minimum over the probes: walk downhill to it from the left.
    let rates = PROBES.map(|probes| (blocked_fpp(bits_per_key, probes), probes));
    let mut seen: Vec<(f64, u8)> = Vec::new();
    for next in rates {
        if seen.last().is_some_and(|last| next.0 >= last.0) {
            break;
        }
        seen.push(next);
    }
    let lowest = seen.last().map_or(1.0, |last| last.0);
    seen.into_iter().find(|(rate, _)| *rate <= lowest * AS_GOOD).unwrap_or((1.0, 1))
}

/// The blocked filter of the fewest bits per key whose rate is at most `rate`.
pub(crate) fn at_rate(rate: f64) -> Result<Blocked, Error> {
    let (mut low, mut high) = (1_000, 100_000);
    while low < high {
        let middle = u32::midpoint(low, high);
        if best(f64::from(middle) / 1000.0).0 <= rate { high = middle } else { low = middle + 1 }
    }
    Blocked::new(f64::from(low) / 1000.0)
}

/// The lines and probes of one filter, and the code for this processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    params: BlockedParams,
    backend: Backend,
}

impl Kernel {
    /// `None` unless there are 1 to 2³⁰ lines and 1 to 30 probes.
    pub(crate) fn new(lines: u64, probes: u8) -> Option<Self> {
        let bits = lines.checked_mul(LINE_BITS)?;
        let params = BlockedParams::explicit(bits, probes.into()).ok()?;
        Some(Self { params, backend: Backend::detect() })
    }

    pub(crate) fn expected_rate(self, keys: u64) -> f64 {
        self.params.expected_fpp(keys)
    }

    /// The rate that absent keys meet with just these bits set.
    pub(crate) fn fill_rate(self, lines: &[LineBytes]) -> f64 {
        self.params.fill_fpp(lines)
    }

    /// Sets the bits of every hash, with the lines fetched ahead.
    pub(crate) fn add_all(self, lines: &mut [LineBytes], hashes: &[KeyHash]) {
        self.params.add_batch(self.backend, lines, hashes);
    }
}

impl Filter for Kernel {
    #[inline]
    fn might_contain(&self, lines: &[LineBytes], hash: KeyHash) -> bool {
        self.params.might_contain(self.backend, lines, hash)
    }

    fn might_contain_batch(&self, lines: &[LineBytes], hashes: &[KeyHash], out: &mut [bool]) {
        self.params.might_contain_batch(self.backend, lines, hashes, out);
    }
}

/// A [`Kernel`] of up to eight probes, as filters of up to 14 bits per key have, on a processor with AVX2. Its lookup is
/// straight code, and saves no registers for the ways that it can't go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneVector(Kernel);

impl OneVector {
    pub(crate) fn new(kernel: Kernel) -> Option<Self> {
        (kernel.params.probes() <= 8 && Backend::avx2() == Some(kernel.backend)).then_some(Self(kernel))
    }
}

impl Filter for OneVector {
    #[inline(always)]
    fn might_contain(&self, lines: &[LineBytes], hash: KeyHash) -> bool {
        let Self(kernel) = self;
        // SAFETY: `new` has seen both, for AVX2 is not the portable backend, and neither changes; a filter has lines.
        unsafe {
            assert_unchecked(kernel.params.probes() <= 8 && kernel.backend != Backend::scalar());
            assert_unchecked(!lines.is_empty());
        };
        kernel.might_contain(lines, hash)
    }

    fn might_contain_batch(&self, lines: &[LineBytes], hashes: &[KeyHash], out: &mut [bool]) {
        self.0.might_contain_batch(lines, hashes, out);
    }
}

impl Settled for OneVector {}

/// Keys of a batched lookup: RocksDB's `MultiGet` asks for at most so many.
pub(crate) const BATCH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_as_rocksdb_rounds() {
        assert_eq!(bytes_for(0, 10_000), 0);
        assert_eq!(bytes_for(1, 1_000), 64);
        assert_eq!(bytes_for(512, 1_000), 64);
        assert_eq!(bytes_for(513, 1_000), 128);
        assert_eq!(bytes_for(1_000_000, 10_000), 1_250_048);
        assert_eq!(bytes_for(1_000_000, 9_999), 1_249_920);
        assert_eq!(bytes_for(u64::MAX, 100_000), MAX_BYTES);
    }

    #[test]
    fn the_keys_of_a_size_fit_into_it() {
        for millibits in [1_000, 6_667, 10_000, 100_000] {
            for bytes in [64, 4_096, 4_097, 1 << 20, u64::MAX] {
                let keys = keys_for(bytes, millibits);
                assert!(bytes_for(keys, millibits) <= bytes, "{keys} keys in {bytes} at {millibits}");
                assert!(bytes_for(keys + 1, millibits) > bytes.min(MAX_BYTES) / 64 * 64 || bytes > MAX_BYTES);
            }
        }
        assert_eq!(keys_for(63, 10_000), 0);
    }

    #[test]
    fn the_best_probes_are_the_fewest_that_are_as_good_as_any() {
        for tenths in (10..=1000).step_by(7) {
            let bits = f64::from(tenths) / 10.0;
            let (rate, probes) = best(bits);
            assert_eq!(rate, blocked_fpp(bits, probes));
            assert!(PROBES.clone().all(|k| rate <= blocked_fpp(bits, k) * AS_GOOD), "{bits}: {probes}");
            assert!((1..probes).all(|k| rate < blocked_fpp(bits, k)), "{bits}: {probes}");
        }
        assert_eq!([8.0, 10.0, 14.0, 16.0].map(|bits| best(bits).1), [5, 6, 8, 9]);
    }
}
