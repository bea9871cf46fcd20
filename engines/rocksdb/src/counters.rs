//! What a policy did: filters built, readers opened, probes answered.
//!
//! Probes are counted on the hottest path there is, so a counter must cost next to nothing and must not be shared
//! between threads. Each live thread leases a slot number of its own, and so is the only writer of that slot in every
//! policy: it counts with a plain load and store, no locked instruction and no bouncing cache line. A thread that ends
//! returns its slot number under a lock, which hands its last count over to the next holder. Threads beyond [`SLOTS`]
//! share one slot and count with atomic additions. No probe is lost either way; a snapshot taken while threads probe
//! may miss the probes of that instant.
//!
//! Rejected: one number for each answer, so that a probe increments just one. The address of the store then depends on
//! the answer, and the processor holds back the loads of the next lookup until it knows it: half as fast again.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::callbacks::guard;

/// Threads that have a slot of their own.
const SLOTS: usize = 64;
/// The slot of all the others.
const SHARED: usize = SLOTS;
/// Neither: a thread that has not counted yet.
const UNASSIGNED: usize = usize::MAX;

/// A snapshot of what a policy did, from its creation on.
///
/// Filters that RocksDB's own code builds or reads (Ribbon, legacy Bloom, the levels given to
/// [`crate::FilterPolicy::rocksdb_bloom`]) are RocksDB's: they count as
/// [`readers_delegated`](Self::readers_delegated), and their probes are seen only in the tickers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Filter blocks built; a partitioned filter has many.
    pub filters_built: u64,
    /// Blocks for which no filter could be made, by a failure of this library. Lookups in those files read data.
    pub filters_failed: u64,
    /// Entries (keys and prefixes) in the blocks built.
    pub keys: u64,
    /// Bytes of the blocks built.
    pub bytes: u64,
    /// Stored filters opened for Bloomline's own probes.
    pub readers_opened: u64,
    /// Stored filters of RocksDB's kinds, handed to RocksDB's own readers.
    pub readers_delegated: u64,
    /// Stored filters that could not be decoded, and therefore let every key through.
    pub readers_fell_open: u64,
    /// Keys looked up in the readers opened.
    pub probes: u64,
    /// Probes answered "absent".
    pub negatives: u64,
}

#[repr(align(128))] // two lines: processors prefetch them in pairs
#[derive(Debug, Default)]
struct Slot {
    probes: AtomicU64,
    negatives: AtomicU64,
}

/// The live counters of one policy.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) filters_built: AtomicU64,
    pub(crate) filters_failed: AtomicU64,
    pub(crate) keys: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) readers_opened: AtomicU64,
    pub(crate) readers_delegated: AtomicU64,
    pub(crate) readers_fell_open: AtomicU64,
    slots: [Slot; SLOTS + 1],
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            filters_built: AtomicU64::default(),
            filters_failed: AtomicU64::default(),
            keys: AtomicU64::default(),
            bytes: AtomicU64::default(),
            readers_opened: AtomicU64::default(),
            readers_delegated: AtomicU64::default(),
            readers_fell_open: AtomicU64::default(),
            slots: std::array::from_fn(|_| Slot::default()),
        }
    }
}

impl Meter {
    /// Counts probes, and how many of them were negative.
    #[inline(always)]
    pub(crate) fn probed(&self, probes: u64, negatives: u64) {
        if !self.probed_here(probes, negatives) {
            self.probed_elsewhere(probes, negatives);
        }
    }

    /// Counts one probe and returns its answer: the rare way of counting is then the last thing that a lookup does,
    /// a jump for which the usual one has to keep nothing.
    #[inline(always)]
    pub(crate) fn answered(&self, maybe: bool) -> bool {
        if self.probed_here(1, u64::from(!maybe)) { maybe } else { self.answered_elsewhere(maybe) }
    }

    /// Counts in the slot of this thread, if it has one.
    #[inline(always)]
    fn probed_here(&self, probes: u64, negatives: u64) -> bool {
        let Some(own) = self.slots[..SLOTS].get(SLOT.get()) else { return false };
        // This thread alone writes here: nothing can come between a load and its store.
        own.probes.store(own.probes.load(Relaxed) + probes, Relaxed);
        own.negatives.store(own.negatives.load(Relaxed) + negatives, Relaxed);
        true
    }

    #[cold]
    #[inline(never)]
    fn answered_elsewhere(&self, maybe: bool) -> bool {
        guard((), || self.probed_elsewhere(1, u64::from(!maybe)));
        maybe
    }

    /// The first count of a thread, and those of a thread without a slot of its own.
    #[cold]
    #[inline(never)]
    fn probed_elsewhere(&self, probes: u64, negatives: u64) {
        if SLOT.get() == UNASSIGNED {
            SLOT.set(LEASE.try_with(|lease| lease.0).unwrap_or(SHARED));
            return self.probed(probes, negatives);
        }
        let shared = &self.slots[SHARED];
        shared.probes.fetch_add(probes, Relaxed);
        shared.negatives.fetch_add(negatives, Relaxed);
    }

    /// Counts a block built from `keys` entries.
    pub(crate) fn built(&self, keys: usize, bytes: usize) {
        self.filters_built.fetch_add(1, Relaxed);
        self.keys.fetch_add(keys as u64, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let sum = |field: fn(&Slot) -> &AtomicU64| -> u64 {
            self.slots.iter().map(|slot| field(slot).load(Relaxed)).sum()
        };
        Counters {
            filters_built: self.filters_built.load(Relaxed),
            filters_failed: self.filters_failed.load(Relaxed),
            keys: self.keys.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            readers_opened: self.readers_opened.load(Relaxed),
            readers_delegated: self.readers_delegated.load(Relaxed),
            readers_fell_open: self.readers_fell_open.load(Relaxed),
            probes: sum(|slot| &slot.probes),
            negatives: sum(|slot| &slot.negatives),
        }
    }
}

/// Slot numbers that are free, and the lowest never given out.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// A thread's hold on a slot number.
struct Lease(usize);

impl Lease {
    fn take() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = free.0.pop() {
            return Self(index);
        }
        let index = free.1;
        free.1 = (index + 1).min(SHARED);
        Self(index)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Whatever this thread still probes while it ends goes to the shared slot.
        SLOT.set(SHARED);
        if self.0 < SHARED {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0);
        }
    }
}

thread_local! {
    // Without a destructor, so that reading it is a plain load.
    static SLOT: Cell<usize> = const { Cell::new(UNASSIGNED) };
    static LEASE: Lease = Lease::take();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn no_probe_is_lost_with_more_threads_than_slots() {
        let meter = Meter::default();
        thread::scope(|scope| {
            for _ in 0..SLOTS + 20 {
                scope.spawn(|| (0..10_000).for_each(|_| meter.probed(2, 1)));
            }
        });
        let threads = SLOTS as u64 + 20;
        let counters = meter.snapshot();
        assert_eq!((counters.probes, counters.negatives), (threads * 20_000, threads * 10_000));
    }

    #[test]
    fn slots_return_when_threads_end() {
        let meter = Meter::default();
        for _ in 0..SLOTS * 4 {
            thread::scope(|scope| {
                scope.spawn(|| meter.probed(1, 0));
            });
        }
        assert_eq!(meter.snapshot().probes, SLOTS as u64 * 4);
        // One thread after another needs one number at a time; other tests may hold some.
        assert_eq!(meter.slots[SHARED].probes.load(Relaxed), 0);
    }
}
