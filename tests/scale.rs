//! Sizes past 32 bits: filters of more than 2³² bits and of more than 4 GiB, a table file of more than 2³² bytes, and
//! numbers of keys that no machine holds.
//!
//! ```text
//! make scale
//! ```
//!
//! The big ones are ignored in an ordinary run: they take 12 GiB of memory, 6 of disk and some minutes.

use bloomline::error::{FilterError, SizingError};
use bloomline::format::Kind;
use bloomline::sizing::{BlockedParams, ClassicParams, CompactParams};
use bloomline::table::write_filter_file;
use bloomline::{
    AtomicBlockedFilter, BlockedFilter, Budget, ClassicFilter, FilterBuilder, FilterOptions, FilterReader,
    Hashers, KeyHash, TableOptions, TableReader, TableWriter,
};

/// More bits than a 32-bit byte count can say: 5 GiB.
const BITS: u64 = 5 << 33;
const KEYS: u64 = 3_000_000;

/// A permutation of 64-bit numbers (splitmix64): distinct counters give distinct random hashes.
fn hash(counter: u64) -> KeyHash {
    let z = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    KeyHash::new(z ^ (z >> 31))
}

fn hashes(from: u64, count: u64) -> Vec<KeyHash> {
    (from..from + count).map(hash).collect()
}

/// How many of the hashes the reader lets through, asked one by one and in a batch.
fn passed<B: AsRef<[u8]>>(reader: &FilterReader<B>, hashes: &[KeyHash]) -> usize {
    let mut answers = vec![false; hashes.len()];
    reader.might_contain_hashes(hashes, &mut answers);
    let each = hashes.iter().map(|&hash| reader.might_contain_hash(hash));
    assert!(each.eq(answers.iter().copied()), "one by one and in batches alike");
    answers.into_iter().filter(|&answer| answer).count()
}

#[test]
#[ignore = "takes 12 GiB of memory and 6 of disk: make scale"]
fn a_blocked_filter_past_four_gibibytes() {
    let present = hashes(0, KEYS);
    let mut filter = BlockedFilter::new(BlockedParams::explicit(BITS, 6).unwrap()).unwrap();
    let (one, rest) = present.split_at(present.len() / 3);
    let (batch, parallel) = rest.split_at(rest.len() / 2);
    one.iter().for_each(|&hash| assert!(filter.add_hash(hash)));
    filter.add_hashes(batch);
    filter.add_hashes_parallel(parallel, 2);
    assert_eq!(filter.count(), KEYS);
    // Keys lie in every part of it, past 4 GiB too, and so few of them that hardly any absent key passes.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    let bytes = write_filter_file(&path, &filter).unwrap();
    assert!(bytes > 5 << 30);
    let shared = AtomicBlockedFilter::from(filter);
    let more = hashes(1 << 40, 1000);
    more.iter().for_each(|&hash| assert!(shared.add_hash(hash)));
    assert!(more.iter().chain(&present).all(|&hash| shared.might_contain_hash(hash)));
    drop(shared);
    let table = TableReader::open(&path, &Hashers::new()).unwrap();
    let reader = table.filter().unwrap();
    assert_eq!((reader.count(), passed(reader, &present)), (KEYS, present.len()));
    assert!(passed(reader, &hashes(2 << 40, KEYS)) < 10);
    println!("blocked: {bytes} bytes, {KEYS} keys found, mapped and verified");
}

#[test]
#[ignore = "takes 12 GiB of memory and 6 of disk: make scale"]
fn a_classic_filter_past_four_gibibytes() {
    let present = hashes(0, KEYS);
    let mut filter = ClassicFilter::new(ClassicParams::explicit(BITS + 1, 7).unwrap()).unwrap();
    filter.add_hashes(&present);
    assert_eq!(filter.count(), KEYS);
    let block = filter.encode();
    drop(filter);
    let reader = FilterReader::open(&block, &Hashers::new()).unwrap();
    assert_eq!(passed(&reader, &present), present.len());
    assert!(passed(&reader, &hashes(2 << 40, KEYS)) < 10);
    println!("classic: {} bytes, {KEYS} keys found", block.len());
}

