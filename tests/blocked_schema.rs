//! The lines that a blocked filter sets, held against a second implementation written for obviousness: one
//! `bool` per bit, arithmetic in 128 bits, no shift that is not a division by a power of two.
//!
//! The schema is that of RocksDB's FastLocalBloom, so these are also the lines that RocksDB writes for the same
//! hashes.

use bloomline::KeyHash;
use bloomline::line::{LINE_BYTES, LineBytes};
use bloomline::probe::{Backend, Probe};
use bloomline::sizing::BlockedParams;
use proptest::prelude::*;

/// The line of a hash, and the bits in it.
fn reference(hash: u64, lines: u64, probes: u8) -> (usize, Vec<usize>) {
    let two_to_32 = 1_u128 << 32;
    let (low, high) = (u128::from(hash) % two_to_32, u128::from(hash) / two_to_32);
    let line = low * u128::from(lines) / two_to_32;
    let mut state = high;
    let mut bits = Vec::new();
    for _ in 0..probes {
        bits.push((state / (1 << 23)) as usize);
        state = state * 0x9E37_79B9 % two_to_32;
    }
    (line as usize, bits)
}

/// A filter as a table of `bool`s.
struct Reference {
    lines: Vec<[bool; 512]>,
    probes: u8,
}

impl Reference {
    fn new(params: BlockedParams) -> Self {
        Self { lines: vec![[false; 512]; params.lines() as usize], probes: params.probes() }
    }

    fn add(&mut self, hash: u64) -> bool {
        let (line, bits) = reference(hash, self.lines.len() as u64, self.probes);
        let new = bits.iter().any(|&bit| !self.lines[line][bit]);
        for bit in bits {
            self.lines[line][bit] = true;
        }
        new
    }

    fn might_contain(&self, hash: u64) -> bool {
        let (line, bits) = reference(hash, self.lines.len() as u64, self.probes);
        bits.iter().all(|&bit| self.lines[line][bit])
    }

    fn bytes(&self) -> Vec<LineBytes> {
        let line = |bits: &[bool; 512]| {
            let mut bytes = [0; LINE_BYTES];
            for (bit, &set) in bits.iter().enumerate() {
                bytes[bit / 8] += u8::from(set) * [1, 2, 4, 8, 16, 32, 64, 128][bit % 8];
            }
            bytes
        };
        self.lines.iter().map(line).collect()
    }
}

