//! What a policy did: filters built, readers opened, probes answered.
//!
//! Probes are counted on the hottest path there is, so a counter must cost next to nothing and must not be shared
//! between threads. Each live thread leases a slot number of its own, and so is the only writer of that slot in every
//! policy: it counts with a plain load and store, no locked instruction and no bouncing cache line. A thread that ends
//! returns its slot number under a lock, which hands its last count over to the next holder. Threads beyond [`SLOTS`]
//! share one slot and count with atomic additions. No probe is lost either way; a snapshot taken while threads probe
//! may miss the probes of that instant.
//!
//! The number itself is kept by the shim ([`bl_set_counter_slot`]), which hands it to every probe.
//!
//! Rejected: one number for each answer, so that a probe increments just one. The address of the store then depends on
//! the answer, and the processor holds back the loads of the next lookup until it knows it: half as fast again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::callbacks::guard;
use crate::ffi::bl_set_counter_slot;

/// Threads that have a slot of their own.
const SLOTS: usize = 64;

/// The number of a thread's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) usize);

impl Slot {
    /// The slot of all the threads that have none of their own.
    const SHARED: Self = Self(SLOTS);
    /// No slot: a thread that has not counted yet.
    const UNASSIGNED: Self = Self(usize::MAX);
}

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
struct Count {
    probes: AtomicU64,
    // Not the negatives: a lookup then needs its answer in one sense only.
    positives: AtomicU64,
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
    slots: [Count; SLOTS + 1],
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
            slots: std::array::from_fn(|_| Count::default()),
        }
    }
}

impl Meter {
    /// Counts probes of the thread with this slot, and how many of them were positive.
    #[inline(always)]
    pub(crate) fn probed(&self, slot: Slot, probes: u64, positives: u64) {
        if !self.probed_alone(slot, probes, positives) {
            self.probed_elsewhere(slot, probes, positives);
        }
    }

    /// Counts one probe and returns its answer: the rare way of counting is then the last thing that a lookup does,
    /// a jump for which the usual one has to keep nothing.
    #[inline(always)]
    pub(crate) fn answered(&self, slot: Slot, maybe: bool) -> bool {
        if self.probed_alone(slot, 1, maybe.into()) { maybe } else { self.answered_elsewhere(slot.0, maybe) }
    }

    /// Counts in a slot that one thread has for itself; false for any other.
    #[inline(always)]
    fn probed_alone(&self, slot: Slot, probes: u64, positives: u64) -> bool {
        let Some(own) = self.slots[..SLOTS].get(slot.0) else { return false };
        // This thread alone writes here: nothing can come between a load and its store.
        own.probes.store(own.probes.load(Relaxed) + probes, Relaxed);
        own.positives.store(own.positives.load(Relaxed) + positives, Relaxed);
        true
    }

    /// `extern "C"`, because such a function doesn't unwind: what calls it last has no stack to clean up.
    #[cold]
    #[inline(never)]
    extern "C" fn answered_elsewhere(&self, slot: usize, maybe: bool) -> bool {
        guard((), || self.probed_elsewhere(Slot(slot), 1, maybe.into()));
        maybe
    }

    /// The first count of a thread, and those of a thread without a slot of its own.
    #[cold]
    #[inline(never)]
    fn probed_elsewhere(&self, slot: Slot, probes: u64, positives: u64) {
        if slot == Slot::UNASSIGNED {
            return self.probed(Slot::lease(), probes, positives);
        }
        let shared = &self.slots[SLOTS];
        shared.probes.fetch_add(probes, Relaxed);
        shared.positives.fetch_add(positives, Relaxed);
    }

    /// Counts a block built from `keys` entries.
    pub(crate) fn built(&self, keys: usize, bytes: usize) {
        self.filters_built.fetch_add(1, Relaxed);
        self.keys.fetch_add(keys as u64, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let sum = |field: fn(&Count) -> &AtomicU64| -> u64 {
            self.slots.iter().map(|count| field(count).load(Relaxed)).sum()
        };
        let probes = sum(|count| &count.probes);
        Counters {
            filters_built: self.filters_built.load(Relaxed),
            filters_failed: self.filters_failed.load(Relaxed),
            keys: self.keys.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            readers_opened: self.readers_opened.load(Relaxed),
            readers_delegated: self.readers_delegated.load(Relaxed),
            readers_fell_open: self.readers_fell_open.load(Relaxed),
            probes,
            // A thread may have counted between the two sums.
            negatives: probes.saturating_sub(sum(|count| &count.positives)),
        }
    }
}

/// Slot numbers that are free, and the lowest never given out.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// A thread's hold on a slot.
struct Lease(Slot);

impl Slot {
    /// Whether one thread has the slot for itself.
    #[inline(always)]
    pub(crate) const fn is_own(self) -> bool {
        self.0 < SLOTS
    }

    /// Gives this thread a slot for the rest of its life.
    fn lease() -> Self {
        // A thread that is past its destructors gets no slot of its own.
        let slot = LEASE.try_with(|lease| lease.0).unwrap_or(Self::SHARED);
        bl_set_counter_slot(slot.0);
        slot
    }
}

impl Lease {
    fn take() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = free.0.pop() {
            return Self(Slot(index));
        }
        let index = free.1;
        free.1 = (index + 1).min(SLOTS);
        Self(Slot(index))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Whatever this thread still probes while it ends goes to the shared slot.
        bl_set_counter_slot(Slot::SHARED.0);
        if self.0 != Slot::SHARED {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0.0);
        }
    }
}

thread_local! {
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
                scope.spawn(|| {
                    let slot = Slot::lease();
                    (0..10_000).for_each(|_| meter.probed(slot, 2, 1));
                });
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
                scope.spawn(|| meter.probed(Slot::UNASSIGNED, 1, 0));
            });
        }
        assert_eq!(meter.snapshot().probes, SLOTS as u64 * 4);
        // One thread after another needs one number at a time; other tests may hold some.
        assert_eq!(meter.slots[SLOTS].probes.load(Relaxed), 0);
    }
}
