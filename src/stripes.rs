//! Counts that many threads add to without waiting for each other's cache line.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// As many values as the machine has CPUs, rounded up to a power of two, each in cache lines of its own. A thread
/// always uses the same one.
#[derive(Debug)]
pub(crate) struct Striped<T>(Box<[CachePadded<T>]>);

impl<T> Striped<T> {
    /// `make` gets the number of each stripe.
    pub(crate) fn new(mut make: impl FnMut(usize) -> T) -> Self {
        Self((0..stripe_count()).map(|stripe| CachePadded::new(make(stripe))).collect())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// This thread's, which other threads may use as well.
    #[inline]
    pub(crate) fn own(&self) -> &T {
        let stripe = if self.0.len() == 1 { 0 } else { thread_number() & (self.0.len() - 1) };
        &self.0[stripe]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|stripe| &**stripe)
    }
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

/// A counter in stripes; reading sums all of them.
#[derive(Debug)]
pub(crate) struct StripedCount(Striped<AtomicU64>);

impl StripedCount {
    /// Starts at `start`, or at 2⁶³ where that is less: no number of additions in a process's life wraps it.
    pub(crate) fn new(start: u64) -> Self {
        let start = start.min(1 << 63);
        Self(Striped::new(|stripe| AtomicU64::new(if stripe == 0 { start } else { 0 })))
    }

    /// How many stripes there are.
    pub(crate) fn stripes(&self) -> usize {
        self.0.len()
    }

    /// Adds `n`; returns what this thread's stripe held before.
    #[inline]
    pub(crate) fn add(&self, n: u64) -> u64 {
        self.0.own().fetch_add(n, Ordering::Relaxed)
    }

    /// The sum. Additions that happened before the call are in it; of those under way, any may be.
    pub(crate) fn sum(&self) -> u64 {
        // A count taken from a file may be anything.
        self.0.iter().fold(0, |sum: u64, stripe| sum.saturating_add(stripe.load(Ordering::Relaxed)))
    }
}
