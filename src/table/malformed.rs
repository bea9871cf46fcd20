//! Something in a block that no writer writes.

use crate::error::{Section, TableFault};

/// What is wrong with the contents of a block whose checksum holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    /// Where in the contents.
    at: usize,
    /// What, and what was expected; or what there is too much of.
    what: &'static str,
    /// The most that there may be, and what there is.
    limit: Option<(usize, usize)>,
}

impl Malformed {
    pub(super) fn new(at: usize, what: &'static str) -> Self {
        Self { at, what, limit: None }
    }

    /// More of something than the format allows.
    pub(super) fn limit(at: usize, what: &'static str, max: usize, got: usize) -> Self {
        Self { at, what, limit: Some((max, got)) }
    }

    /// The fault of a block that begins at byte `start` of the file.
    pub(super) fn fault(self, section: Section, start: u64) -> TableFault {
        let Self { at, what, limit } = self;
        let offset = start.saturating_add(at as u64);
        match limit {
            None => TableFault::Malformed { section, offset, what },
            Some((max, got)) => TableFault::Limit { section, offset, what, max: max as u64, got: got as u64 },
        }
    }
}
