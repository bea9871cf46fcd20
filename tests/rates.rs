//! Measured false-positive rates, in bands around theory: seeded, so a failure repeats.

use bloomline::probe::Probe;
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{BlockedFilter, ClassicFilter, Hasher};

/// The rate over `absent` keys that differ from the `keys` added. The seed makes the keys.
fn measured(filter: &mut impl Filter, seed: u64, keys: u64, absent: u64) -> f64 {
    let key = |i: u64| [seed.to_le_bytes(), i.to_le_bytes()].concat();
    for i in 0..keys {
        filter.add(&key(i));
    }
    assert!((0..keys).step_by(97).all(|i| filter.might_contain(&key(i))));
    let positives = (keys..keys + absent).filter(|&i| filter.might_contain(&key(i))).count();
    positives as f64 / absent as f64
}

trait Filter {
    fn add(&mut self, key: &[u8]);
    fn might_contain(&self, key: &[u8]) -> bool;
}

impl Filter for BlockedFilter {
    fn add(&mut self, key: &[u8]) {
        self.add(key);
    }
    fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain(key)
    }
}

impl Filter for ClassicFilter {
    fn add(&mut self, key: &[u8]) {
        self.add(key);
    }
    fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain(key)
    }
}

/// Asserts that `got` lies within `share` of `want`, printing what a failure needs to be repeated.
fn assert_near(got: f64, want: f64, share: f64, what: &str) {
    println!(
        "{what}: measured {:.4}%, expected {:.4}%, off by {:+.2}%",
        got * 100.0,
        want * 100.0,
        (got / want - 1.0) * 100.0
    );
    assert!((got / want - 1.0).abs() <= share, "{what}: {got} instead of {want} ± {share}");
}

#[test]
fn blocked_filters_measure_what_the_model_says() {
    for (bits_per_key, keys, absent, share) in
        [(6.0, 100_000, 200_000, 0.03), (10.0, 100_000, 1_000_000, 0.04), (14.0, 100_000, 2_000_000, 0.06)]
    {
        let params = BlockedParams::for_bits_per_key(keys, bits_per_key).unwrap();
        let mut filter = BlockedFilter::with_hasher(params, Hasher::xxh3_64(1)).unwrap();
        let got = measured(&mut filter, 1, keys, absent);
        let what = format!("{bits_per_key} bits per key, {} probes, seed 1", params.probes());
        assert_near(got, params.expected_fpp(keys), share, &what);
        assert_near(filter.expected_fpp_from_fill(), got, share, &format!("{what}, from the fill"));
        // New keys that look old are not counted: the count, and the rate from it, fall a little short.
        assert_near(filter.expected_fpp(), got, share + 0.04, &format!("{what}, from the count"));
        let keys_from_fill =
            params.keys_from_fill(bloomline::line::lines_of(&filter.encode()[48..]).unwrap());
        assert_near(keys_from_fill.unwrap() as f64, keys as f64, 0.01, "keys from the fill");
        assert_near(filter.count() as f64, keys as f64, 0.02, "count");
    }
}

#[test]
fn a_target_rate_is_met() {
    for fpp in [0.1, 0.01, 0.001] {
        let params = BlockedParams::for_fpp(50_000, fpp).unwrap();
        let got = measured(&mut BlockedFilter::new(params).unwrap(), 2, 50_000, 1_000_000);
        assert_near(got, fpp, 0.1, &format!("blocked, target {fpp}, seed 2"));
        let params = ClassicParams::for_fpp(50_000, fpp).unwrap();
        let got = measured(&mut ClassicFilter::new(params).unwrap(), 2, 50_000, 1_000_000);
        assert_near(got, fpp, 0.1, &format!("classic, target {fpp}, seed 2"));
    }
}

/// Classic filters of every shape of size: accuracy doesn't depend on m.
#[test]
fn classic_rates_do_not_depend_on_the_number_of_bits() {
    for bits in [958_505, 958_507, 1 << 20, 512 * 1900, 512 * 1900 + 1, 960_000] {
        let params = ClassicParams::explicit(bits, 7).unwrap();
        let got = measured(&mut ClassicFilter::new(params).unwrap(), 3, 100_000, 1_000_000);
        assert_near(got, params.expected_fpp(100_000), 0.05, &format!("m = {bits}, seed 3"));
    }
}

/// An overfull filter says so.
#[test]
fn an_overfull_filter_can_be_told_by_its_rate() {
    let params = BlockedParams::for_fpp(10_000, 0.01).unwrap();
    let mut filter = BlockedFilter::new(params).unwrap();
    let got = measured(&mut filter, 4, 40_000, 200_000);
    assert!(got > 0.2, "{got}");
    assert_near(filter.expected_fpp_from_fill(), got, 0.05, "four times overfull, from the fill");
}

/// The rate from the fill left out that two keys of a line may share all 32 bits of hash there, and gave 10⁻³⁸
/// where the rate from the count gave 10⁻¹⁰.
#[test]
fn the_floor_of_the_hash_is_in_the_rate_from_the_fill_too() {
    let params = BlockedParams::explicit(512, 30).unwrap();
    let mut filter = BlockedFilter::new(params).unwrap();
    filter.add(b"apple");
    assert_near(filter.expected_fpp_from_fill(), filter.expected_fpp(), 0.05, "one key, from the fill");
}
