//! How much memory a compact filter takes while it is built.

mod allocator;

use bloomline::compact::build;
use bloomline::hash::KeyHash;
use bloomline::sizing::CompactParams;
/// At most 24 bytes per key, the hashes that the caller passes included, for the widest fingerprints.
#[test]
fn building_takes_at_most_24_bytes_per_key() {
    const KEYS: usize = 70_000;
    for threads in [1, 2] {
        for r in [4, 16] {
            let params = CompactParams::new(r).unwrap();
            let (body, peak) = allocator::growth_of(|| {
                let hash = |i: u64| KeyHash::new(i.wrapping_mul(0xD134_2543_DE82_EF95));
                let hashes: Vec<_> = (1..=KEYS as u64).map(hash).collect();
                build(hashes, params, threads).unwrap()
            });
            assert_eq!(body.keys, KEYS as u64);
            assert!(peak > 16 * KEYS, "{peak} bytes: the allocator did not count");
            assert!(peak <= 24 * KEYS, "r {r}: {} bytes per key", peak as f64 / KEYS as f64);
            println!("r {r}, {threads} threads: {:.2} bytes per key", peak as f64 / KEYS as f64);
        }
    }
}
