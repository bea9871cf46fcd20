//! Counters of what lookups cost and what the filter saved.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// The live counters: each lookup adds to one by its outcome, and to another if it read a block. They have a
/// cache line of their own, so that counting does not slow down readers of the fields around them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Counters {
    filter_negatives: AtomicU64,
    false_positives: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    block_reads: AtomicU64,
    filter_unusable: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::FilterNegative => &self.filter_negatives,
            Outcome::FalsePositive => &self.false_positives,
            Outcome::Found => &self.found,
            Outcome::Absent => &self.absent,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn count_block_read(&self) {
        self.block_reads.fetch_add(1, Relaxed);
    }

    pub(super) fn count_unusable(&self) {
        self.filter_unusable.fetch_add(1, Relaxed);
    }

    pub(super) fn snapshot(&self) -> ReadStats {
        let [filter_negatives, false_positives, found, absent] =
            [&self.filter_negatives, &self.false_positives, &self.found, &self.absent]
                .map(|counter| counter.load(Relaxed));
        ReadStats {
            lookups: filter_negatives + false_positives + found + absent,
            filter_negatives,
            false_positives,
            found,
            block_reads: self.block_reads.load(Relaxed),
            filter_unusable: self.filter_unusable.load(Relaxed),
        }
    }
}
