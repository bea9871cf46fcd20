//! The scalable filter: rate, count and layers over millions of keys, batches, growth that fails, and growing on
//! after a load. A debug build takes fewer keys.

use bloomline::filter::Schema;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{ConcurrentScalableFilter, Hasher, Hashers, KeyHash, ScalableFilter};
use proptest::prelude::*;

const KEYS: u64 = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
const ABSENT: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

fn key(i: u64) -> [u8; 8] {
    i.to_le_bytes()
}

fn hash(i: u64) -> KeyHash {
    Hasher::default().hash(&key(i))
}

fn empty<P: Schema>(params: ScalableParams) -> ScalableFilter<P> {
    ScalableFilter::with_hasher(params, Hasher::default()).unwrap()
}

/// Layers that the geometric series needs for so many keys.
fn needed(params: ScalableParams, keys: u64) -> usize {
    let mut sum = 0;
    (0..).take_while(|&layer| (sum < keys, sum += params.layer_capacity(layer)).0).count()
}

fn check<P: Schema>(params: ScalableParams) {
    let mut filter = empty::<P>(params);
    let hashes: Vec<KeyHash> = (0..KEYS).map(hash).collect();
    filter.add_hashes(&hashes);
    assert!(hashes.iter().all(|&hash| filter.might_contain_hash(hash)));
    let absent: Vec<KeyHash> = (KEYS..KEYS + ABSENT).map(hash).collect();
    let mut answers = vec![false; absent.len()];
    filter.might_contain_hashes(&absent, &mut answers);
    let rate = answers.iter().filter(|&&answer| answer).count() as f64 / ABSENT as f64;
    let (layers, count) = (filter.layers().len(), filter.count() as f64 / KEYS as f64);
    println!(
        "{params:?}, {}: {layers} layers, rate {:.4}% (theory {:.4}%), count off by {:.3}%, {:.2} bits per key",
        P::KIND,
        rate * 100.0,
        filter.expected_fpp() * 100.0,
        (count - 1.0) * 100.0,
        filter.bytes() as f64 * 8.0 / KEYS as f64,
    );
    assert!(rate < 0.01, "{rate}");
    assert!(filter.expected_fpp() < 0.01 && filter.expected_fpp_from_fill() < 0.01);
    assert!((count - 1.0).abs() < 0.015, "{count}");
    assert!(layers <= needed(params, KEYS) + 1, "{layers}");
    if params.first_capacity() == 1000 && params.growth() == 2 {
        assert!(layers <= 11);
    }
    assert!(filter.growth_failure().is_none());
    assert_eq!(filter.add_hashes(&hashes), 0, "all were there");
}

#[test]
fn the_compound_rate_stays_under_the_target_from_every_first_capacity() {
    for first in [1, 1000, 1_000_000] {
        let params = ScalableParams::new(first, 0.01).unwrap();
        check::<BlockedParams>(params);
        check::<ClassicParams>(params);
    }
}

#[test]
fn the_compound_rate_stays_under_the_target_with_every_growth_and_tightening() {
    let params = ScalableParams::new(1000, 0.01).unwrap();
    check::<BlockedParams>(params.with_growth(4).unwrap());
    check::<BlockedParams>(params.with_tightening(0.9).unwrap());
    check::<ClassicParams>(params.with_growth(4).unwrap().with_tightening(0.9).unwrap());
    check::<BlockedParams>(ScalableParams::new(1, 0.01).unwrap().with_tightening(0.9).unwrap());
}

#[test]
fn a_key_is_new_once_whatever_layer_it_is_in() {
    let mut filter = empty::<ClassicParams>(ScalableParams::new(10, 0.001).unwrap());
    let new = (0..500).filter(|&i| filter.add(&key(i))).count() as u64;
    assert_eq!(new, filter.count());
    assert!(new > 490);
    for i in 0..500 {
        assert!(!filter.add(&key(i)), "{i}");
    }
    assert_eq!(filter.count(), new);
    assert!(filter.layers().len() == 6, "10 + 20 + 40 + 80 + 160 + 320");
}

