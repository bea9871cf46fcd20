//! Bloomline's compact filter in a RocksDB filter block: which size, how it is built, and what is believed.
//!
//! ```text
//! compact block = Bloomline's filter block (header of 48 bytes, kind 3, hasher 5; then lines of 64 bytes)
//!                 RocksDB's trailer (−77, 0, 0, 0, 0)
//! ```
//!
//! RocksDB reserves all negative markers but two, and answers "may match" for them: a stock RocksDB opens such a
//! file, reads every key, and gains nothing from the filter.
//!
//! **What is believed**: all of a block or nothing. The marker, our magic, both checksums, the reserved bits, the
//! hasher (its check value is the hash that the linked RocksDB computes *now*) and the directory of the layers must
//! hold. In contrast to a Bloom filter, one wrong bit in a compact one can deny a key, so the checksum of the body
//! is not left to RocksDB, which has one of its own but lets users switch it off. It costs one pass over the bytes
//! when a block enters the cache, about as long as RocksDB's.
//!
//! **Small filters.** A compact block has a header, and its last line is rarely full. Below
//! [`least_keys`](Compact::least_keys), 147 keys at a rate of 1/128, a blocked filter of a rate at least as low is
//! the smaller one, and a stock RocksDB uses it: that is what is then written.

use std::ffi::c_char;
use std::hint::assert_unchecked;
use std::sync::LazyLock;

use bloomline::compact::{CompactBody, CompactLayout, build};
use bloomline::filter::FilterBlock;
use bloomline::format::{HEADER_BYTES, Header, Kind, crc32};
use bloomline::hash::{Hasher, HasherIdentity, KeyHash};
use bloomline::line::LineBytes;
use bloomline::probe::Backend;
use bloomline::sizing::CompactParams;

use crate::Error;
use crate::block::TRAILER;
use crate::blocked::{self, MAX_BYTES, bytes_for, keys_for};
use crate::ffi;
use crate::policy::Blocked;
use crate::reader::{Filter, Settled};

/// The trailer of a compact block. Its first byte is −77, a marker that RocksDB reserves.
pub(crate) const COMPACT_TRAILER: [u8; TRAILER] = [0xb3, 0, 0, 0, 0];

/// [`Compact::least_keys`] for 4 to 16 fingerprint bits. The model knows, but takes too long to be asked for hundreds
/// of sizes whenever a policy is made; a test asks it.
const LEAST_KEYS: [u16; 13] = [352, 280, 173, 147, 127, 111, 99, 88, 80, 72, 66, 60, 55];

/// Bytes of a block besides its lines.
const OVERHEAD: usize = HEADER_BYTES + TRAILER;

/// RocksDB's key hash, as a block names it.
static IDENTITY: LazyLock<HasherIdentity> =
    LazyLock::new(|| Hasher::rocksdb_xxph3(|key: &[u8]| key_hash(key)).identity());

/// RocksDB's 64-bit key hash.
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    // SAFETY: the slice is alive during the call.
    unsafe { ffi::bl_key_hash(key.as_ptr().cast::<c_char>(), key.len()) }
}

/// A compact filter's parameters, and those of the blocked filter that takes its place where keys are few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compact {
    params: CompactParams,
    /// The rate that the user asked for, for the policy's text: the filter's is the power of two at or below it.
    asked: f64,
    /// Thousandths of a bit per key that the lines take.
    millibits: u32,
    small: Blocked,
}

/// Equal when they give the same filters.
impl PartialEq for Compact {
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params
    }
}

impl Eq for Compact {}

impl Compact {
    /// The smallest filter with a false-positive rate of at most `fpp`.
    pub(crate) fn new(fpp: f64) -> Result<Self, Error> {
        let params = CompactParams::for_fpp(fpp).map_err(|_| Error::FalsePositiveRate { got: fpp })?;
        // Beside the rounding to whole lines, bits per key hardly depend on the number of keys: between 100 and
        // 10⁹ keys, the model is within a line or 0.1% of this.
        const MANY: u64 = 1_000_000;
        let millibits = (params.model(MANY).bytes * 8000).div_ceil(MANY);
        let millibits = u32::try_from(millibits).unwrap_or(u32::MAX);
        Ok(Self { params, asked: fpp, millibits, small: blocked::at_rate(params.fpp())? })
    }

