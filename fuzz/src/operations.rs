//! Sequences of operations on filters of every kind, beside a set of the keys and a twin that takes each key by
//! itself on the portable backend: after every step the two have the same bits.

mod fixed;
mod growing;
mod solved;

use std::collections::HashSet;

use arbitrary::{Arbitrary, Unstructured};
use bloomline::hash::{Hasher, KeyHash};
use bloomline::sizing::{BlockedParams, ClassicParams};

use crate::recipe::{AnyHasher, Growing};

/// An input.
#[derive(Arbitrary, Debug)]
enum Input {
    /// A blocked filter of so many lines and probes, less one.
    Blocked { lines: u8, probes: u8, hasher: AnyHasher, steps: Vec<fixed::Step> },
    /// A classic filter of so many bits and probes, less one.
    Classic { bits: u16, probes: u8, hasher: AnyHasher, steps: Vec<fixed::Step> },
    /// A scalable filter.
    Growing { classic: bool, growing: Growing, hasher: AnyHasher, steps: Vec<growing::Step> },
    /// A compact filter.
    Solved(solved::Solved),
}

/// Most steps of a sequence.
const STEPS: usize = 40;

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Unstructured::new(input);
    match input.arbitrary() {
        Ok(Input::Blocked { lines, probes, hasher, steps }) => {
            let params = BlockedParams::explicit((u64::from(lines) + 1) * 512, u32::from(probes) % 30 + 1);
            fixed::run(params.expect("in range"), &hasher, &steps, fixed::parallel);
        }
        Ok(Input::Classic { bits, probes, hasher, steps }) => {
            let params = ClassicParams::explicit(u64::from(bits) + 1, u32::from(probes) % 64 + 1);
            fixed::run(params.expect("in range"), &hasher, &steps, |filter, keys, _| filter.add_batch(keys));
        }
        Ok(Input::Growing { classic: true, growing, hasher, steps }) => {
            growing::run::<ClassicParams>(growing, &hasher, &steps);
        }
        Ok(Input::Growing { growing, hasher, steps, .. }) => {
            growing::run::<BlockedParams>(growing, &hasher, &steps);
        }
        Ok(Input::Solved(solved)) => solved.run(),
        Err(_) => {}
    }
}

/// A run of keys: numbers from one on, or one key of the fuzzer's.
#[derive(Arbitrary, Debug, Clone)]
enum Keys {
    Run { first: u16, count: u8 },
    Long { first: u16, count: u16 },
    One(Vec<u8>),
}

impl Keys {
    fn keys(&self) -> Vec<Vec<u8>> {
        let run = |first: u16, count: u16| {
            (0..count).map(|i| (u64::from(first) + u64::from(i)).to_le_bytes().to_vec()).collect()
        };
        match *self {
            Self::Run { first, count } => run(first, count.into()),
            Self::Long { first, count } => run(first, count % 3000),
            Self::One(ref key) => vec![key.clone()],
        }
    }
}

/// The keys that were added, as hashes: two keys of one hash are one to a filter.
#[derive(Default)]
struct Model {
    hashes: HashSet<KeyHash>,
}

impl Model {
    fn add(&mut self, hasher: &Hasher, keys: &[Vec<u8>]) {
        self.hashes.extend(keys.iter().map(|key| hasher.hash(key)));
    }

    /// Every key that was added is known, one by one and in a batch.
    fn known(&self, filter: &dyn bloomline::Membership) {
        let hashes: Vec<KeyHash> = self.hashes.iter().copied().collect();
        assert!(hashes.iter().all(|&hash| filter.might_contain_hash(hash)), "a key is forgotten");
        let mut answers = vec![false; hashes.len()];
        filter.might_contain_hashes(&hashes, &mut answers);
        assert!(answers.iter().all(|&maybe| maybe), "a batch forgets a key");
    }
}
