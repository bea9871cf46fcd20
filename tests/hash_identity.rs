//! What files store of a hasher: ids, names and check values, pinned for ever, and the refusal of every
//! hasher that is not the one stored.

use bloomline::error::HasherError;
use bloomline::hash::{CHECK_TEXT, Hasher, HasherId, HasherIdentity, Hashers, SecretKey};

const SECRET: [u8; 16] = *b"\x8F\x1E\x2D\x3C\x4B\x5A\x69\x78\x87\x96\xA5\xB4\xC3\xD2\xE1\xF0";
const OTHER_SECRET: [u8; 16] = *b"\x8F\x1E\x2D\x3C\x4B\x5A\x69\x78\x87\x96\xA5\xB4\xC3\xD2\xE1\xF1";

fn secret() -> SecretKey {
    SecretKey::from_bytes(SECRET)
}

fn identity(id: HasherId, seed: u64, check: u32) -> HasherIdentity {
    HasherIdentity { id, seed, check }
}

/// An application's function: FNV-1a over the key and a salt.
fn salted(salt: u8) -> impl Fn(&[u8]) -> u64 {
    move |key| Hasher::fnv1a_64().hash(&[key, &[salt]].concat()).get()
}

#[test]
fn ids_and_names_are_pinned() {
    let registry =
        [(1, "xxh3-64"), (2, "murmur3-x64-128"), (3, "fnv1a-64"), (4, "siphash-2-4"), (5, "rocksdb-xxph3")];
    for (number, name) in registry {
        let id = HasherId::new(number);
        assert_eq!((id.get(), id.name()), (number, Some(name)));
        assert_eq!(HasherId::from_name(name), Some(id));
        assert_eq!(id.to_string(), format!("{name} (id {number})"));
        assert!(!id.is_application());
    }
    for number in [0, 6, 77, 0x7FFF, 0x8000, 0xFFFF] {
        assert_eq!(HasherId::new(number).name(), None, "{number}");
        assert_eq!(HasherId::new(number).is_application(), number >= 0x8000, "{number}");
    }
    assert_eq!(HasherId::new(77).to_string(), "unknown hasher id 77");
    assert_eq!(HasherId::new(0x8001).to_string(), "application hasher 0x8001");
    for name in ["", "XXH3-64", "xxh3-64 ", "murmur3", "1"] {
        assert_eq!(HasherId::from_name(name), None, "{name:?}");
    }
    assert_eq!(HasherId::FIRST_APPLICATION.get(), 0x8000);
}

/// The check values are those of the last lines in `fixtures/hash`, which independent implementations made.
#[test]
fn identities_are_pinned() {
    let pinned = [
        (Hasher::xxh3_64(0), identity(HasherId::XXH3_64, 0, 0x7F9F_B5D7)),
        (Hasher::xxh3_64(1), identity(HasherId::XXH3_64, 1, 0x3780_80A9)),
        (Hasher::murmur3_x64_128(0), identity(HasherId::MURMUR3_X64_128, 0, 0x0DEC_35A9)),
        (Hasher::murmur3_x64_128(1), identity(HasherId::MURMUR3_X64_128, 1, 0xA321_6363)),
        (Hasher::fnv1a_64(), identity(HasherId::FNV1A_64, 0, 0x33D9_FD36)),
        (Hasher::siphash_2_4(secret()), identity(HasherId::SIPHASH_2_4, 0, 0xC83F_3001)),
    ];
    for (hasher, expected) in pinned {
        assert_eq!(hasher.identity(), expected);
        assert_eq!((hasher.id(), hasher.seed()), (expected.id, expected.seed));
    }
    assert_eq!(Hasher::default().identity(), Hasher::xxh3_64(0).identity());
}

#[test]
fn the_check_text_is_pinned() {
    let mut expected = b"Bloomline hasher check text, v1:".to_vec();
    expected.extend([0x80, 0xFF, 0x00, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xFE]);
    assert_eq!(CHECK_TEXT, expected);
}

