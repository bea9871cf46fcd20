//! RocksDB's filter block: the filter's bytes and a trailer of five.
//!
//! | trailer byte | meaning |
//! |---|---|
//! | 0 | marker: −1 blocked Bloom, −2 Ribbon, 1 to 127 the probes of a legacy Bloom filter, 0 and other negatives reserved |
//! | 0 | −77, one of the reserved: Bloomline's compact filter (see [`crate::compact`]) |
//! | 1 | of a Bloom block: implementation, 0 is `FastLocalBloom` |
//! | 2 | of a Bloom block: probes in the low five bits, line size (0 is 64 bytes) in the high three |
//! | 3, 4 | of a Bloom block: reserved, zero |
//! | 1 to 4 | of a compact block: reserved, zero |
//!
//! (Source: `table/block_based/filter_policy.cc` of RocksDB 11.8.) [`classify`] recognises what
//! it can prove and nothing else. Whatever it doesn't know is [`Kind::Unknown`], and a reader of
//! that says "may be present" to every key. RocksDB's own reader takes five bytes or fewer as an
//! empty filter, and one whose line is shorter than a line as readable: here both are unknown.

use bloomline::line::{LINE_BYTES as LINE, LineBytes};

use crate::blocked::{MAX_BYTES, PROBES};
use crate::compact::{self, COMPACT_TRAILER, Described};

/// Bytes of the trailer.
pub(crate) const TRAILER: usize = 5;

const MARKER_BLOOM: u8 = 0xff;
const MARKER_RIBBON: u8 = 0xfe;

/// What a filter block is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Blocked Bloom with lines of 64 bytes: `FastLocalBloom`, which Bloomline also writes.
    Blocked {
        /// Number of lines.
        lines: u64,
        /// Probes per key, 1 to 30.
        probes: u8,
    },
    /// Bloomline's compact filter, which to a stock RocksDB means "may match".
    Compact {
        /// Distinct keys that it was built from.
        keys: u64,
        /// Number of lines, of all layers.
        lines: u64,
        /// Number of layers.
        layers: usize,
        /// Fingerprint bits of a key, 4 to 16: the false-positive rate is 2 to the power of minus this.
        fingerprint_bits: u8,
    },
    /// RocksDB's Ribbon.
    Ribbon {
        /// Blocks of 128 slots.
        blocks: u32,
        /// Fingerprint bits per key, on average over the blocks.
        columns: f64,
    },
    /// RocksDB's Bloom filter of `format_version` 4 and below.
    Legacy {
        /// Probes per key.
        probes: u8,
    },
    /// Damaged, reserved or from the future: every key may be present.
    Unknown,
}

impl Kind {
    /// The kind in a word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blocked { .. } => "blocked",
            Self::Compact { .. } => "compact",
            Self::Ribbon { .. } => "ribbon",
            Self::Legacy { .. } => "legacy",
            Self::Unknown => "unknown",
        }
    }
}

/// Recognises a block by its trailer and its length, and a compact one by its checksums too, for which it reads all
/// of it.
#[must_use]
pub fn classify(block: &[u8]) -> Kind {
    let Some((body, trailer)) = block.split_last_chunk::<TRAILER>() else {
        return Kind::Unknown;
    };
    let len = body.len() as u64;
    if len == 0 || len > MAX_BYTES {
        return Kind::Unknown;
    }
    match *trailer {
        [MARKER_BLOOM, 0, probes, 0, 0] if PROBES.contains(&probes) && len.is_multiple_of(LINE as u64) => {
            Kind::Blocked { lines: len / LINE as u64, probes }
        }
        COMPACT_TRAILER => compact(body),
        [MARKER_RIBBON, _seed, a, b, c] => ribbon(len, u32::from_le_bytes([a, b, c, 0])),
        // Cache lines of 64 bytes and others, each line a power of two: RocksDB's reader decides.
        [probes @ 1..=127, lines @ ..] if legacy_lines_fit(len, u32::from_le_bytes(lines)) => {
            Kind::Legacy { probes }
        }
        _ => Kind::Unknown,
    }
}

fn compact(body: &[u8]) -> Kind {
    compact::describe(body).map_or(Kind::Unknown, |described| {
        let Described { keys, lines, layers, fingerprint_bits } = described;
        Kind::Compact { keys, lines, layers, fingerprint_bits }
    })
}

/// A Ribbon block stores whole segments of 16 bytes: one column of 128 slots each.
fn ribbon(len: u64, blocks: u32) -> Kind {
    let segments = len / 16;
    if !len.is_multiple_of(16) || blocks < 2 {
        return Kind::Unknown;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^28 segments")]
    let columns = segments as f64 / f64::from(blocks);
    if columns > 32.0 {
        return Kind::Unknown;
    }
    Kind::Ribbon { blocks, columns }
}

/// The line size is `len / lines`, a power of two.
fn legacy_lines_fit(len: u64, lines: u32) -> bool {
    let lines = u64::from(lines);
    lines != 0 && len.is_multiple_of(lines) && (len / lines).is_power_of_two()
}

/// The trailer of a blocked filter.
pub(crate) const fn trailer(probes: u8) -> [u8; TRAILER] {
    [MARKER_BLOOM, 0, probes, 0, 0]
}

/// The body of a block of [`Kind::Blocked`] as lines.
pub(crate) fn lines(block: &[u8]) -> &[LineBytes] {
    let body = block.len().saturating_sub(TRAILER);
    block.get(..body).map_or(&[], |body| body.as_chunks().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(lines: usize, trailer: [u8; TRAILER]) -> Vec<u8> {
        let mut block = vec![0; lines * LINE];
        block.extend(trailer);
        block
    }

    #[test]
    fn own_trailer_is_recognised() {
        for probes in PROBES {
            let block = blocked(3, trailer(probes));
            assert_eq!(classify(&block), Kind::Blocked { lines: 3, probes });
            assert_eq!(lines(&block).len(), 3);
        }
    }

    #[test]
    fn every_other_trailer_of_a_bloom_block_is_unknown() {
        for byte in 0..TRAILER {
            for value in 0..=255 {
                let mut trailer = trailer(6);
                trailer[byte] = value;
                let known = match byte {
                    0 => value == MARKER_BLOOM,
                    2 => PROBES.contains(&value),
                    _ => value == 0,
                };
                let expected = if known {
                    Kind::Blocked { lines: 3, probes: trailer[2] }
                } else if trailer[0] == MARKER_RIBBON {
                    // The other bytes then say six blocks, which 12 segments can be.
                    Kind::Ribbon { blocks: 6, columns: 2.0 }
                } else {
                    // A marker of 1 to 127 claims 1,536 legacy lines in 192 bytes.
                    Kind::Unknown
                };
                assert_eq!(classify(&blocked(3, trailer)), expected, "{trailer:?}");
            }
        }
    }

    #[test]
    fn lengths_that_are_not_whole_lines_are_unknown() {
        let whole = blocked(2, trailer(6));
        for cut in 1..whole.len() {
            let kind = classify(&whole[cut..]);
            assert_eq!(kind != Kind::Unknown, cut == LINE, "{cut}: {kind:?}");
        }
        assert_eq!(classify(&[]), Kind::Unknown);
    }
}
