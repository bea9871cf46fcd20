//! How much memory a compact filter takes while it is built.

use bloomline::compact::build;
use bloomline::hash::KeyHash;
use bloomline::sizing::CompactParams;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting bytes in use and the most that ever were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "the trait is unsafe")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(IN_USE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// At most 24 bytes per key, the hashes that the caller passes included, for the widest fingerprints.
#[test]
fn building_takes_at_most_24_bytes_per_key() {
    const KEYS: usize = 70_000;
    for threads in [1, 2] {
        for r in [4, 16] {
            let before = IN_USE.load(Relaxed);
            let hashes: Vec<_> =
                (1..=KEYS as u64).map(|i| KeyHash::new(i.wrapping_mul(0xD134_2543_DE82_EF95))).collect();
            PEAK.store(IN_USE.load(Relaxed), Relaxed);
            let body = build(hashes, CompactParams::new(r).unwrap(), threads).unwrap();
            let peak = PEAK.load(Relaxed) - before;
            assert_eq!(body.keys, KEYS as u64);
            assert!(peak > 16 * KEYS, "{peak} bytes: the allocator did not count");
            assert!(peak <= 24 * KEYS, "r {r}: {} bytes per key", peak as f64 / KEYS as f64);
            println!("r {r}, {threads} threads: {:.2} bytes per key", peak as f64 / KEYS as f64);
        }
    }
}
