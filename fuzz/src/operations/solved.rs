//! Compact filters: a function of the set of their keys, whatever the order, the repeats and the threads.

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use bloomline::filter::{Budget, Merger};
use bloomline::format::Kind;
use bloomline::probe::Backend;
use bloomline::{FilterBuilder, FilterOptions, FilterReader, KeyHash};

use super::Keys;
use crate::model;
use crate::recipe::AnyHasher;

/// A compact filter.
#[derive(Arbitrary, Debug)]
pub(super) struct Solved {
    hasher: AnyHasher,
    fingerprint_bits: u8,
    load: u8,
    threads: u8,
    keys: Vec<Keys>,
    /// Hashes of the fuzzer's: crowds that no hash function makes.
    crowds: Vec<Crowd>,
}

/// Hashes of one line and rank, but for the low bits of their differences.
#[derive(Arbitrary, Debug)]
struct Crowd {
    start: u64,
    step: u8,
    count: u16,
}

impl Solved {
    fn options(&self) -> FilterOptions {
        let budget = Budget::Fpp(0.5_f64.powi(i32::from(self.fingerprint_bits) % 13 + 4));
        let options =
            FilterOptions::default().kind(Kind::Compact).budget(budget).hasher(self.hasher.hasher());
        options.compact_load(80 + u16::from(self.load) % 51)
    }

    fn hashes(&self) -> Vec<KeyHash> {
        let hasher = self.hasher.hasher();
        let keys = self.keys.iter().take(8).flat_map(Keys::keys).map(|key| hasher.hash(&key));
        let crowds = self.crowds.iter().take(8).flat_map(|crowd| {
            let step = 1_u64 << (crowd.step % 64);
            (0..u64::from(crowd.count % 2048)).map(move |i| crowd.start.wrapping_add(i.wrapping_mul(step)))
        });
        keys.chain(crowds.map(KeyHash::new)).collect()
    }

    /// Builds it, in two orders, and asks it.
    pub(super) fn run(&self) {
        let hashes = self.hashes();
        let build = |threads: usize, hashes: &mut dyn Iterator<Item = KeyHash>| {
            let mut builder = FilterBuilder::new(self.options().threads(threads));
            hashes.for_each(|hash| builder.add_hash(hash));
            builder.finish().expect("building is total")
        };
        let block = build(1, &mut hashes.iter().copied());
        let again = build(usize::from(self.threads % 4), &mut hashes.iter().rev().chain(&hashes).copied());
        assert!(again == block, "another order, repeats or threads gave other bytes");

        let hashers = self.hasher.hashers();
        let distinct: BTreeSet<KeyHash> = hashes.iter().copied().collect();
        let absent = (0..64_u64).map(|i| KeyHash::new(i.wrapping_mul(0xD134_2543_DE82_EF95)));
        let asked: Vec<KeyHash> = distinct.iter().copied().chain(absent).collect();
        // The model is slow: all of a small filter, some of a large one.
        let expected = asked.iter().step_by(asked.len() / 500 + 1);
        let expected: Vec<bool> = expected.map(|hash| model::might_contain(&block, hash.get())).collect();
        for backend in Backend::all() {
            let reader = FilterReader::open(&block[..], &hashers).expect("sound").with_backend(backend);
            assert_eq!(reader.count(), distinct.len() as u64);
            let mut answers = vec![false; asked.len()];
            reader.might_contain_hashes(&asked, &mut answers);
            assert!(answers[..distinct.len()].iter().all(|&maybe| maybe), "a key is forgotten");
            assert!(
                asked.iter().zip(&answers).all(|(&hash, &maybe)| reader.might_contain_hash(hash) == maybe)
            );
            assert!(
                answers.iter().step_by(asked.len() / 500 + 1).eq(&expected),
                "other answers than the model's"
            );
            assert!(Merger::new().add(&reader).is_err(), "compact filters don't merge");
        }
    }
}
