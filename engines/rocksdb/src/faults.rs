//! Panics on demand, to prove that none crosses into RocksDB. Without the feature `testing` this is nothing.

#[cfg(feature = "testing")]
use bloomline::{hash::KeyHash, line::LineBytes};

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

/// A filter that panics when it is asked. It takes the place of the real one, which so has no fault to look for.
#[cfg(feature = "testing")]
impl crate::reader::Filter for Stage {
    fn might_contain(&self, _: &[LineBytes], _: KeyHash) -> bool {
        panic!("a fault on demand: {self:?}")
    }

    fn might_contain_batch(&self, _: &[LineBytes], _: &[KeyHash], _: &mut [bool]) {
        panic!("a fault on demand: {self:?}")
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
