//! A Bloom filter of either schema over lines that lie elsewhere: what a block, or a layer in one, is to a reader.

use super::bloom;
use crate::format::Shape;
use crate::hash::KeyHash;
use crate::line::LineBytes;
use crate::probe::{Backend, Probe};
use crate::sizing::{BlockedParams, ClassicParams};

/// Size and probes of a Bloom filter of either schema.
#[derive(Debug, Clone, Copy)]
pub(super) enum BloomParams {
    Classic(ClassicParams),
    Blocked(BlockedParams),
}

impl BloomParams {
    /// The parameters in a header's shape, where it is that of a Bloom filter.
    pub(super) fn from_shape(shape: Shape) -> Option<Self> {
        match shape {
            Shape::Classic(params) => Some(Self::Classic(params)),
            Shape::Blocked(params) => Some(Self::Blocked(params)),
            Shape::Empty | Shape::Compact(_) | Shape::Scalable => None,
        }
    }

    /// Lines of the filter.
    #[inline]
    pub(super) fn line_count(self) -> usize {
        let lines = match self {
            Self::Classic(params) => params.line_count(),
            Self::Blocked(params) => params.line_count(),
        };
        lines.unwrap_or(usize::MAX)
    }
}

/// The lines of a Bloom filter, and what it takes to read them.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) params: BloomParams,
    pub(super) lines: &'a [LineBytes],
    pub(super) backend: Backend,
}

impl View<'_> {
    #[inline]
    pub(super) fn might_contain(self, hash: KeyHash) -> bool {
        match self.params {
            BloomParams::Classic(params) => params.might_contain(self.backend, self.lines, hash),
            BloomParams::Blocked(params) => params.might_contain(self.backend, self.lines, hash),
        }
    }

    pub(super) fn might_contain_batch(self, hashes: &[KeyHash], answers: &mut [bool]) {
        match self.params {
            BloomParams::Classic(params) => {
                params.might_contain_batch(self.backend, self.lines, hashes, answers);
            }
            BloomParams::Blocked(params) => {
                params.might_contain_batch(self.backend, self.lines, hashes, answers);
            }
        }
    }

    pub(super) fn expected_fpp(self, keys: u64) -> f64 {
        match self.params {
            BloomParams::Classic(params) => params.expected_fpp(keys),
            BloomParams::Blocked(params) => params.expected_fpp(keys),
        }
    }

    pub(super) fn fill_fpp(self) -> f64 {
        match self.params {
            BloomParams::Classic(params) => params.fill_fpp(self.lines),
            BloomParams::Blocked(params) => params.fill_fpp(self.lines),
        }
    }

    pub(super) fn bits(self) -> u64 {
        match self.params {
            BloomParams::Classic(params) => params.bits(),
            BloomParams::Blocked(params) => params.bits(),
        }
    }

    pub(super) fn fill(self) -> f64 {
        bloom::fill(self.bits(), self.lines)
    }
}
