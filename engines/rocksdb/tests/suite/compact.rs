//! Compact filters block by block: their bytes, sizes and rates, and everything that must not be taken for one.

use bloomline::format::{HEADER_BYTES, crc32};
use bloomline::sizing::blocked_fpp;
use bloomline_rocksdb::testing::{Keys, Policy};
use bloomline_rocksdb::{FilterPolicy, Kind, inspect};

use crate::harness::{absent, present};

fn keys(range: std::ops::Range<u64>) -> Keys {
    Keys::new(range.map(present))
}

fn policy(fpp: f64) -> Policy {
    Policy::of(&FilterPolicy::compact(fpp).unwrap()).unwrap()
}

fn fingerprint_bits(block: &[u8]) -> Option<u8> {
    match inspect::classify(block) {
        Kind::Compact { fingerprint_bits, .. } => Some(fingerprint_bits),
        Kind::Blocked { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// 4 to 16 fingerprint bits and their rate.
fn rates() -> impl Iterator<Item = (u8, f64)> {
    (4..=16).map(|bits| (bits, 0.5_f64.powi(i32::from(bits))))
}

#[test]
fn every_rate_holds_every_key_in_its_space() {
    for (bits, fpp) in rates() {
        let policy = policy(fpp);
        for count in [1, 2, 30, 100, 400, 1_000, 4_000, 100_000] {
            let keys = keys(0..count);
            let block = policy.build(&keys);
            let reader = policy.reader(&block);
            assert_eq!(reader.count(&keys), keys.len(), "{count} keys, {bits} bits");
            assert_eq!(reader.count_batched(&keys, 32), keys.len(), "{count} keys, {bits} bits");
            assert_eq!(fingerprint_bits(&block).unwrap_or(bits), bits);
            if count >= 4_000 {
                #[expect(clippy::cast_precision_loss, reason = "at most a million")]
                let used = block.len() as f64 * 8.0 / count as f64 / f64::from(bits);
                let most = if count == 4_000 { 1.16 } else { 1.125 };
                assert!(used < most, "{count} keys, {bits} bits: {used}");
            }
        }
    }
}

#[test]
fn the_bytes_depend_on_the_set_of_keys_alone() {
    let policy = policy(0.01);
    let block = policy.build(&keys(0..20_000));
    assert!(block == policy.build(&Keys::new((0..20_000).rev().map(present))), "another order");
    assert!(block == policy.build(&Keys::new((0..40_000).map(|i| present(i % 20_000)))), "every key twice");
    // A builder that has built is as new.
    let mut builder = policy.builder(1, false).unwrap();
    builder.add(&keys(50_000..53_000));
    assert!(builder.finish().is_some_and(|other| *other != *block));
    builder.add(&keys(0..20_000));
    assert_eq!(builder.finish(), Some(&block[..]));
    assert!(block != policy.build(&keys(0..20_001)));
}

/// A stock RocksDB's reader of a compact block.
#[test]
fn rocksdb_lets_every_key_through() {
    let block = policy(0.01).build(&keys(0..10_000));
    for id in ["bloomfilter:10", "ribbonfilter:10:-1"] {
        let stock = Policy::named(id).unwrap();
        let reader = stock.reader(&block);
        assert!(reader.is_open());
        assert_eq!(reader.count(&keys(0..10_000)), 10_000);
        assert_eq!(reader.count(&Keys::new((0..10_000).map(absent))), 10_000);
    }
}

/// Filters of few keys are blocked: smaller, of a rate at least as low, and of use to a stock RocksDB.
#[test]
fn few_keys_get_the_smaller_kind() {
    let stock = Policy::named("bloomfilter:10").unwrap();
    for (bits, fpp) in rates() {
        let policy = policy(fpp);
        let builder = policy.builder(1, false).unwrap();
        let build = |count| policy.build(&keys(0..count));
        let least = (1..1_000).find(|&count| fingerprint_bits(&build(count)).is_some()).unwrap();
        println!("{bits} bits: compact from {least} keys on");
        assert!((40..400).contains(&least), "{bits} bits: {least}");
        for count in 1..least {
            let block = build(count);
            let keys = keys(0..count);
            assert_eq!(stock.reader(&block).count(&keys), keys.len());
            assert_eq!(builder.space(keys.len()), block.len());
            let rate = builder.estimated_rate(keys.len(), block.len());
            assert!(rate <= fpp, "{count} keys, {bits} bits: {rate}");
        }
        for count in least..least + 200 {
            assert!(fingerprint_bits(&build(count)).is_some(), "{count} keys, {bits} bits");
        }
        // Above, blocked filters of the rate would take more.
        let tenths = (10..400_u64).find(|&tenths| {
            #[expect(clippy::cast_precision_loss, reason = "at most 400")]
            let bits_per_key = tenths as f64 / 10.0;
            (1..=30).any(|probes| blocked_fpp(bits_per_key, probes) <= fpp)
        });
        let (compact, blocked) = (least..least + 200).step_by(9).fold((0, 0), |(compact, blocked), count| {
            let bytes = (count * tenths.unwrap()).div_ceil(80).next_multiple_of(64) + 5;
            (compact + build(count).len() as u64, blocked + bytes)
        });
        assert!(compact < blocked, "{bits} bits: {compact} and {blocked} bytes");
    }
    assert!(fingerprint_bits(&policy(0.01).build(&keys(0..146))).is_none());
    assert_eq!(fingerprint_bits(&policy(0.01).build(&keys(0..147))), Some(7));
}

#[test]
fn sizes_are_known_beforehand() {
    for fpp in [0.05, 0.01, 0.001, 0.00002] {
        let policy = policy(fpp);
        let builder = policy.builder(1, false).unwrap();
        for count in (1..3_000).step_by(83).chain([4_000, 30_000, 300_000]) {
            let entries = usize::try_from(count).unwrap();
            let (space, built) = (builder.space(entries), policy.build(&keys(0..count)).len());
            assert!(space.abs_diff(built) <= 128 + built / 200, "{count} keys at {fpp}: {space}, {built}");
        }
        // What is said to fit does, and hardly less is said.
        for bytes in (100..10_000).step_by(7).chain([1 << 20, 1 << 30]) {
            let entries = builder.approximate_entries(bytes);
            assert!(builder.space(entries) <= bytes, "{bytes} bytes at {fpp}: {entries}");
            assert!(
                builder.space(entries + entries / 20 + 40) > bytes - 64,
                "{bytes} bytes at {fpp}: {entries}"
            );
        }
        assert_eq!(builder.approximate_entries(0), 0);
        assert_eq!(builder.estimated_rate(1_000_000, 1 << 20).log2(), fpp.log2().floor());
    }
}

/// RocksDB asks for each data block of a file.
#[test]
fn sizes_take_no_time() {
    let builder = policy(0.01).builder(1, false).unwrap();
    let start = std::time::Instant::now();
    let sum: usize = (0..1_000_000).map(|entries| builder.space(entries * 1_000)).sum();
    assert!(sum > 1_000_000_000);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// Every bit and every length: one wrong bit in a linear system can deny a key, so no damage may be overlooked.
#[test]
fn any_damage_lets_every_key_through_and_is_counted() {
    let policy = FilterPolicy::compact(0.01).unwrap();
    let ours = Policy::of(&policy).unwrap();
    let present_keys = keys(0..500);
    let block = ours.build(&present_keys);
    assert_eq!(fingerprint_bits(&block), Some(7));
    let mut opened_as_other = 0;
    let mut check = |damaged: &[u8], what: String| {
        let before = policy.counters();
        let reader = ours.reader(damaged);
        assert_eq!(reader.count(&present_keys), present_keys.len(), "{what}");
        let counters = policy.counters();
        assert_eq!(counters.probes, before.probes, "{what}");
        assert_eq!(reader.is_open(), counters.readers_delegated > before.readers_delegated, "{what}");
        assert_eq!(reader.is_open(), counters.readers_fell_open == before.readers_fell_open, "{what}");
        opened_as_other += usize::from(reader.is_open());
    };
    for bit in 0..block.len() * 8 {
        let mut damaged = block.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        check(&damaged, format!("bit {bit}"));
    }
    for len in 0..block.len() {
        check(&block[..len], format!("cut to {len}"));
        check(&block[block.len() - len..], format!("the last {len}"));
    }
    assert_eq!(opened_as_other, 0);
}

/// Fields edited with the checksums mended, as by another writer.
#[test]
fn sound_blocks_of_other_filters_are_not_compact_filters_of_rocksdb_keys() {
    let policy = FilterPolicy::compact(0.01).unwrap();
    let ours = Policy::of(&policy).unwrap();
    let present_keys = keys(0..500);
    let block = ours.build(&present_keys);
    let edited = |at: usize, value: &[u8]| {
        let mut block = block.clone();
        block[at..at + value.len()].copy_from_slice(value);
        let end = block.len() - 5;
        let body = crc32(&block[HEADER_BYTES..end]);
        block[40..44].copy_from_slice(&body.to_le_bytes());
        let header = crc32(&block[..44]);
        block[44..48].copy_from_slice(&header.to_le_bytes());
        block
    };
    assert!(ours.reader(&edited(16, &500_u64.to_le_bytes())).is_open(), "nothing changed");
    let tail = block.len() - 5 - 64;
    let wrong = [
        ("version", edited(4, &[2])),
        ("kind", edited(5, &[2])),
        ("kind", edited(5, &[1])),
        ("fingerprint bits", edited(6, &[17])),
        ("flags", edited(7, &[1])),
        ("bits", edited(8, &512_u64.to_le_bytes())),
        ("no bits", edited(8, &0_u64.to_le_bytes())),
        ("seed", edited(24, &[1])),
        ("hasher", edited(32, &[1])),
        ("reserved", edited(34, &[1])),
        ("hasher check", edited(36, &[!block[36]])),
        ("directory", edited(tail, &[0xff; 64])),
        ("trailer", [&block[..block.len() - 1], &[1]].concat()),
        ("marker", [&block[..block.len() - 5], &[0xb4, 0, 0, 0, 0]].concat()),
        ("nothing but a trailer", vec![0xb3, 0, 0, 0, 0]),
        ("no block", [&[0; 64][..], &[0xb3, 0, 0, 0, 0]].concat()),
        ("an empty filter", [&empty(&block)[..], &[0xb3, 0, 0, 0, 0]].concat()),
    ];
    for (what, block) in wrong {
        let before = policy.counters().readers_fell_open;
        let reader = ours.reader(&block);
        assert!(!reader.is_open(), "{what}");
        assert_eq!(reader.count(&present_keys), present_keys.len(), "{what}");
        assert_eq!(policy.counters().readers_fell_open, before + 1, "{what}");
    }
}

/// A sound header of a filter without keys, which would deny every key.
fn empty(block: &[u8]) -> Vec<u8> {
    let mut header = block[..HEADER_BYTES].to_vec();
    header[6] = 0;
    header[8..24].fill(0);
    header[40..44].fill(0);
    let crc = crc32(&header[..44]);
    header[44..48].copy_from_slice(&crc.to_le_bytes());
    header
}

#[test]
fn detection_of_corruption_finds_every_changed_bit() {
    let policy = policy(0.01);
    let keys = keys(0..200);
    let sound = policy.build(&keys);
    assert_eq!(fingerprint_bits(&sound), Some(7));
    let mut builder = policy.builder(1, true).unwrap();
    builder.add(&keys);
    let block = builder.finish().map(<[u8]>::to_vec).unwrap();
    assert!(block == sound && builder.verify(&block));
    for bit in 0..sound.len() * 8 {
        builder.add(&keys);
        let mut block = builder.finish().unwrap().to_vec();
        block[bit / 8] ^= 1 << (bit % 8);
        assert!(!builder.verify(&block), "bit {bit}");
    }
    // A sound filter, but of other keys.
    let other = policy.build(&self::keys(1_000..1_200));
    builder.add(&keys);
    assert!(builder.finish().is_some());
    assert!(!builder.verify(&other));
}
