//! The classic filter's rate, for every shape of m, hasher and key that has been another filter's undoing: a prime
//! m, a power of two, whole lines and a bit more; consecutive integers and real words as keys.
//!
//! A debug build measures fewer keys in a wider band.

use bloomline::hash::SecretKey;
use bloomline::sizing::ClassicParams;
use bloomline::{ClassicFilter, Hasher};

/// Keys added, absent keys asked for, and how far from 1% the rate may lie.
const SIZE: (usize, usize, f64) =
    if cfg!(debug_assertions) { (30_000, 100_000, 0.10) } else { (1_000_000, 1_000_000, 0.05) };

fn hashers() -> [Hasher; 4] {
    [
        Hasher::xxh3_64(0),
        Hasher::murmur3_x64_128(0),
        Hasher::fnv1a_64(),
        Hasher::siphash_2_4(SecretKey::from_bytes([9; 16])),
    ]
}

/// The largest prime up to `n`.
fn prime(n: u64) -> u64 {
    (2..=n).rev().find(|&n| (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)).unwrap()
}

/// Pairs of the English words of `fixtures/words.txt`, all different.
fn phrases(count: usize) -> Vec<Vec<u8>> {
    let words: Vec<&str> = include_str!("../fixtures/words.txt").lines().collect();
    let n = words.len();
    // Each word with its i-th neighbour at a distance: no pair comes twice before i reaches n.
    (0..count).map(|i| format!("{} {}", words[i % n], words[(i + i / n * 7919) % n]).into_bytes()).collect()
}

fn check(what: &str, keys: &[Vec<u8>], added: usize) {
    let (_, _, band) = SIZE;
    let near = ClassicParams::for_fpp(added as u64, 0.01).unwrap().bits();
    let power = near.next_power_of_two();
    // For a size that isn't the one of 1%, as many keys as make it so.
    for bits in [prime(near), power / 2, near / 512 * 512, near / 512 * 512 + 1] {
        let added = (added as u128 * u128::from(bits) / u128::from(near)) as usize;
        let params = ClassicParams::explicit(bits, 7).unwrap();
        for hasher in hashers() {
            let mut filter = ClassicFilter::with_hasher(params, hasher.clone()).unwrap();
            filter.add_batch(&keys[..added]);
            let mut answers = vec![false; keys.len()];
            filter.might_contain_batch(keys, &mut answers);
            assert!(answers[..added].iter().all(|&answer| answer));
            let positives = answers[added..].iter().filter(|&&answer| answer).count();
            let rate = positives as f64 / (keys.len() - added) as f64;
            println!("{what}, m = {bits}, n = {added}, {:?}: {:.4}%", hasher.id(), rate * 100.0);
            assert!((rate / 0.01 - 1.0).abs() < band, "{what}, m = {bits}, {hasher:?}: {rate}");
        }
    }
}

#[test]
fn consecutive_integers() {
    let (added, absent, _) = SIZE;
    let keys: Vec<Vec<u8>> = (0..(added + absent) as u64).map(|i| i.to_le_bytes().to_vec()).collect();
    check("consecutive integers", &keys, added);
}

#[test]
fn real_words() {
    let (added, absent, _) = SIZE;
    check("pairs of real words", &phrases(added + absent), added);
}

#[test]
fn the_smallest_filters() {
    // One bit: everything is there after the first key.
    let mut one = ClassicFilter::new(ClassicParams::explicit(1, 1).unwrap()).unwrap();
    assert!(!one.might_contain(b"a"));
    assert!(one.add(b"a") && !one.add(b"b"));
    assert!(one.might_contain(b"c") && one.count() == 1 && one.fill() == 1.0);
    // Sixteen bits and three probes: one key sets at most three, and each of 10,000 filters of one key answers
    // an absent one at the rate of the model.
    let params = ClassicParams::explicit(16, 3).unwrap();
    let mut positives = 0;
    for i in 0..10_000_u32 {
        let mut filter = ClassicFilter::new(params).unwrap();
        filter.add(&i.to_le_bytes());
        assert!(filter.fill() <= 3.0 / 16.0);
        positives += u32::from(filter.might_contain(&(i + 1_000_000).to_le_bytes()));
    }
    let rate = f64::from(positives) / 10_000.0;
    // E[(X/16)³] for three throws into sixteen: 1·(1/16)², 3·15·(1/16)²·… summed by hand.
    let expected = (1.0 * 1.0 + 45.0 * 8.0 + 210.0 * 27.0) / 256.0 / 4096.0;
    assert!((rate / expected - 1.0).abs() < 0.3, "{rate}, {expected}");
}
