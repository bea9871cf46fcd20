//! Reading one stored filter: the Rust half of the shim's `BitsReader`.

use std::sync::Arc;

use bloomline::line::LineBytes;

use crate::block::{self, Kind};
use crate::blocked::{BATCH, Kernel};
use crate::counters::Meter;
use crate::faults::{Fault, Stage};

/// An open filter of [`Kind::Blocked`].
///
/// It holds the policy's counters, not the policy: in a shared cache it may outlive the latter.
#[derive(Debug)]
pub(crate) struct Reader<'block> {
    lines: &'block [LineBytes],
    kernel: Kernel,
    meter: Arc<Meter>,
    fault: Fault,
}

impl<'block> Reader<'block> {
    /// `None` for a block that is of another kind.
    pub(crate) fn open(block: &'block [u8], meter: &Arc<Meter>, fault: Fault) -> Option<Self> {
        let Kind::Blocked { lines, probes } = block::classify(block) else {
            return None;
        };
        let kernel = Kernel::new(lines, probes)?;
        Some(Self { lines: block::lines(block), kernel, meter: Arc::clone(meter), fault })
    }

    #[inline]
    pub(crate) fn might_contain(&self, hash: u64) -> bool {
        self.fault.check(Stage::Probe);
        let maybe = self.kernel.might_contain(self.lines, hash);
        self.meter.probed(1, u64::from(!maybe));
        maybe
    }

    /// Answers up to [`BATCH`] hashes.
    #[inline]
    pub(crate) fn might_contain_batch(&self, hashes: &[u64]) -> [bool; BATCH] {
        self.fault.check(Stage::Probe);
        let mut out = [true; BATCH];
        if let Some(out) = out.get_mut(..hashes.len()) {
            self.kernel.might_contain_batch(self.lines, hashes, out);
            let negatives = out.iter().filter(|&&maybe| !maybe).count();
            self.meter.probed(hashes.len() as u64, negatives as u64);
        }
        out
    }
}
