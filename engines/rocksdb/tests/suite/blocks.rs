//! Block by block, without a database: the same bytes and the same answers as RocksDB.

use bloomline_rocksdb::testing::{Keys, Policy, key_hash};
use bloomline_rocksdb::{FilterPolicy, Kind, inspect};

use crate::harness::{Random, SORTS, Sort, absent, present};

const ABSENT: u64 = 1_000_000;

fn keys(range: std::ops::Range<u64>) -> Keys {
    Keys::new(range.map(present))
}

fn plugin(bits_per_key: f64, probes: u8) -> Policy {
    Policy::of(&FilterPolicy::blocked_with_probes(bits_per_key, probes.into()).unwrap()).unwrap()
}

fn of(sort: Sort) -> Policy {
    named(&format!("bloomline:{}", sort.id))
}

fn named(id: &str) -> Policy {
    Policy::named(id).unwrap_or_else(|| panic!("{id}"))
}

fn probes_of(block: &[u8]) -> u8 {
    match inspect::classify(block) {
        Kind::Blocked { probes, .. } => probes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_keys_and_probes_give_the_same_bytes() {
    let mut seen = Vec::new();
    for millibits in (1_000..52_000).step_by(370).chain([9_999, 10_000, 10_001, 99_999, 100_000]) {
        let bits_per_key = f64::from(millibits) / 1000.0;
        let rocksdb = named(&format!("rocksdb.internal.FastLocalBloomFilter:{bits_per_key}"));
        for count in [1, 2, 100, 3_001] {
            let keys = keys(0..count);
            let theirs = rocksdb.build(&keys);
            let probes = probes_of(&theirs);
            let ours = plugin(bits_per_key, probes).build(&keys);
            assert!(ours == theirs, "{count} keys, {bits_per_key} bits, {probes} probes");
            seen.push(probes);
        }
    }
    seen.sort_unstable();
    seen.dedup();
    // Every number of probes that RocksDB ever chooses.
    assert_eq!(seen, (1..=24).collect::<Vec<u8>>());
}

#[test]
fn each_reads_the_blocks_of_the_other() {
    let present_keys = keys(0..50_000);
    let absent_keys = Keys::new((0..ABSENT).map(absent));
    for bits_per_key in [1.0, 6.5, 10.0, 17.0, 30.0] {
        let rocksdb = named(&format!("bloomfilter:{bits_per_key}"));
        let ours = Policy::of(&FilterPolicy::blocked(bits_per_key).unwrap()).unwrap();
        for block in [rocksdb.build(&present_keys), ours.build(&present_keys)] {
            let (theirs, ours) = (rocksdb.reader(&block), ours.reader(&block));
            assert_eq!(ours.count(&present_keys), present_keys.len());
            assert_eq!(theirs.count(&present_keys), present_keys.len());
            assert_eq!(ours.count_batched(&present_keys, 32), present_keys.len());
            let answers = theirs.answers(&absent_keys);
            assert!(ours.answers(&absent_keys) == answers, "{bits_per_key} bits");
            assert!(ours.answers_batched(&absent_keys, 32) == answers, "{bits_per_key} bits, batched");
            assert!(answers.iter().any(|maybe| !maybe));
        }
    }
}

#[test]
fn batches_of_every_size_answer_as_single_lookups() {
    for id in ["bloomline:blocked:4", "bloomline:compact:0.01", "bloomline:compact:0.0001"] {
        let policy = named(id);
        let block = policy.build(&keys(0..5_000));
        let reader = policy.reader(&block);
        let mixed = Keys::new((0..2_000).map(|i| if i % 3 == 0 { present(i) } else { absent(i) }));
        let single = reader.answers(&mixed);
        for batch in 1..=32 {
            assert_eq!(reader.answers_batched(&mixed, batch), single, "{id}, {batch}");
        }
    }
}

/// What the benchmark asks for, of the plugin's readers and of RocksDB's.
#[test]
fn ready_hashes_get_the_answers_of_their_keys() {
    let present_keys = keys(0..5_000);
    let asked: Vec<_> = (0..5_000).map(present).chain((0..20_000).map(absent)).collect();
    for id in ["bloomline:blocked:10", "bloomline:compact:0.01", "bloomfilter:10", "ribbonfilter:10:-1"] {
        let policy = named(id);
        let block = policy.build(&present_keys);
        let reader = policy.reader(&block);
        let answers = reader.answers(&Keys::new(&asked));
        let hashes: Vec<u64> = asked.iter().map(|key| key_hash(key)).collect();
        for (hash, answer) in hashes.chunks(1).zip(&answers) {
            assert_eq!(reader.count_hashes(hash), usize::from(*answer), "{id}");
        }
        let maybe = answers.iter().filter(|answer| **answer).count();
        assert_eq!(reader.count_hashes(&hashes), maybe, "{id}");
        assert!((5_001..6_000).contains(&maybe), "{id}: {maybe}");
    }
}

#[test]
fn blocks_are_read_at_every_address() {
    for sort in SORTS {
        let policy = of(sort);
        let present_keys = keys(0..1_000);
        let absent_keys = Keys::new((0..1_000).map(absent));
        let block = policy.build(&present_keys);
        let expected = policy.reader(&block).answers(&absent_keys);
        for offset in 0..64 {
            let mut moved = vec![0xff; offset];
            moved.extend_from_slice(&block);
            let reader = policy.reader(&moved[offset..]);
            assert_eq!(reader.count(&present_keys), present_keys.len());
            assert_eq!(reader.answers(&absent_keys), expected, "{sort:?}, offset {offset}");
        }
    }
}

#[test]
fn the_rate_is_the_one_that_the_model_expects() {
    let absent_keys = Keys::new((0..ABSENT).map(absent));
    let ids = [
        "blocked:5",
        "blocked:8",
        "blocked:10",
        "blocked:14",
        "compact:0.1",
        "compact:0.01",
        "compact:0.003",
    ];
    for id in ids {
        let policy = named(&format!("bloomline:{id}"));
        let present_keys = keys(0..100_000);
        let block = policy.build(&present_keys);
        #[expect(clippy::cast_precision_loss, reason = "at most a million")]
        let measured = policy.reader(&block).count(&absent_keys) as f64 / ABSENT as f64;
        let estimate = policy.builder(1, false).unwrap().estimated_rate(present_keys.len(), block.len());
        let from_bits = inspect::block(&block).rate.unwrap();
        assert!((measured / estimate - 1.0).abs() < 0.06, "{id}: {measured}, expected {estimate}");
        assert!((measured / from_bits - 1.0).abs() < 0.06, "{id}: {measured}, by its bits {from_bits}");
    }
}

/// Sorted keys with prefixes, as a table gives them, and calls in any order, as the interface allows.
#[test]
fn repeats_are_dropped_as_rocksdb_drops_them() {
    let mut random = Random::new(0x5EED);
    for round in 0..2_000 {
        // Of so few keys, both are blocked filters.
        let sort = SORTS[round % 2];
        let (ours, theirs) = (of(sort), named("bloomfilter:10"));
        let (mut ours, mut theirs) = (ours.builder(1, false).unwrap(), theirs.builder(1, false).unwrap());
        // Two partitions from each builder: the second must not remember the first.
        for partition in 0..2 {
            let mut key = 0_u64;
            for _ in 0..random.below(40) {
                // Small steps, so that keys repeat, equal prefixes, and are their own prefixes.
                key += random.below(3);
                let key = if random.below(8) == 0 { random.below(4) } else { key }.to_be_bytes();
                let key = &key[..8 - random.index(2)];
                let prefix = &key[..random.index(key.len() + 1)];
                if random.below(2) == 0 {
                    ours.add_with_alt(key, prefix);
                    theirs.add_with_alt(key, prefix);
                } else {
                    let keys = Keys::new([key]);
                    ours.add(&keys);
                    theirs.add(&keys);
                }
                assert_eq!(ours.entries(), theirs.entries(), "round {round}, partition {partition}");
            }
            let same = ours.finish() == theirs.finish();
            assert!(same || !sort.stock, "round {round}, partition {partition}");
            assert_eq!(ours.entries(), 0);
        }
    }
}

#[test]
fn sizes_are_those_of_rocksdb() {
    for bits_per_key in [1.0, 6.667, 9.9, 10.0, 15.5, 100.0] {
        let ours = plugin(bits_per_key, 6).builder(1, false).unwrap();
        let theirs = named(&format!("bloomfilter:{bits_per_key}")).builder(1, false).unwrap();
        for entries in (0..300).chain([4_096, 1_000_000, 400_000_000, 4_000_000_000]) {
            assert_eq!(ours.space(entries), theirs.space(entries), "{entries} at {bits_per_key}");
            assert!(ours.approximate_entries(ours.space(entries)) >= entries.min(340_000_000));
        }
        for bytes in (70..1_000).chain([4_096, 1 << 20, 1 << 32, 1 << 40]) {
            assert_eq!(ours.approximate_entries(bytes), theirs.approximate_entries(bytes), "{bytes} bytes");
        }
        // Where RocksDB subtracts beyond zero, these are simply none.
        assert!((0..69).all(|bytes| ours.approximate_entries(bytes) == 0));
    }
}

#[test]
fn keys_of_every_length_and_value() {
    let mut random = Random::new(0x1E46);
    let keys: Vec<Vec<u8>> = (0..300)
        .map(|len| (0..len).map(|_| random.byte()).collect())
        .chain((0..=255).map(|byte| vec![byte]))
        .chain([vec![0xff; 100_000], "schlüssel 🔑".into()])
        .collect();
    let theirs = named("bloomfilter:10");
    let keys = Keys::new(keys);
    for ours in SORTS.map(of) {
        let block = ours.build(&keys);
        assert_eq!(ours.reader(&block).count(&keys), keys.len());
        assert_eq!(theirs.reader(&block).count(&keys), keys.len());
    }
    assert_eq!(of(SORTS[0]).build(&keys), theirs.build(&keys));
}

#[test]
fn a_builder_without_keys_gives_an_empty_block() {
    for policy in SORTS.map(of) {
        let mut builder = policy.builder(1, true).unwrap();
        assert_eq!(builder.entries(), 0);
        assert_eq!(builder.finish(), Some(&[][..]));
        assert!(builder.verify(&[]));
        // And reading nothing denies nothing.
        assert_eq!(policy.reader(&[]).count(&keys(0..10)), 10);
    }
}

#[test]
fn filters_of_rocksdb_s_other_kinds_work_through_the_plugin() {
    let present_keys = keys(0..20_000);
    let absent_keys = Keys::new((0..100_000).map(absent));
    let policy = FilterPolicy::blocked(10.0).unwrap();
    let ours = Policy::of(&policy).unwrap();
    for id in ["ribbonfilter:10:-1", "rocksdb.internal.LegacyBloomFilter:10", "ribbonfilter:1.2:-1"] {
        let theirs = named(id);
        let block = theirs.build(&present_keys);
        let before = policy.counters();
        let (ours, theirs) = (ours.reader(&block), theirs.reader(&block));
        assert_eq!(ours.count(&present_keys), present_keys.len());
        let answers = theirs.answers(&absent_keys);
        assert_eq!(ours.answers(&absent_keys), answers, "{id}");
        assert!(answers.iter().any(|maybe| !maybe), "{id}");
        assert_eq!(policy.counters().readers_delegated, before.readers_delegated + 1, "{id}");
    }
    assert_eq!(policy.counters().readers_fell_open, 0);
}

/// Whatever the bytes are, nothing is read outside them and no reader denies what RocksDB's would not.
#[test]
fn damaged_blocks_let_every_key_through_and_are_counted() {
    let policy = FilterPolicy::blocked(10.0).unwrap();
    let ours = Policy::of(&policy).unwrap();
    let present_keys = keys(0..200);
    let block = ours.build(&present_keys);
    let mut damaged: Vec<Vec<u8>> = (1..block.len()).map(|len| block[..len].to_vec()).collect();
    damaged.extend((1..block.len()).map(|cut| block[cut..].to_vec()).filter(|rest| rest.len() % 64 != 5));
    for (byte, value) in [(4, 0), (4, 0x80), (3, 1), (2, 0), (2, 31), (2, 0x26), (1, 9), (0, 1)] {
        let mut wrong = block.clone();
        let at = wrong.len() - 1 - byte;
        wrong[at] = value;
        damaged.push(wrong);
    }
    for wrong in &damaged {
        let before = policy.counters().readers_fell_open;
        let reader = ours.reader(wrong);
        assert!(!reader.is_open(), "{:?}", wrong.last_chunk::<5>());
        assert_eq!(reader.count(&present_keys), present_keys.len());
        assert_eq!(policy.counters().readers_fell_open, before + 1);
    }
}

/// The shim keeps hashes in chunks of 8,192 and their memory from one partition to the next.
#[test]
fn one_builder_makes_filter_after_filter_of_any_size() {
    const CHUNK: u64 = 8_192;
    let sizes = [3 * CHUNK + 5, 1, CHUNK, CHUNK + 1, CHUNK - 1, 2 * CHUNK, 200, 4 * CHUNK - 1, CHUNK];
    for (sort, detect) in SORTS.into_iter().flat_map(|sort| [(sort, true), (sort, false)]) {
        let policy = of(sort);
        let mut builder = policy.builder(1, detect).unwrap();
        let mut first = 0;
        for size in sizes {
            let keys = keys(first..first + size);
            builder.add(&keys);
            assert_eq!(builder.entries() as u64, size);
            let block = builder.finish().map(<[u8]>::to_vec).unwrap();
            assert!(builder.verify(&block), "{size} keys, {}", sort.id);
            assert_eq!(policy.reader(&block).count(&keys) as u64, size, "{}", sort.id);
            assert!(block == policy.build(&keys), "{size} keys, {}", sort.id);
            assert_eq!(builder.entries(), 0);
            first += size;
        }
    }
}

#[test]
fn detection_of_corruption_finds_a_hash_that_changed_in_memory() {
    for (sort, detect) in SORTS.into_iter().flat_map(|sort| [(sort, true), (sort, false)]) {
        let mut builder = of(sort).builder(1, detect).unwrap();
        builder.add(&keys(0..1_000));
        assert!(builder.damage());
        assert_eq!(builder.finish().is_none(), detect);
        assert_eq!(builder.entries(), 0);
        // The builder is as new.
        builder.add(&keys(0..1_000));
        let block = builder.finish().map(<[u8]>::to_vec).unwrap();
        assert!(builder.verify(&block));
    }
}

#[test]
fn detection_of_corruption_finds_every_lost_bit() {
    let policy = plugin(10.0, 6);
    let keys = keys(0..60);
    let mut builder = policy.builder(1, true).unwrap();
    let mut lost = 0;
    let sound = policy.build(&keys);
    for bit in 0..sound.len() * 8 {
        builder.add(&keys);
        let mut block = builder.finish().unwrap().to_vec();
        assert!(block == sound);
        let was_set = block[bit / 8] & (1 << (bit % 8)) != 0;
        block[bit / 8] ^= 1 << (bit % 8);
        // A bit too many in the lines denies nobody; anything else is found.
        let harmless = bit / 8 < sound.len() - 5 && !was_set;
        assert_eq!(builder.verify(&block), harmless, "bit {bit}");
        lost += usize::from(!harmless);
    }
    assert!(lost > 40 && lost < sound.len() * 8 / 2);
    // Without the option, nothing is verified.
    let mut builder = policy.builder(1, false).unwrap();
    builder.add(&keys);
    let mut block = builder.finish().unwrap().to_vec();
    block.fill(0);
    assert!(builder.verify(&block));
}

#[test]
fn levels_choose_the_builder() {
    let policy = named(
        "bloomline:levels:L0/blocked:20,L1/rocksdb-ribbon:10,L2/rocksdb-bloom:5,L3/none,L5/compact:0.01,else/blocked:8",
    );
    let keys = keys(0..10_000);
    let block = |level| {
        let mut builder = policy.builder(level, false)?;
        builder.add(&keys);
        builder.finish().map(<[u8]>::to_vec)
    };
    assert!(matches!(inspect::classify(&block(0).unwrap()), Kind::Blocked { lines, .. } if lines == 391));
    assert!(matches!(inspect::classify(&block(1).unwrap()), Kind::Ribbon { .. }));
    assert!(matches!(inspect::classify(&block(2).unwrap()), Kind::Blocked { lines: 98, probes: 3 }));
    assert!(block(3).is_none());
    assert!(matches!(inspect::classify(&block(4).unwrap()), Kind::Blocked { lines: 157, probes: 5 }));
    assert!(matches!(
        inspect::classify(&block(5).unwrap()),
        Kind::Compact { keys: 10_000, fingerprint_bits: 7, .. }
    ));
    assert!(matches!(inspect::classify(&block(-1).unwrap()), Kind::Blocked { lines: 157, probes: 5 }));
}
