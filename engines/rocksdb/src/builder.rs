//! Building one file's filters: the Rust half of the shim's `BitsBuilder`.

use std::sync::{Arc, Mutex, PoisonError};

use bloomline::line::{LineBuf, LineBytes};

use crate::block::{self, Kind, TRAILER};
use crate::blocked::{self, Kernel};
use crate::compact::{self, Built, Compact, Layers};
use crate::counters::Meter;
use crate::faults::{Fault, Stage};
use crate::hashes::Hashes;
use crate::policy::Blocked;
use crate::reader::Filter;
use crate::relaxed;

/// What a filter is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Blocked(Blocked),
    Compact(Compact),
}

impl Format {
    /// The format of a filter of so many keys: a compact policy's filters of few keys are blocked.
    fn of(self, keys: u64) -> Self {
        match self {
            Self::Compact(compact) if keys < compact.least_keys() => Self::Blocked(compact.small()),
            format => format,
        }
    }
}

/// The plan of a file's filters. The hashes stay with the shim.
#[derive(Debug)]
pub(crate) struct Builder {
    format: Format,
    meter: Arc<Meter>,
    fault: Fault,
    /// A compact filter between [`prepare`](Self::prepare), which must build it to know its length, and
    /// [`write`](Self::write). A lock, because other threads ask for sizes meanwhile; only the builder's own takes it.
    built: Mutex<Option<Built>>,
}

impl Builder {
    pub(crate) fn new(format: Format, meter: Arc<Meter>, fault: Fault) -> Self {
        Self { format, meter, fault, built: Mutex::default() }
    }

    /// Bytes of a block of so many entries; of a compact one, about.
    pub(crate) fn space(&self, entries: usize) -> usize {
        let bytes = match self.format.of(entries as u64) {
            Format::Blocked(params) => {
                blocked::bytes_for(entries as u64, params.millibits).saturating_add(TRAILER as u64)
            }
            Format::Compact(params) => params.space(entries as u64),
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Entries that a block of so many bytes holds.
    pub(crate) fn entries(&self, bytes: usize) -> usize {
        let blocked =
            |params: Blocked| blocked::keys_for(bytes.saturating_sub(TRAILER) as u64, params.millibits);
        let entries = match self.format {
            Format::Blocked(params) => blocked(params),
            Format::Compact(params) => match params.entries(bytes as u64) {
                entries if entries >= params.least_keys() => entries,
                _ => blocked(params.small()).min(params.least_keys() - 1),
            },
        };
        usize::try_from(entries).unwrap_or(usize::MAX)
    }

    /// The expected false-positive rate of so many entries in a block of so many bytes.
    pub(crate) fn rate(&self, entries: usize, bytes: usize) -> f64 {
        let params = match self.format.of(entries as u64) {
            Format::Blocked(params) => params,
            Format::Compact(params) => return params.rate(),
        };
        let lines = bytes.saturating_sub(TRAILER) / size_of::<LineBytes>();
        match Kernel::new(lines as u64, params.probes) {
            Some(kernel) => kernel.expected_rate(entries as u64),
            None if entries == 0 => 0.0,
            None => 1.0,
        }
    }

    /// The exact length of the block for these hashes, or `None` when no filter can be made.
    pub(crate) fn prepare(&self, hashes: Hashes<'_>) -> Option<usize> {
        self.fault.check(Stage::Prepare);
        if hashes.len() == 0 {
            return None;
        }
        match self.format.of(hashes.len() as u64) {
            Format::Blocked(_) => Some(self.space(hashes.len())),
            Format::Compact(params) => {
                let built = Built::new(&hashes.in_one_piece(), params)?;
                let length = built.len();
                *self.built.lock().unwrap_or_else(PoisonError::into_inner) = Some(built);
                Some(length)
            }
        }
    }

    /// Fills a zeroed buffer of the length that `prepare` gave for the same hashes. False: it is no filter.
    pub(crate) fn write(&self, hashes: Hashes<'_>, out: &mut [u8]) -> bool {
        self.fault.check(Stage::Write);
        let length = out.len();
        let written = match self.format.of(hashes.len() as u64) {
            Format::Blocked(params) => fill(params, hashes, out),
            Format::Compact(_) => {
                let built = self.built.lock().unwrap_or_else(PoisonError::into_inner).take();
                built.and_then(|built| built.write(out))
            }
        };
        if written.is_some() {
            self.meter.built(hashes.len(), length);
        }
        written.is_some()
    }

    /// Counts a block that could not be made.
    pub(crate) fn failed(&self) {
        relaxed(&self.meter.filters_failed);
    }

    /// Whether the block is what this builder makes of the hashes, as far as a reader can tell, and lets every one of
    /// them through.
    pub(crate) fn verify(&self, hashes: Hashes<'_>, content: &[u8]) -> bool {
        let all = |filter: &dyn Filter, lines: &[LineBytes]| {
            hashes.iter().flatten().all(|&hash| filter.might_contain(lines, hash))
        };
        match (self.format.of(hashes.len() as u64), block::classify(content)) {
            (Format::Blocked(params), Kind::Blocked { lines, probes }) if probes == params.probes => {
                Kernel::new(lines, probes).is_some_and(|kernel| all(&kernel, block::lines(content)))
            }
            (Format::Compact(params), Kind::Compact { fingerprint_bits: bits, .. })
                if bits == params.fingerprint_bits() =>
            {
                let lines = compact::lines(content);
                Layers::read(lines, bits).is_some_and(|layers| all(&layers, lines))
            }
            _ => false,
        }
    }
}

/// Sets the bits of a blocked filter and its trailer.
///
/// RocksDB wants the block in memory from `new char[]`, which begins anywhere: nearly every line then lies across two
/// cache lines, and a large block in small pages. The lines are made where they lie well and copied.
fn fill(params: Blocked, hashes: Hashes<'_>, out: &mut [u8]) -> Option<()> {
    let (body, trailer) = out.split_last_chunk_mut::<TRAILER>()?;
    let (lines, rest) = body.as_chunks_mut();
    if !rest.is_empty() {
        return None;
    }
    let kernel = Kernel::new(lines.len() as u64, params.probes)?;
    let add_all = |lines: &mut [LineBytes]| hashes.iter().for_each(|chunk| kernel.add_all(lines, chunk));
    match LineBuf::zeroed(lines.len()) {
        Ok(mut aligned) => {
            add_all(aligned.lines_mut());
            lines.copy_from_slice(aligned.lines());
        }
        // No room for both: where it was to be all the same.
        Err(_) => add_all(lines),
    }
    *trailer = block::trailer(params.probes);
    Some(())
}