    pub(crate) fn asked(self) -> f64 {
        self.asked
    }

    pub(crate) fn fingerprint_bits(self) -> u8 {
        self.params.fingerprint_bits()
    }

    pub(crate) fn rate(self) -> f64 {
        self.params.fpp()
    }

    /// The blocked filter for fewer keys than [`least_keys`](Self::least_keys).
    pub(crate) fn small(self) -> Blocked {
        self.small
    }

    /// From so many keys on, a compact filter is smaller than a blocked one of the same rate.
    pub(crate) fn least_keys(self) -> u64 {
        let index = usize::from(self.fingerprint_bits()).saturating_sub(4);
        LEAST_KEYS.get(index).copied().unwrap_or(u16::MAX).into()
    }

    /// Bytes of a compact block for so many keys: what the model expects, to within a line or 0.1%.
    pub(crate) fn space(self, keys: u64) -> u64 {
        bytes_for(keys, self.millibits) + OVERHEAD as u64
    }

    /// Keys that a compact block of so many bytes holds.
    pub(crate) fn entries(self, bytes: u64) -> u64 {
        keys_for(bytes.saturating_sub(OVERHEAD as u64), self.millibits)
    }
}

/// A filter that is built, but not yet in its block.
#[derive(Debug)]
pub(crate) struct Built {
    body: CompactBody,
    fingerprint_bits: u8,
}

impl Built {
    /// `None` where memory is short, or the block would be longer than RocksDB's lengths can say.
    pub(crate) fn new(hashes: &[KeyHash], params: Compact) -> Option<Self> {
        if params.space(hashes.len() as u64) > MAX_BYTES {
            return None;
        }
        // RocksDB builds filters on its own background threads, one for each file.
        let body = build(hashes, params.params, 1).ok()?;
        let built = Self { body, fingerprint_bits: params.fingerprint_bits() };
        (built.len() as u64 <= MAX_BYTES).then_some(built)
    }

    /// Bytes of the block.
    pub(crate) fn len(&self) -> usize {
        self.body.lines.bytes().len() + OVERHEAD
    }

    /// Fills a buffer of [`len`](Self::len) bytes; `None` for one of another length.
    pub(crate) fn write(&self, out: &mut [u8]) -> Option<()> {
        let bytes = self.body.lines.bytes();
        let (rest, trailer) = out.split_last_chunk_mut::<TRAILER>()?;
        let (header, body) = rest.split_first_chunk_mut::<HEADER_BYTES>()?;
        if body.len() != bytes.len() {
            return None;
        }
        body.copy_from_slice(bytes);
        let fields = Header {
            kind: Kind::Compact,
            probes: self.fingerprint_bits,
            bits: bytes.len() as u64 * 8,
            count: self.body.keys,
            hasher: *IDENTITY,
            body_crc: crc32(bytes),
        };
        *header = fields.encode();
        *trailer = COMPACT_TRAILER;
        Some(())
    }
}

/// What a compact block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) keys: u64,
    pub(crate) lines: u64,
    pub(crate) layers: usize,
    pub(crate) fingerprint_bits: u8,
}

/// Checks all of a block, less its trailer: `None` unless it is a compact filter over RocksDB's key hash.
pub(crate) fn describe(block: &[u8]) -> Option<Described> {
    let block = FilterBlock::open(block).ok()?;
    let (header, layout) = (block.header(), block.compact_layout()?);
    (header.hasher == *IDENTITY).then_some(Described {
        keys: header.count,
        lines: header.body_bytes() / size_of::<LineBytes>() as u64,
        layers: layout.layers(),
        fingerprint_bits: layout.fingerprint_bits(),
    })
}

/// The lines of a compact block, trailer included.
pub(crate) fn lines(block: &[u8]) -> &[LineBytes] {
    let end = block.len().saturating_sub(TRAILER);
    block.get(HEADER_BYTES..end).map_or(&[], |body| body.as_chunks().0)
}

/// The layers of one filter, and the code for this processor.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    layout: CompactLayout,
    backend: Backend,
}