/// Vectors worked out by hand from the schema, to anchor the reference too.
#[test]
fn vectors() {
    // Hash 0: line 0, every probe at bit 0.
    assert_eq!(reference(0, 7, 3), (0, vec![0, 0, 0]));
    // High half 1: x is 1, then 0x9E3779B9, then its square mod 2^32, 0xE35E67B1.
    assert_eq!(reference(1 << 32, 7, 3), (0, vec![0, 0x9E37_79B9 >> 23, 0xE35E_67B1 >> 23]));
    // All ones: the last line, first probe at the last bit; −STEP and −STEP² after it.
    assert_eq!(reference(u64::MAX, 7, 3), (6, vec![511, 0x61C8_8647 >> 23, 0x1CA1_984F >> 23]));
    // Half-way through the low half of the hash: the middle line.
    assert_eq!(reference(0x8000_0000, 10, 1), (5, vec![0]));
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

/// Every backend, every number of probes, one by one and in batches, at every alignment: the reference's bits
/// and the reference's answers.
#[test]
fn every_backend_sets_and_finds_the_reference_bits() {
    for probes in 1..=u32::from(BlockedParams::MAX_PROBES) {
        let params = BlockedParams::explicit(512 * 37, probes).unwrap();
        let added: Vec<u64> = pseudo_random(probes.into()).take(700).collect();
        let asked: Vec<u64> = added.iter().copied().chain(pseudo_random(99).take(1500)).collect();
        let mut reference = Reference::new(params);
        let new: Vec<bool> = added.iter().map(|&hash| reference.add(hash)).collect();
        let answers: Vec<bool> = asked.iter().map(|&hash| reference.might_contain(hash)).collect();
        let added: Vec<KeyHash> = added.into_iter().map(KeyHash::new).collect();
        let asked: Vec<KeyHash> = asked.into_iter().map(KeyHash::new).collect();

        for backend in Backend::all() {
            let mut one_by_one = vec![[0; LINE_BYTES]; 37];
            let got: Vec<bool> =
                added.iter().map(|&hash| params.add(backend, &mut one_by_one, hash)).collect();
            assert_eq!(got, new, "{backend:?}, {probes} probes");
            assert_eq!(one_by_one, reference.bytes(), "{backend:?}, {probes} probes");

            let mut batched = vec![[0; LINE_BYTES]; 37];
            let count = params.add_batch(backend, &mut batched, &added);
            assert_eq!(count, new.iter().filter(|&&new| new).count() as u64);
            assert_eq!(batched, one_by_one);

            for shift in 0..LINE_BYTES {
                let mut shifted = vec![0_u8; shift];
                shifted.extend_from_slice(batched.as_flattened());
                let lines = bloomline::line::lines_of(&shifted[shift..]).unwrap();
                let got: Vec<bool> =
                    asked.iter().map(|&hash| params.might_contain(backend, lines, hash)).collect();
                assert_eq!(got, answers, "{backend:?}, {probes} probes, shifted by {shift}");
                let got = backend.run(
                    #[inline(always)]
                    || {
                        let mut got = Vec::new();
                        for &hash in &asked {
                            got.push(params.might_contain(backend, lines, hash));
                        }
                        got
                    },
                );
                assert_eq!(got, answers, "{backend:?}, {probes} probes, shifted by {shift}, in run");
                let mut got = vec![false; asked.len()];
                params.might_contain_batch(backend, lines, &asked, &mut got);
                assert_eq!(got, answers, "{backend:?}, {probes} probes, shifted by {shift}, batched");
            }
        }
    }
}

/// What `work` owns goes in, what it returns or throws comes out, for every backend, within another's run too.
#[test]
fn run_hands_on_values_and_panics() {
    for (outer, inner) in Backend::all().flat_map(|outer| Backend::all().map(move |inner| (outer, inner))) {
        let owned = vec![3_u8; 3];
        assert_eq!(outer.run(move || inner.run(move || owned.into_iter().sum::<u8>())), 9);
        let dropped = std::sync::Arc::new(());
        let held = dropped.clone();
        let thrown = std::panic::catch_unwind(|| {
            outer.run(move || {
                let _held = held;
                std::panic::resume_unwind(Box::new("thrown"))
            });
        });
        let thrown: Box<dyn std::any::Any + Send> = thrown.map(|(): ()| ()).unwrap_err();
        assert_eq!(thrown.downcast_ref::<&str>(), Some(&"thrown"));
        assert_eq!(std::sync::Arc::strong_count(&dropped), 1);
    }
}

/// A single lookup and a batch: no line denies nothing, and neither panics.
#[test]
fn no_lines_say_maybe() {
    let asked: Vec<KeyHash> = pseudo_random(5).take(100).map(KeyHash::new).collect();
    for (backend, probes) in
        Backend::all().flat_map(|backend| [1, 6, 8, 9, 30].map(|probes| (backend, probes)))
    {
        let params = BlockedParams::explicit(512, probes).unwrap();
        let lines: &[[u8; LINE_BYTES]] = &[];
        assert!(asked.iter().all(|&hash| params.might_contain(backend, lines, hash)), "{backend:?}");
        let mut answers = vec![false; asked.len()];
        params.might_contain_batch(backend, lines, &asked, &mut answers);
        assert!(answers.iter().all(|&answer| answer), "{backend:?}");
    }
}

proptest! {
    #[test]
    fn any_hashes_in_any_size(
        lines in 1_u64..2000,
        probes in 1_u32..=30,
        hashes in prop::collection::vec(any::<u64>(), 0..300),
        others in prop::collection::vec(any::<u64>(), 0..300),
    ) {
        let params = BlockedParams::explicit(lines * 512, probes).unwrap();
        let mut reference = Reference::new(params);
        let mut filter = bloomline::BlockedFilter::new(params).unwrap();
        for &hash in &hashes {
            prop_assert_eq!(filter.add_hash(KeyHash::new(hash)), reference.add(hash));
        }
        for &hash in hashes.iter().chain(&others) {
            prop_assert_eq!(filter.might_contain_hash(KeyHash::new(hash)), reference.might_contain(hash));
        }
        prop_assert!(hashes.iter().all(|&hash| filter.might_contain_hash(KeyHash::new(hash))));
        if !hashes.is_empty() {
            let block = filter.encode();
            let lines = reference.bytes();
            prop_assert_eq!(&block[48..], lines.as_flattened());
        }
    }
}

/// The largest number of lines: the index reaches the last line and not past it.
#[test]
fn the_line_index_at_the_limit() {
    let lines = u64::from(BlockedParams::MAX_LINES);
    assert_eq!(reference(0xFFFF_FFFF, lines, 1).0 as u64, lines - 1);
    assert_eq!(reference(0, lines, 1).0, 0);
}