#[test]
#[ignore = "takes 12 GiB of memory and 6 of disk: make scale"]
fn a_compact_filter_past_two_to_the_32_bits() {
    // 17.9 bits per key at 16 fingerprint bits.
    let keys = 260_000_000;
    let options = FilterOptions::default().kind(Kind::Compact).budget(Budget::Fpp(0.5_f64.powi(16)));
    let mut builder = FilterBuilder::new(options);
    builder.try_reserve(260_000_000).unwrap();
    (0..keys).for_each(|i| builder.add_hash(hash(i)));
    let block = builder.finish().unwrap();
    assert!(block.len() as u64 * 8 > 1 << 32);
    let reader = FilterReader::open(&block, &Hashers::new()).unwrap();
    for from in (0..keys).step_by(10_000_000) {
        assert_eq!(passed(&reader, &hashes(from, 10_000_000)), 10_000_000, "from {from}");
    }
    let wrong = passed(&reader, &hashes(1 << 40, 40_000_000)) as f64 / 40e6 * 65_536.0;
    assert!((wrong - 1.0).abs() < 0.2, "{wrong}");
    println!("compact: {} bits, {keys} keys found, {wrong:.3}·2⁻¹⁶ of the absent ones", block.len() * 8);
}

#[test]
#[ignore = "takes 12 GiB of memory and 6 of disk: make scale"]
fn a_table_past_two_to_the_32_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let entries = 1_100_000_u64;
    let value = |i: u64| {
        let mut value = vec![i.to_le_bytes()[0]; 4096];
        value[..8].copy_from_slice(&i.to_le_bytes());
        value
    };
    let mut writer = TableWriter::create(&path, TableOptions::default()).unwrap();
    for i in 0..entries {
        writer.add(&(2 * i).to_be_bytes(), &value(i)).unwrap();
    }
    writer.finish().unwrap();
    let table = TableReader::open(&path, &Hashers::new()).unwrap();
    assert!(table.file_bytes() > 1 << 32);
    for i in (0..entries).step_by(997).chain([entries - 1]) {
        assert_eq!(table.get(&(2 * i).to_be_bytes()).unwrap(), Some(&value(i)[..]));
        assert_eq!(table.get(&(2 * i + 1).to_be_bytes()).unwrap(), None);
    }
    assert_eq!(table.iter().unwrap().map(Result::unwrap).count() as u64, entries);
    println!("table: {} bytes, {entries} entries read", table.file_bytes());
}

/// The numbers are right, or the error says what is too much; nothing wraps, and nothing is allocated that isn't there.
#[test]
fn a_trillion_keys_are_sized_or_refused() {
    let keys = 1_000_000_000_000;
    // 2³⁰ lines, 64 GiB, are the most of one blocked filter.
    let blocked = BlockedParams::for_fpp(keys, 0.01);
    assert!(matches!(blocked, Err(SizingError::TooLarge { .. })), "{blocked:?}");
    let blocked = BlockedParams::for_fpp(50_000_000_000, 0.01).unwrap();
    assert!((9.8..10.1).contains(&(blocked.bits() as f64 / 5e10)), "{blocked:?}");

    let classic = ClassicParams::for_fpp(keys, 0.01).unwrap();
    assert!((9.58..9.60).contains(&(classic.bits() as f64 / 1e12)), "{classic:?}");
    let Err(FilterError::OutOfMemory { bytes, .. }) = ClassicFilter::new(classic) else {
        panic!("1.2 TB of memory");
    };
    assert!((1_190_000_000_000..1_210_000_000_000).contains(&bytes), "{bytes}");

    let compact = CompactParams::for_fpp(0.01).unwrap().model(keys);
    assert!((7.3..7.5).contains(&compact.bits_per_key), "{compact:?}");
    assert!((910_000_000_000..930_000_000_000).contains(&compact.bytes), "{compact:?}");
    assert!(FilterBuilder::new(FilterOptions::default()).try_reserve(1 << 40).is_err());
    for keys in [1_u64 << 60, u64::MAX] {
        assert!(BlockedParams::for_fpp(keys, 0.01).is_err());
        assert!(ClassicParams::for_fpp(keys, 0.01).map_or(true, |params| params.bits() > keys));
        assert!(CompactParams::for_fpp(0.01).unwrap().model(keys).bytes > keys / 2);
    }
}
