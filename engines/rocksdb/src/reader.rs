//! Reading one stored filter: the Rust half of the shim's `BitsReader`.

use std::sync::Arc;

use bloomline::hash::KeyHash;
use bloomline::line::LineBytes;

use crate::blocked::BATCH;
use crate::callbacks::guard;
use crate::counters::{Meter, Slot};

/// How the lines of one kind of filter are asked.
pub(crate) trait Filter {
    /// Whether the key with this hash may be in the lines, which are those that the filter was made for.
    fn might_contain(&self, lines: &[LineBytes], hash: KeyHash) -> bool;

    /// The same for many hashes, with the lines fetched ahead. `out` is as long as `hashes`.
    fn might_contain_batch(&self, lines: &[LineBytes], hashes: &[KeyHash], out: &mut [bool]);
}

/// A filter whose kernel is known to the compiler: one that runs on processors with AVX2, BMI1, BMI2 and POPCNT, that
/// has nothing to choose during a lookup, and that never panics. That there is one shows that this processor can run it.
pub(crate) trait Settled: Filter {}

/// An open filter.
///
/// It holds the policy's counters, not the policy: in a shared cache it may outlive the latter. The kind is a type,
/// so that a lookup has no kind to ask for.
#[derive(Debug)]
pub(crate) struct Reader<'block, F> {
    lines: &'block [LineBytes],
    filter: F,
    meter: Arc<Meter>,
}

impl<'block, F: Filter> Reader<'block, F> {
    pub(crate) fn new(lines: &'block [LineBytes], filter: F, meter: &Arc<Meter>) -> Self {
        Self { lines, filter, meter: Arc::clone(meter) }
    }

    /// A panic of the filter is a "maybe". The answer is counted in the `slot` of the calling thread.
    #[inline(always)]
    pub(crate) fn might_contain(&self, hash: KeyHash, slot: Slot) -> bool {
        self.meter.answered(slot, guard(true, || self.filter.might_contain(self.lines, hash)))
    }

    /// [`might_contain`](Self::might_contain) for a filter that never panics.
    #[inline(always)]
    pub(crate) fn might_contain_unguarded(&self, hash: KeyHash, slot: Slot) -> bool
    where
        F: Settled,
    {
        self.meter.answered(slot, self.filter.might_contain(self.lines, hash))
    }

    /// Answers up to [`BATCH`] hashes.
    #[inline]
    pub(crate) fn might_contain_batch(&self, hashes: &[KeyHash], slot: Slot) -> [bool; BATCH] {
        let mut out = [true; BATCH];
        if let Some(out) = out.get_mut(..hashes.len()) {
            self.filter.might_contain_batch(self.lines, hashes, out);
            let maybe = out.iter().filter(|&&maybe| maybe).count();
            self.meter.probed(slot, hashes.len() as u64, maybe as u64);
        }
        out
    }
}
