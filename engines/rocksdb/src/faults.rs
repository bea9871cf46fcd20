//! Panics on demand, to prove that none crosses into RocksDB. Without the feature `testing` this is nothing.

use crate::policy::Shared;

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
    /// Probing it.
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

/// The policy's fault.
pub(crate) fn of(shared: &Shared) -> Fault {
    shared.fault
}

/// [`Fault::check`] of a policy.
pub(crate) fn check(shared: &Shared, stage: Stage) {
    of(shared).check(stage);
}
