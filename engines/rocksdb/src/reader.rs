//! Reading one stored filter: the Rust half of the shim's `BitsReader`.

use std::sync::Arc;

use bloomline::line::LineBytes;

use crate::block::{self, Kind};
use crate::blocked::{BATCH, Kernel};
use crate::counters::Meter;

/// An open filter of [`Kind::Blocked`].
///
/// It holds the policy's counters, not the policy: in a shared cache it may outlive the latter.
#[derive(Debug)]
pub(crate) struct Reader<'block> {
    lines: &'block [LineBytes],
    kernel: Kernel,
    meter: Arc<Meter>,
}

impl<'block> Reader<'block> {
    /// `None` for a block that is of another kind.
    pub(crate) fn open(block: &'block [u8], meter: &Arc<Meter>) -> Option<Self> {
        let Kind::Blocked { lines, probes } = block::classify(block) else {
            return None;
        };
        let kernel = Kernel::new(lines, probes)?;
        Some(Self { lines: block::lines(block), kernel, meter: Arc::clone(meter) })
    }

    /// A reader that panics when it probes, to prove that the panic stays in Rust.
    #[cfg(feature = "testing")]
    pub(crate) fn without_lines(self) -> Self {
        Self { lines: &[], ..self }
    }

    #[inline]
    pub(crate) fn might_contain(&self, hash: u64) -> bool {
        let maybe = self.kernel.might_contain(self.lines, hash);
        self.meter.probed(1, u64::from(!maybe));
        maybe
    }

    /// Answers up to [`BATCH`] hashes.
    #[inline]
    pub(crate) fn might_contain_batch(&self, hashes: &[u64]) -> [bool; BATCH] {
        let mut out = [true; BATCH];
        if let Some(out) = out.get_mut(..hashes.len()) {
            self.kernel.might_contain_batch(self.lines, hashes, out);
            let maybe = out.iter().filter(|&&maybe| maybe).count();
            self.meter.probed(hashes.len() as u64, (hashes.len() - maybe) as u64);
        }
        out
    }
}