impl Layers {
    /// Takes lines that [`describe`] has seen.
    pub(crate) fn read(lines: &[LineBytes], fingerprint_bits: u8) -> Option<Self> {
        let layout = CompactLayout::read(lines, fingerprint_bits).ok()?;
        Some(Self { layout, backend: Backend::detect() })
    }
}

impl Filter for Layers {
    #[inline(always)]
    fn might_contain(&self, lines: &[LineBytes], hash: KeyHash) -> bool {
        // No closure: it would not be compiled for the processor that a `OneWidth` is for.
        let Some(view) = self.layout.view(self.backend, lines) else { return true };
        view.might_contain(hash)
    }

    fn might_contain_batch(&self, lines: &[LineBytes], hashes: &[KeyHash], out: &mut [bool]) {
        match self.layout.view(self.backend, lines) {
            Some(view) => view.might_contain_batch(hashes, out),
            None => out.fill(true),
        }
    }
}

/// The [`Layers`] of a filter of `BITS` fingerprint bits, on a processor with AVX2.
#[derive(Clone, Debug)]
pub(crate) struct OneWidth<const BITS: u8>(Layers);

impl<const BITS: u8> OneWidth<BITS> {
    pub(crate) fn new(layers: &Layers) -> Option<Self> {
        let settled = layers.layout.fingerprint_bits() == BITS && Backend::avx2() == Some(layers.backend);
        settled.then(|| Self(layers.clone()))
    }
}

impl<const BITS: u8> Filter for OneWidth<BITS> {
    #[inline(always)]
    fn might_contain(&self, lines: &[LineBytes], hash: KeyHash) -> bool {
        let Self(layers) = self;
        // SAFETY: `new` has seen both, for AVX2 is not the portable backend, and neither changes.
        unsafe {
            assert_unchecked(layers.layout.fingerprint_bits() == BITS && layers.backend != Backend::scalar());
        }
        layers.might_contain(lines, hash)
    }

    fn might_contain_batch(&self, lines: &[LineBytes], hashes: &[KeyHash], out: &mut [bool]) {
        self.0.might_contain_batch(lines, hashes, out);
    }
}

impl<const BITS: u8> Settled for OneWidth<BITS> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// All parameters.
    fn every() -> impl Iterator<Item = Compact> {
        (4..=16).map(|bits| Compact::new(0.5_f64.powi(bits)).unwrap())
    }

    #[test]
    fn from_the_least_keys_on_compact_blocks_are_smaller_than_blocked_ones() {
        let derived = every().map(|compact| {
            let wins = |keys| {
                let bytes = compact.params.model(keys).bytes + OVERHEAD as u64;
                bytes < bytes_for(keys, compact.small.millibits) + TRAILER as u64
            };
            assert!((1_500..100_000).step_by(1_111).all(wins));
            (1..1_500).rev().take_while(|&keys| wins(keys)).last()
        });
        let derived: Vec<u64> = derived.flatten().collect();
        let kept: Vec<u64> = every().map(Compact::least_keys).collect();
        assert_eq!(kept, derived);
    }

    #[test]
    fn the_blocked_filters_of_few_keys_have_at_most_the_same_rate() {
        for compact in every() {
            let (rate, probes) = blocked::best(f64::from(compact.small.millibits) / 1000.0);
            assert_eq!(probes, compact.small.probes);
            assert!(rate <= compact.rate() && rate > compact.rate() * 0.999, "{rate}");
        }
    }

    #[test]
    fn space_is_within_a_line_or_a_thousandth_of_the_model() {
        for compact in every() {
            for keys in (100..4_000).step_by(321).chain([10_000, 100_000, 3_000_000, 400_000_000]) {
                let (space, model) =
                    (compact.space(keys), compact.params.model(keys).bytes + OVERHEAD as u64);
                assert!(space.abs_diff(model) <= 64 + model / 1000, "{keys} keys: {space}, {model}");
            }
        }
    }

    #[test]
    fn blocks_that_lengths_of_32_bits_cannot_say_are_not_built() {
        let compact = Compact::new(0.01).unwrap();
        assert!(compact.space(4_600_000_000) < MAX_BYTES && compact.space(4_700_000_000) > MAX_BYTES);
    }
}
