//! Every hasher × kind × (owned, shared, behind a lock) through a file and back, copied and mapped, by way of the
//! traits that all filters have in common; and every mismatch of hasher, seed or key refused by the name of the
//! hasher needed.

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::io::Write;

use bloomline::error::{FormatError, HasherError};
use bloomline::filter::{AtomicFilter, Schema, open_any};
use bloomline::hash::{HasherId, SecretKey};
use bloomline::mmap::FileMap;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    ConcurrentScalableFilter, Filter, FilterReader, Hasher, Hashers, Membership, ScalableFilter,
    Synchronized, filter::Bloom,
};

const KEYS: u64 = if cfg!(debug_assertions) { 3_000 } else { 1_000_000 };

fn own_hasher() -> Hasher {
    let function =
        |key: &[u8]| Hasher::fnv1a_64().hash(key).get().rotate_left(21).wrapping_mul(0x2545_F491_4F6C_DD1D);
    Hasher::application(HasherId::new(0x9001), 3, function).unwrap()
}

fn hashers() -> [Hasher; 5] {
    [
        Hasher::xxh3_64(11),
        Hasher::murmur3_x64_128(12),
        Hasher::fnv1a_64(),
        Hasher::siphash_2_4(SecretKey::from_bytes(*b"0123456789abcdef")),
        own_hasher(),
    ]
}

/// One filter of each kind, in each form.
fn forms(hasher: &Hasher) -> Vec<Box<dyn Filter>> {
    fn of<P: Schema>(params: P, hasher: &Hasher) -> Vec<Box<dyn Filter>> {
        let scalable = ScalableParams::new(KEYS / 10, 0.01).unwrap();
        let owned = || Bloom::with_hasher(params, hasher.clone()).unwrap();
        let layered = || ScalableFilter::<P>::with_hasher(scalable, hasher.clone()).unwrap();
        vec![
            Box::new(owned()),
            Box::new(AtomicFilter::from(owned())),
            Box::new(Synchronized::new(owned())),
            Box::new(layered()),
            Box::new(ConcurrentScalableFilter::from(layered())),
            Box::new(Synchronized::new(layered())),
        ]
    }
    let mut forms = of(BlockedParams::for_fpp(KEYS, 0.01).unwrap(), hasher);
    forms.extend(of(ClassicParams::for_fpp(KEYS, 0.01).unwrap(), hasher));
    forms
}

fn answers(filter: &dyn Membership) -> Vec<bool> {
    let hashes: Vec<_> = (0..2 * KEYS).map(|i| filter.hasher().hash(&i.to_le_bytes())).collect();
    let mut answers = vec![false; hashes.len()];
    filter.might_contain_hashes(&hashes, &mut answers);
    answers
}

#[test]
fn through_a_block_and_back() {
    for hasher in hashers() {
        let supplied = Hashers::new().with_application(hasher.clone());
        for mut filter in forms(&hasher) {
            // Singly and in a batch, old keys in either.
            let (single, batch) = (0..KEYS / 2, KEYS / 3..KEYS);
            single.for_each(|i| _ = filter.add(&i.to_le_bytes()));
            let hashes: Vec<_> = batch.map(|i| hasher.hash(&i.to_le_bytes())).collect();
            filter.add_hashes(&hashes);
            let wanted = answers(&*filter);
            assert!(wanted[..KEYS as usize].iter().all(|&answer| answer));
            let rate = wanted[KEYS as usize..].iter().filter(|&&answer| answer).count() as f64 / KEYS as f64;
            assert!(rate < 0.018, "{filter:?}: {rate}");

            let block = filter.encode();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&block).unwrap();
            let mapped = FilterReader::open(FileMap::new(&file).unwrap(), &supplied).unwrap();
            let opened = open_any(&block, &supplied).unwrap();
            for other in [&mapped as &dyn Membership, opened.membership()] {
                assert!(answers(other) == wanted, "{:?} with {hasher:?}", other.kind());
                assert_eq!(other.kind(), filter.kind());
                assert_eq!(other.count(), filter.count());
                assert_eq!(other.expected_fpp(), filter.expected_fpp());
                assert_eq!(other.encode(), block);
                assert!((0..100).all(|i: u64| other.might_contain(&i.to_le_bytes())));
            }
            let mut written = Vec::new();
            opened.write_to(&mut written).unwrap();
            assert!(written == block);
            let mut grown = opened.into_filter().unwrap();
            let more = (KEYS..).take(1000).filter(|&i| grown.add(&i.to_le_bytes())).count() as u64;
            assert_eq!(grown.count(), filter.count() + more);
        }
    }
}

#[test]
fn a_mismatch_names_the_hasher_that_is_needed() {
    let none = Hashers::new();
    let keyed = |byte| Hasher::siphash_2_4(SecretKey::from_bytes([byte; 16]));
    for (mut needed, mut wrong) in forms(&keyed(1)).into_iter().zip(forms(&own_hasher())) {
        needed.add(b"key");
        let block = needed.encode();
        let refused = |block: &[u8], hashers: &Hashers| {
            let error = FilterReader::open(block, hashers).unwrap_err();
            assert_eq!(open_any(block, hashers).unwrap_err(), error);
            assert_eq!(FilterReader::open_unverified(block, hashers).unwrap_err(), error);
            error
        };
        let error = refused(&block, &none);
        assert!(matches!(error, FormatError::Hasher(HasherError::SecretKeyNeeded { .. })), "{error}");
        let error = refused(&block, &Hashers::new().with_application(keyed(2)));
        assert!(matches!(error, FormatError::Hasher(HasherError::WrongSecretKey { .. })), "{error}");
        assert!(error.to_string().contains("siphash-2-4"), "{error}");

        wrong.add(b"key");
        let block = wrong.encode();
        let error = refused(&block, &none);
        assert!(matches!(error, FormatError::Hasher(HasherError::ApplicationHasherNeeded { .. })), "{error}");
        assert!(error.to_string().contains("0x9001"), "{error}");
        let other_seed = Hasher::application(HasherId::new(0x9001), 4, |_: &[u8]| 0).unwrap();
        let error = refused(&block, &Hashers::new().with_application(other_seed));
        assert!(matches!(error, FormatError::Hasher(HasherError::SeedMismatch { .. })), "{error}");
        let other_function = Hasher::application(HasherId::new(0x9001), 3, |_: &[u8]| 0).unwrap();
        let error = refused(&block, &Hashers::new().with_application(other_function));
        assert!(matches!(error, FormatError::Hasher(HasherError::CheckMismatch { .. })), "{error}");
    }
}

#[test]
fn filters_without_keys() {
    for mut filter in forms(&Hasher::default()) {
        let block = filter.encode();
        let opened = open_any(&block, &Hashers::new()).unwrap();
        let empty = opened.membership();
        assert!(answers(empty).iter().all(|&answer| !answer), "{filter:?}");
        assert_eq!((empty.count(), empty.expected_fpp()), (0, 0.0));
        assert_eq!(empty.encode(), block);
        let hashes = [filter.hasher().hash(b""); 3];
        assert_eq!(filter.add_hashes(&hashes), 1, "the empty key, once");
        assert!(filter.might_contain(b""));
    }
}