#[test]
fn what_is_stored_makes_the_same_hasher_again() {
    let id = HasherId::new(0x8123);
    let written = [
        Hasher::default(),
        Hasher::xxh3_64(u64::MAX),
        Hasher::murmur3_x64_128(0),
        Hasher::murmur3_x64_128(u32::MAX),
        Hasher::fnv1a_64(),
        Hasher::siphash_2_4(secret()),
        Hasher::application(id, 7, salted(7)).unwrap(),
        Hasher::application(id, 8, salted(8)).unwrap(),
    ];
    let hashers = Hashers::new()
        .with_secret_key(SecretKey::from_bytes(OTHER_SECRET))
        .with_secret_key(secret())
        .with_application(Hasher::application(id, 7, salted(7)).unwrap())
        .with_application(Hasher::application(id, 8, salted(8)).unwrap());
    for hasher in written {
        let again = hashers.resolve(&hasher.identity()).unwrap();
        assert_eq!(again.identity(), hasher.identity());
        for key in [&b""[..], b"key", b"\xFF\x80 a longer key that is no text \x00\x01"] {
            assert_eq!(again.hash(key), hasher.hash(key));
        }
    }
}

#[test]
fn a_seed_that_the_function_cannot_take_is_refused() {
    let cases = [
        (HasherId::MURMUR3_X64_128, 1 << 32, u64::from(u32::MAX)),
        (HasherId::MURMUR3_X64_128, u64::MAX, u64::from(u32::MAX)),
        (HasherId::FNV1A_64, 1, 0),
        (HasherId::SIPHASH_2_4, 1, 0),
    ];
    // Nothing that a caller supplies makes such a seed right.
    let hashers = Hashers::new()
        .with_secret_key(secret())
        .with_application(Hasher::murmur3_x64_128(0))
        .with_application(Hasher::fnv1a_64());
    for (hasher, seed, max) in cases {
        let expected = HasherError::SeedOutOfRange { hasher, seed, max };
        assert_eq!(Hasher::from_seed(hasher, seed).unwrap_err(), expected);
        assert_eq!(hashers.resolve(&identity(hasher, seed, 0)).unwrap_err(), expected);
    }
}

#[test]
fn a_check_that_does_not_match_is_refused() {
    for hasher in [Hasher::xxh3_64(5), Hasher::murmur3_x64_128(5), Hasher::fnv1a_64()] {
        let right = hasher.identity();
        for bit in 0..32 {
            let stored = identity(right.id, right.seed, right.check ^ (1 << bit));
            let expected = HasherError::CheckMismatch {
                hasher: right.id,
                seed: right.seed,
                expected: stored.check,
                got: right.check,
            };
            assert_eq!(Hashers::new().resolve(&stored).unwrap_err(), expected);
        }
    }
}

#[test]
fn a_wrong_seed_or_id_is_refused() {
    let stored = Hasher::xxh3_64(1).identity();
    for wrong in [identity(stored.id, 2, stored.check), identity(HasherId::FNV1A_64, 0, stored.check)] {
        let error = Hashers::new().resolve(&wrong).unwrap_err();
        assert!(
            matches!(error, HasherError::CheckMismatch { hasher, .. } if hasher == wrong.id),
            "{wrong:?}: {error}"
        );
    }
}

#[test]
fn a_missing_or_wrong_secret_key_is_refused() {
    let stored = Hasher::siphash_2_4(secret()).identity();
    let hasher = HasherId::SIPHASH_2_4;
    let error = Hashers::new().resolve(&stored).unwrap_err();
    assert_eq!(error, HasherError::SecretKeyNeeded { hasher });
    assert_eq!(error.to_string(), "needs the secret key of siphash-2-4 (id 4), and none was given");

    let other = SecretKey::from_bytes(OTHER_SECRET);
    let got = Hasher::siphash_2_4(other.clone()).identity().check;
    let error = Hashers::new().with_secret_key(other).resolve(&stored).unwrap_err();
    assert_eq!(error, HasherError::WrongSecretKey { hasher, expected: stored.check, got });
    assert!(error.to_string().contains("siphash-2-4 (id 4)"), "{error}");
}

