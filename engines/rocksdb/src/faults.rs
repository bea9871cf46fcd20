//! Panics on demand, to prove that none crosses into RocksDB. Without the feature `testing` this is nothing.

use crate::policy::Shared;
use crate::reader::Reader;

/// Where a faulty policy panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "re-exported by `testing`"))]
pub enum Stage {
    /// Choosing a file's filter.
    Choose,
    /// Sizing a filter that is being built.
    Prepare,
    /// Writing its bits.
    Write,
    /// Opening a stored filter.
    Open,
    /// Probing it: the reader has none of the lines that it was made for.
    #[cfg(feature = "testing")]
    Probe,
}

/// The fault of a policy and of what it makes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fault {
    #[cfg(feature = "testing")]
    pub(crate) stage: Option<Stage>,
}

impl Fault {
    /// Panics when this is the stage to panic at.
    #[inline(always)]
    pub(crate) fn check(self, stage: Stage) {
        #[cfg(feature = "testing")]
        assert!(self.stage != Some(stage), "a fault on demand: {stage:?}");
        #[cfg(not(feature = "testing"))]
        let _ = stage;
    }
}

impl Fault {
    /// The reader, or one that panics when it probes. The hot path itself has no fault to look for.
    pub(crate) fn of_reader(self, reader: Reader<'_>) -> Reader<'_> {
        #[cfg(feature = "testing")]
        if self.stage == Some(Stage::Probe) {
            return reader.without_lines();
        }
        reader
    }
}

/// The policy's fault.
pub(crate) fn of(shared: &Shared) -> Fault {
    shared.fault
}

/// [`Fault::check`] of a policy.
pub(crate) fn check(shared: &Shared, stage: Stage) {
    of(shared).check(stage);
}