proptest! {
    /// Batches of any sizes, with repeats, make the very filter that single adds make, in both forms.
    #[test]
    fn batches_are_as_single_adds(
        keys in prop::collection::vec(0..3000_u64, 0..2000),
        first in 1..300_u64,
        batch in 1..700_usize,
        growth in prop::sample::select(vec![2, 4]),
    ) {
        let params = ScalableParams::new(first, 0.05).unwrap().with_growth(growth).unwrap();
        let hashes: Vec<KeyHash> = keys.iter().map(|&i| hash(i)).collect();
        let mut single = empty::<BlockedParams>(params);
        let new = hashes.iter().filter(|&&hash| single.add_hash(hash)).count() as u64;
        let mut batched = empty::<BlockedParams>(params);
        let new_batched: u64 = hashes.chunks(batch).map(|hashes| batched.add_hashes(hashes)).sum();
        prop_assert_eq!(new, new_batched);
        prop_assert_eq!(single.encode(), batched.encode());
        // One thread on the concurrent form, small layers being counted exactly.
        let shared = ConcurrentScalableFilter::from(empty::<BlockedParams>(params));
        let new_shared = hashes.iter().filter(|&&hash| shared.add_hash(hash)).count() as u64;
        prop_assert_eq!(new, new_shared);
        prop_assert_eq!(single.encode(), shared.encode());
        let shared = ConcurrentScalableFilter::from(empty::<BlockedParams>(params));
        let new_shared: u64 = hashes.chunks(batch).map(|hashes| shared.add_hashes(hashes)).sum();
        prop_assert_eq!(new, new_shared);
        prop_assert_eq!(single.encode(), shared.into_filter().encode());
    }

    /// Saved at any moment and loaded, it grows on as if nothing had been.
    #[test]
    fn a_load_in_the_middle_changes_nothing(total in 0..1500_u64, saved_at in 0..1500_u64) {
        let params = ScalableParams::new(50, 0.01).unwrap().with_tightening(0.7).unwrap();
        let mut through = empty::<ClassicParams>(params);
        let mut before = empty::<ClassicParams>(params);
        (0..total).for_each(|i| _ = through.add(&key(i)));
        (0..saved_at.min(total)).for_each(|i| _ = before.add(&key(i)));
        let mut after = ScalableFilter::<ClassicParams>::decode(&before.encode(), &Hashers::new()).unwrap();
        prop_assert_eq!(after.encode(), before.encode());
        (saved_at.min(total)..total).for_each(|i| _ = after.add(&key(i)));
        prop_assert_eq!(after.encode(), through.encode());
    }
}

/// Blocked lines can't give rates near 10⁻⁹: the next layer is refused, and the last takes the keys.
#[test]
fn growth_that_fails_loses_no_key_and_says_why() {
    let params = ScalableParams::new(8, 3e-9).unwrap();
    let mut filter = empty::<BlockedParams>(params);
    for i in 0..2000 {
        assert!(filter.add(&key(i)) || filter.growth_failure().is_some());
    }
    let error = filter.growth_failure().unwrap().to_string();
    assert!(error.contains("out of reach"), "{error}");
    assert!((0..2000).all(|i| filter.might_contain(&key(i))));
    assert!(filter.expected_fpp() > 3e-9);

    let shared = ConcurrentScalableFilter::from(empty::<BlockedParams>(params));
    (0..2000).for_each(|i| _ = shared.add(&key(i)));
    assert_eq!(shared.growth_failure().unwrap().to_string(), error);
    assert_eq!(shared.layer_count(), filter.layers().len());
    let batch: Vec<KeyHash> = (2000..4000).map(hash).collect();
    shared.add_hashes(&batch);
    filter.add_hashes(&batch);
    assert!((0..4000).all(|i| shared.might_contain(&key(i)) && filter.might_contain(&key(i))));
}

#[test]
fn a_first_layer_that_can_not_be_is_refused_at_once() {
    assert!(ScalableFilter::blocked(ScalableParams::new(u64::MAX, 0.01).unwrap()).is_err());
    assert!(ScalableFilter::blocked(ScalableParams::new(1000, 1e-12).unwrap()).is_err());
    assert!(ConcurrentScalableFilter::classic(ScalableParams::new(u64::MAX, 0.01).unwrap()).is_err());
}