#[test]
fn application_hashers_are_refused_unless_id_seed_and_check_agree() {
    let id = HasherId::new(0x8001);
    let stored = Hasher::application(id, 7, salted(7)).unwrap().identity();
    let refusal = |hashers: Hashers| hashers.resolve(&stored).unwrap_err();
    let supply = |id, seed, salt| {
        Hashers::new().with_application(Hasher::application(id, seed, salted(salt)).unwrap())
    };

    let needed = HasherError::ApplicationHasherNeeded { hasher: id };
    assert_eq!(refusal(Hashers::new()), needed);
    assert_eq!(refusal(supply(HasherId::new(0x8002), 7, 7)), needed);
    assert_eq!(needed.to_string(), "needs application hasher 0x8001, which its application must supply");

    assert_eq!(refusal(supply(id, 8, 7)), HasherError::SeedMismatch { hasher: id, expected: 7, got: 8 });
    let got = Hasher::application(id, 7, salted(9)).unwrap().identity().check;
    let mismatch = HasherError::CheckMismatch { hasher: id, seed: 7, expected: stored.check, got };
    assert_eq!(refusal(supply(id, 7, 9)), mismatch);

    // The hasher reported is the one nearest to the one stored, whatever was given first.
    let nearest = Hasher::application(id, 7, salted(9)).unwrap();
    assert_eq!(refusal(supply(id, 8, 8).with_application(nearest)), mismatch);
}

#[test]
fn ids_outside_the_range_of_applications_are_not_theirs() {
    for number in [0, 1, 4, 5, 6, 0x7FFF] {
        let hasher = HasherId::new(number);
        let error = Hasher::application(hasher, 0, salted(0)).unwrap_err();
        assert_eq!(error, HasherError::NotApplicationId { hasher });
    }
    for number in [0x8000, 0xFFFF] {
        assert!(Hasher::application(HasherId::new(number), 0, salted(0)).is_ok());
    }
    let error = HasherError::NotApplicationId { hasher: HasherId::XXH3_64 };
    assert_eq!(error.to_string(), "an application hasher's id is 0x8000 or above, got 0x0001");
}

#[test]
fn ids_that_nothing_here_computes_are_refused() {
    for number in [0, 6, 0x7FFF] {
        let hasher = HasherId::new(number);
        let error = Hashers::new().resolve(&identity(hasher, 0, 0)).unwrap_err();
        assert_eq!(error, HasherError::UnknownHasher { hasher });
    }
    let hasher = HasherId::ROCKSDB_XXPH3;
    let error = Hashers::new().resolve(&identity(hasher, 0, 0)).unwrap_err();
    assert_eq!(error, HasherError::EngineHasherNeeded { hasher });
}

/// Neither a key, a hasher, a set of hashers nor an error prints any byte of a secret key.
#[test]
fn a_secret_key_is_never_printed() {
    // Sixteen equal bytes, so that every way to print them is easy to look for.
    let secret = SecretKey::from_bytes([0xAB; 16]);
    let stored = Hasher::siphash_2_4(SecretKey::from_bytes(OTHER_SECRET)).identity();
    let hasher = Hasher::siphash_2_4(secret.clone());
    let hashers = Hashers::new().with_secret_key(secret.clone());
    let error = hashers.resolve(&stored).unwrap_err();
    let printed = [
        format!("{secret:?} {secret:#?}"),
        format!("{hasher:?} {hasher:#?}"),
        format!("{hashers:?} {hashers:#?}"),
        format!("{:?} {:#?}", hasher.identity(), hasher.identity()),
        format!("{error} {error:?}"),
    ];
    for text in printed {
        let text = text.to_lowercase();
        for leak in ["abab", "ab, ab", "171, 171", "171,\n", "0xab, 0xab"] {
            assert!(!text.contains(leak), "{text}");
        }
    }
    assert_eq!(format!("{secret:?}"), "SecretKey(..)");
    assert_eq!(format!("{hasher:?}"), "Hasher(siphash-2-4 (id 4), seed 0)");
}

/// RocksDB's key hash is computed where RocksDB is linked, and accepted under its id like an application's.
#[test]
fn an_engine_supplies_its_own_hasher() {
    let hasher = Hasher::rocksdb_xxph3(|key: &[u8]| key.len() as u64);
    let stored = hasher.identity();
    assert_eq!((stored.id, stored.seed), (HasherId::ROCKSDB_XXPH3, 0));
    assert!(matches!(Hashers::new().resolve(&stored), Err(HasherError::EngineHasherNeeded { .. })));
    let supplied = Hashers::new().with_application(hasher);
    assert_eq!(supplied.resolve(&stored).unwrap().identity(), stored);
    let other = Hashers::new().with_application(Hasher::rocksdb_xxph3(|_: &[u8]| 7));
    assert!(matches!(other.resolve(&stored), Err(HasherError::CheckMismatch { .. })));
}
