//! Building one file's filters: the Rust half of the shim's `BitsBuilder`.

use std::sync::Arc;

use bloomline::line::LineBytes;

use crate::block::{self, Kind, TRAILER};
use crate::blocked::{self, Kernel};
use crate::counters::Meter;
use crate::faults::{Fault, Stage};
use crate::policy::Blocked;
use crate::relaxed;

/// The plan of a file's filters. The hashes stay with the shim.
#[derive(Debug)]
pub(crate) struct Builder {
    params: Blocked,
    meter: Arc<Meter>,
    fault: Fault,
}

impl Builder {
    pub(crate) fn new(params: Blocked, meter: Arc<Meter>, fault: Fault) -> Self {
        Self { params, meter, fault }
    }

    /// Bytes of a block of so many entries.
    pub(crate) fn space(&self, entries: usize) -> usize {
        let bytes = blocked::bytes_for(entries as u64, self.params.millibits);
        usize::try_from(bytes).map_or(usize::MAX, |bytes| bytes.saturating_add(TRAILER))
    }

    /// Entries that a block of so many bytes holds.
    pub(crate) fn entries(&self, bytes: usize) -> usize {
        let body = bytes.saturating_sub(TRAILER) as u64;
        usize::try_from(blocked::keys_for(body, self.params.millibits)).unwrap_or(usize::MAX)
    }

    /// The expected false-positive rate of so many entries in a block of so many bytes.
    pub(crate) fn rate(&self, entries: usize, bytes: usize) -> f64 {
        let lines = bytes.saturating_sub(TRAILER) / size_of::<LineBytes>();
        match Kernel::new(lines as u64, self.params.probes) {
            Some(kernel) => kernel.expected_rate(entries as u64),
            None if entries == 0 => 0.0,
            None => 1.0,
        }
    }

    /// The exact length of the block for these hashes, or `None` when no filter can be made.
    pub(crate) fn prepare(&self, hashes: &[u64]) -> Option<usize> {
        self.fault.check(Stage::Prepare);
        (!hashes.is_empty()).then(|| self.space(hashes.len()))
    }

    /// Fills a zeroed buffer of the length that `prepare` gave. False: it is no filter.
    pub(crate) fn write(&self, hashes: &[u64], out: &mut [u8]) -> bool {
        self.fault.check(Stage::Write);
        let length = out.len();
        let written = self.fill(hashes, out).is_some();
        if written {
            self.meter.built(hashes.len(), length);
        }
        written
    }

    /// Counts a block that could not be made.
    pub(crate) fn failed(&self) {
        relaxed(&self.meter.filters_failed);
    }

    fn fill(&self, hashes: &[u64], out: &mut [u8]) -> Option<()> {
        let (body, trailer) = out.split_last_chunk_mut::<TRAILER>()?;
        let (lines, rest) = body.as_chunks_mut();
        if !rest.is_empty() {
            return None;
        }
        Kernel::new(lines.len() as u64, self.params.probes)?.add_all(lines, hashes);
        *trailer = block::trailer(self.params.probes);
        Some(())
    }

    /// Whether a stock reader of the block would let every one of these hashes through.
    pub(crate) fn verify(&self, hashes: &[u64], content: &[u8]) -> bool {
        let Kind::Blocked { lines, probes } = block::classify(content) else {
            return false;
        };
        if probes != self.params.probes {
            return false;
        }
        let stored = block::lines(content);
        Kernel::new(lines, probes)
            .is_some_and(|kernel| hashes.iter().all(|&hash| kernel.might_contain(stored, hash)))
    }
}
