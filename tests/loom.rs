//! Every interleaving of small numbers of threads on the concurrent filters that ship, explored by loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom
//! ```
//!
//! Without `--cfg loom` this file is empty. loom also explores the values that a relaxed load may legally see,
//! which no stress test on one kind of machine can.

#![cfg(loom)]

use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    AtomicBlockedFilter, AtomicClassicFilter, BlockedFilter, ClassicFilter, ConcurrentScalableFilter,
    FilterReader, Hasher, Hashers, KeyHash, ScalableFilter,
};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

/// Runs a model. Three forced switches of threads are enough for every known kind of bug, and keep a run short.
fn model(threads: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(threads);
}

/// A hash that sets some bits of its own in a line.
fn hash(n: u64) -> KeyHash {
    KeyHash::new(n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) ^ n << 60)
}

fn blocked() -> AtomicBlockedFilter {
    AtomicBlockedFilter::new(BlockedParams::explicit(512, 2).unwrap())
        .unwrap()
        .with_backend(Backend::scalar())
}

fn classic() -> AtomicClassicFilter {
    AtomicClassicFilter::new(ClassicParams::explicit(64, 2).unwrap()).unwrap()
}

/// Two threads set bits of the same words: none is lost.
#[test]
fn add_and_add() {
    model(|| {
        let filter = Arc::new(classic());
        let other = thread::spawn({
            let filter = Arc::clone(&filter);
            move || filter.add_hash(hash(1))
        });
        let new = filter.add_hash(hash(2));
        let other_new = other.join().unwrap();
        assert!(new && other_new, "the two hashes share no bit");
        assert_eq!(filter.count(), 2);
        let mut alone = ClassicFilter::new(filter.params()).unwrap();
        alone.add_hash(hash(1));
        alone.add_hash(hash(2));
        assert_eq!(filter.encode(), alone.encode());
    });
}

/// Two threads add the same new hash: at least one is told that it was new, and it is counted.
#[test]
fn add_and_the_same_add() {
    model(|| {
        let filter = Arc::new(blocked());
        let other = thread::spawn({
            let filter = Arc::clone(&filter);
            move || filter.add_hash(hash(1))
        });
        let new = filter.add_hash(hash(1));
        let other_new = other.join().unwrap();
        assert!(new || other_new);
        assert!((1..=2).contains(&filter.count()));
        let filter = Arc::try_unwrap(filter).unwrap().into_filter();
        assert!(filter.might_contain_hash(hash(1)));
        let mut alone = BlockedFilter::new(filter.params()).unwrap();
        alone.add_hash(hash(1));
        assert_eq!(filter.encode()[48..], alone.encode()[48..]);
    });
}

/// A query that an add happened before finds the hash, though the filter's own accesses are all relaxed.
#[test]
fn add_then_query() {
    model(|| {
        let filter = Arc::new(blocked());
        let done = Arc::new(AtomicBool::new(false));
        let adder = thread::spawn({
            let (filter, done) = (Arc::clone(&filter), Arc::clone(&done));
            move || {
                filter.add_hash(hash(1));
                done.store(true, Ordering::Release);
            }
        });
        if done.load(Ordering::Acquire) {
            assert!(filter.might_contain_hash(hash(1)));
        }
        adder.join().unwrap();
    });
}

/// An add that wrote nothing, because another thread still in the middle of its own add had set the bits, is as
/// good as any: a query after it, by a third thread, finds the hash, and so does a block written after it.
#[test]
fn add_of_what_another_is_adding() {
    model(|| {
        let filter = Arc::new(classic());
        let done = Arc::new(AtomicBool::new(false));
        let first = thread::spawn({
            let filter = Arc::clone(&filter);
            move || filter.add_hash(hash(1))
        });
        let second = thread::spawn({
            let (filter, done) = (Arc::clone(&filter), Arc::clone(&done));
            move || {
                filter.add_hash(hash(1));
                done.store(true, Ordering::Release);
            }
        });
        if done.load(Ordering::Acquire) {
            assert!(filter.might_contain_hash(hash(1)));
            let block = FilterReader::open(filter.encode(), &Hashers::new()).unwrap();
            assert!(block.might_contain_hash(hash(1)) && block.count() > 0);
        }
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// A scalable filter of which the one layer is full, and two hashes that are new to it.
fn full() -> (ConcurrentScalableFilter<ClassicParams>, [KeyHash; 3]) {
    let params = ScalableParams::new(1, 0.2).unwrap();
    let mut filter = ScalableFilter::<ClassicParams>::with_hasher(params, Hasher::default()).unwrap();
    assert!(filter.add_hash(hash(1)));
    let mut new = (2..).map(hash).filter(|&hash| !filter.might_contain_hash(hash));
    let (second, third) = (new.next().unwrap(), new.next().unwrap());
    (filter.into(), [hash(1), second, third])
}

/// Two threads come upon the full layer at once: exactly one layer is made, and no key is lost.
#[test]
fn grow_and_grow() {
    model(|| {
        let (filter, [first, second, third]) = full();
        let filter = Arc::new(filter);
        let other = thread::spawn({
            let filter = Arc::clone(&filter);
            move || filter.add_hash(second)
        });
        filter.add_hash(third);
        other.join().unwrap();
        assert_eq!(filter.layer_count(), 2);
        for hash in [first, second, third] {
            assert!(filter.might_contain_hash(hash));
        }
        let filter = Arc::try_unwrap(filter).unwrap().into_filter();
        assert_eq!(filter.layers().len(), 2);
    });
}

/// While one thread grows, another adds an old key and queries; what either has added is found afterwards, and
/// by whoever knows that it was added.
#[test]
fn grow_and_add_and_query() {
    model(|| {
        let (filter, [first, second, _]) = full();
        let filter = Arc::new(filter);
        let done = Arc::new(AtomicBool::new(false));
        let grower = thread::spawn({
            let (filter, done) = (Arc::clone(&filter), Arc::clone(&done));
            move || {
                filter.add_hash(second);
                done.store(true, Ordering::Release);
            }
        });
        assert!(!filter.add_hash(first), "it is in a layer that growing doesn't touch");
        assert!(filter.might_contain_hash(first));
        if done.load(Ordering::Acquire) {
            assert!(filter.might_contain_hash(second));
            assert_eq!(filter.layer_count(), 2);
        }
        grower.join().unwrap();
        assert!(filter.might_contain_hash(first) && filter.might_contain_hash(second));
    });
}
