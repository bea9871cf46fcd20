//! The bits that a classic filter sets, held against a second implementation written for obviousness: one `bool`
//! per bit, arithmetic in 128 bits.

use bloomline::KeyHash;
use bloomline::line::LINE_BYTES;
use bloomline::probe::{Backend, Probe};
use bloomline::sizing::ClassicParams;

const TWO_TO_64: u128 = 1 << 64;
const GOLDEN: u128 = 0x9E37_79B9_7F4A_7C15;

/// The bits of a hash: x₀ = h, y₀ = mix(h) | 1; bit i = ⌊xᵢ·m / 2⁶⁴⌋; xᵢ₊₁ = xᵢ + yᵢ, yᵢ₊₁ = yᵢ + (i+1)·GOLDEN.
fn reference(hash: u64, bits: u64, probes: u8) -> Vec<usize> {
    let hash = u128::from(hash);
    let swapped = hash / (1 << 32) + hash % (1 << 32) * (1 << 32);
    let mixed = swapped * GOLDEN % TWO_TO_64;
    let (mut x, mut y) = (hash, (mixed ^ (mixed / (1 << 32))) / 2 * 2 + 1);
    let mut all = Vec::new();
    for i in 0..u128::from(probes) {
        all.push(usize::try_from(x * u128::from(bits) / TWO_TO_64).unwrap());
        x = (x + y) % TWO_TO_64;
        y = (y + (i + 1) * GOLDEN) % TWO_TO_64;
    }
    all
}

fn pseudo_random(seed: u64) -> impl Iterator<Item = u64> {
    // SplitMix64 (Steele, Lea, Flood 2014).
    (1..).map(move |i: u64| {
        let mut z = seed.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// Every number of probes, one by one and in batches longer than any chunk, with keys that share no order with
/// their answers: the reference's bits and the reference's answers.
#[test]
fn the_reference_bits_are_set_and_found() {
    for probes in 1..=u32::from(ClassicParams::MAX_PROBES) {
        let bits = 9973 + u64::from(probes);
        let params = ClassicParams::explicit(bits, probes).unwrap();
        let added: Vec<u64> = pseudo_random(probes.into()).take(700 / probes as usize + 5).collect();
        // Absent keys between those that are there, so that a batch has both in every stretch.
        let there = added.iter().copied().cycle();
        let asked: Vec<u64> =
            pseudo_random(99).zip(there).flat_map(|(absent, there)| [absent, there]).take(1100).collect();

        let mut set = vec![false; usize::try_from(bits).unwrap()];
        let mut new = Vec::new();
        for &hash in &added {
            let places = reference(hash, bits, params.probes());
            new.push(places.iter().any(|&bit| !set[bit]));
            for bit in places {
                set[bit] = true;
            }
        }
        let mut bytes = vec![[0_u8; LINE_BYTES]; params.line_count().unwrap()];
        for (bit, _) in set.iter().enumerate().filter(|(_, set)| **set) {
            bytes.as_flattened_mut()[bit / 8] |= 1 << (bit % 8);
        }
        let found = |&hash: &u64| reference(hash, bits, params.probes()).iter().all(|&bit| set[bit]);
        let answers: Vec<bool> = asked.iter().map(found).collect();
        let added: Vec<KeyHash> = added.into_iter().map(KeyHash::new).collect();
        let asked: Vec<KeyHash> = asked.into_iter().map(KeyHash::new).collect();

        let backend = Backend::detect();
        let mut one_by_one = vec![[0; LINE_BYTES]; bytes.len()];
        let got: Vec<bool> = added.iter().map(|&hash| params.add(backend, &mut one_by_one, hash)).collect();
        assert_eq!(got, new, "{probes} probes");
        assert_eq!(one_by_one, bytes, "{probes} probes");

        let mut batched = vec![[0; LINE_BYTES]; bytes.len()];
        let count = params.add_batch(backend, &mut batched, &added);
        assert_eq!(count, new.iter().filter(|&&new| new).count() as u64, "{probes} probes");
        assert_eq!(batched, bytes, "{probes} probes");

        let got: Vec<bool> = asked.iter().map(|&hash| params.might_contain(backend, &bytes, hash)).collect();
        assert_eq!(got, answers, "{probes} probes");
        let mut got = vec![false; asked.len()];
        params.might_contain_batch(backend, &bytes, &asked, &mut got);
        assert_eq!(got, answers, "{probes} probes, batched");
    }
}
