//! Counters of what lookups cost and what the filter saved.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::stripes::Striped;

/// How the lookups of a reader have gone, since it was opened.
///
/// `lookups` is the sum of `filter_negatives`, `false_positives`, `found` and those lookups that found nothing
/// and asked no filter. A lookup that ended in an error counts only in `block_reads`, if it came so far. Of a
/// `multi_get` that failed, the keys before the one that failed count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadStats {
    /// Keys looked up.
    pub lookups: u64,
    /// Lookups that the filter answered: no index, no data block.
    pub filter_negatives: u64,
    /// Lookups that the filter let through and that found nothing.
    pub false_positives: u64,
    /// Lookups that found a value.
    pub found: u64,
    /// Data blocks read by lookups, those included that turned out to be damaged.
    pub block_reads: u64,
    /// Lookups that went to the index because the table's filter could not be asked: its header is damaged,
    /// [`verify`](super::TableReader::verify) found it damaged or denying a key, or the hasher that it needs was
    /// not given. Each is also counted by its outcome. Zero for a table without a filter.
    pub filter_unusable: u64,
}

/// How a lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    FilterNegative,
    FalsePositive,
    Found,
    /// Nothing was found, and no filter was asked.
    Absent,
}

/// The live counters. Lookups of several threads would otherwise wait for each other here, and nowhere else.
#[derive(Debug)]
pub(super) struct Counters(Striped<Counts>);

/// Each lookup adds to one by its outcome, and to another if it read a block.
#[derive(Debug, Default)]
struct Counts {
    filter_negatives: AtomicU64,
    false_positives: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    block_reads: AtomicU64,
    filter_unusable: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self(Striped::new(|_| Counts::default()))
    }
}

impl Counters {
    #[inline]
    pub(super) fn count(&self, outcome: Outcome, lookups: u64) {
        let own = self.0.own();
        let counter = match outcome {
            Outcome::FilterNegative => &own.filter_negatives,
            Outcome::FalsePositive => &own.false_positives,
            Outcome::Found => &own.found,
            Outcome::Absent => &own.absent,
        };
        counter.fetch_add(lookups, Relaxed);
    }

    pub(super) fn count_block_read(&self) {
        self.0.own().block_reads.fetch_add(1, Relaxed);
    }

    pub(super) fn count_unusable(&self) {
        self.0.own().filter_unusable.fetch_add(1, Relaxed);
    }

    pub(super) fn snapshot(&self) -> ReadStats {
        let sum = |counter: fn(&Counts) -> &AtomicU64| -> u64 {
            self.0.iter().map(|counts| counter(counts).load(Relaxed)).sum()
        };
        let filter_negatives = sum(|counts| &counts.filter_negatives);
        let false_positives = sum(|counts| &counts.false_positives);
        let found = sum(|counts| &counts.found);
        ReadStats {
            lookups: filter_negatives + false_positives + found + sum(|counts| &counts.absent),
            filter_negatives,
            false_positives,
            found,
            block_reads: sum(|counts| &counts.block_reads),
            filter_unusable: sum(|counts| &counts.filter_unusable),
        }
    }
}
