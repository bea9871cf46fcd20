//! A count that many threads add to without waiting for each other's cache line.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// A counter in as many stripes as the machine has CPUs, rounded up to a power of two. A thread always adds to
/// the same stripe; reading sums all of them.
#[derive(Debug)]
pub(super) struct StripedCount {
    stripes: Box<[CachePadded<AtomicU64>]>,
}

/// Stripes of every counter. One under the model checker: the hardest case, and the same in every run.
fn stripe_count() -> usize {
    /// Summing must stay cheap.
    const MOST: usize = 64;
    static STRIPES: OnceLock<usize> = OnceLock::new();
    if cfg!(loom) {
        return 1;
    }
    *STRIPES.get_or_init(|| {
        std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST).next_power_of_two())
    })
}

/// The number of this thread, in the order in which threads first asked.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, StdOrdering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

impl StripedCount {
    /// Starts at `start`, or at 2⁶³ where that is less: no number of additions in a process's life wraps it.
    pub(super) fn new(start: u64) -> Self {
        let start = start.min(1 << 63);
        let stripes =
            (0..stripe_count()).map(|i| CachePadded::new(AtomicU64::new(if i == 0 { start } else { 0 })));
        Self { stripes: stripes.collect() }
    }

    /// How many stripes there are.
    pub(super) fn stripes(&self) -> usize {
        self.stripes.len()
    }

    /// Adds `n`; returns what this thread's stripe held before.
    #[inline]
    pub(super) fn add(&self, n: u64) -> u64 {
        let stripe = if self.stripes.len() == 1 { 0 } else { thread_number() & (self.stripes.len() - 1) };
        self.stripes[stripe].fetch_add(n, Ordering::Relaxed)
    }

    /// The sum. Additions that happened before the call are in it; of those under way, any may be.
    pub(super) fn sum(&self) -> u64 {
        // A count taken from a file may be anything.
        self.stripes.iter().fold(0, |sum: u64, stripe| sum.saturating_add(stripe.load(Ordering::Relaxed)))
    }
}
