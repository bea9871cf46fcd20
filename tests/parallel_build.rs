//! Filters built on several threads are, to the byte, those that one thread builds.

use bloomline::format::Kind;
use bloomline::sizing::BlockedParams;
use bloomline::{BlockedFilter, Budget, FilterBuilder, FilterOptions};

/// Enough for more than one round of two threads, with every fifth key a repeat from far away.
const KEYS: u64 = if cfg!(debug_assertions) { 200_000 } else { 1_300_000 };

fn keys() -> Vec<[u8; 8]> {
    (0..KEYS).map(|i| if i % 5 == 4 { i / 2 } else { i }.to_le_bytes()).collect()
}

#[test]
fn owned_filters() {
    let keys = keys();
    let params = BlockedParams::for_bits_per_key(KEYS, 10.0).unwrap();
    let mut one = BlockedFilter::new(params).unwrap();
    let new = one.add_batch(&keys);
    let hashes: Vec<_> = keys.iter().map(|key| one.hasher().hash(key)).collect();
    for threads in [0, 1, 2, 3, 7] {
        let mut by_key = BlockedFilter::new(params).unwrap();
        assert_eq!(by_key.add_batch_parallel(&keys, threads), new, "{threads} threads");
        assert!(by_key.encode() == one.encode(), "{threads} threads");

        // On top of what is there already, too.
        let mut by_hash = BlockedFilter::new(params).unwrap();
        let (first, rest) = hashes.split_at(hashes.len() / 3);
        by_hash.add_hashes(first);
        by_hash.add_hashes_parallel(rest, threads);
        assert_eq!(by_hash.count(), one.count(), "{threads} threads");
        assert!(by_hash.encode() == one.encode(), "{threads} threads");
    }
}

#[test]
fn blocks() {
    for kind in [Kind::Blocked, Kind::Classic] {
        let block = |threads| {
            let options = FilterOptions::default().kind(kind).budget(Budget::BitsPerKey(10.0));
            let mut builder = FilterBuilder::new(options.threads(threads));
            keys().iter().for_each(|key| builder.add(key));
            builder.finish().unwrap()
        };
        let one = block(1);
        assert!(block(2) == one && block(5) == one, "{kind:?}");
    }
}
