//! Compact filters as blocks: built, written, opened, refused.

use bloomline::error::{CompactBodyError, FormatError, MergeError, SizingError};
use bloomline::filter::open_any;
use bloomline::format::{HEADER_BYTES, Kind, crc32};
use bloomline::{Budget, FilterBuilder, FilterOptions, FilterReader, Hashers};

fn key(i: u64) -> [u8; 8] {
    i.to_be_bytes()
}

fn build(options: FilterOptions, keys: u64) -> Vec<u8> {
    let mut builder = FilterBuilder::new(options);
    for i in 0..keys {
        builder.add(&key(i));
    }
    builder.finish().unwrap()
}

fn compact() -> FilterOptions {
    FilterOptions::default().kind(Kind::Compact)
}

/// Writes bytes into a block and mends both checksums, as an attacker would.
fn edited(block: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut block = block.to_vec();
    block[at..at + bytes.len()].copy_from_slice(bytes);
    let body = crc32(&block[HEADER_BYTES..]);
    block[40..44].copy_from_slice(&body.to_le_bytes());
    let header = crc32(&block[..44]);
    block[44..48].copy_from_slice(&header.to_le_bytes());
    block
}

#[test]
fn every_key_is_found_and_the_rate_is_that_of_the_fingerprint() {
    for (fpp, bits) in [(0.01, 7), (1.0 / 256.0, 8), (0.06, 5)] {
        let block = build(compact().budget(Budget::Fpp(fpp)), 50_000);
        let reader = FilterReader::open(&block, &Hashers::new()).unwrap();
        assert_eq!((reader.kind(), reader.count(), reader.header().probes), (Kind::Compact, 50_000, bits));
        assert!((0..50_000).all(|i| reader.might_contain(&key(i))));

        let absent: Vec<[u8; 8]> = (50_000..550_000).map(key).collect();
        let mut answers = vec![true; absent.len()];
        reader.might_contain_batch(&absent, &mut answers);
        let one_by_one: Vec<bool> = absent.iter().map(|key| reader.might_contain(key)).collect();
        assert_eq!(answers, one_by_one);
        let measured = answers.iter().filter(|&&maybe| maybe).count() as f64 / absent.len() as f64;
        let expected = reader.expected_fpp();
        assert_eq!(expected, 0.5_f64.powi(bits.into()));
        assert!((measured / expected - 1.0).abs() < 0.08, "{measured} instead of {expected}");
        assert!(block.len() as f64 * 8.0 / 50_000.0 < f64::from(bits) * 1.08);
    }
}

#[test]
fn threads_and_order_do_not_change_the_bytes() {
    let expected = build(compact(), 60_000);
    assert_eq!(build(compact().threads(3), 60_000), expected);
    let mut builder = FilterBuilder::new(compact());
    for i in (0..60_000).rev().chain(0..500) {
        builder.add(&key(i));
    }
    assert_eq!(builder.finish().unwrap(), expected);
}

#[test]
fn no_keys_and_few_keys() {
    let empty = build(compact(), 0);
    assert_eq!(empty.len(), HEADER_BYTES);
    assert!(!FilterReader::open(&empty, &Hashers::new()).unwrap().might_contain(&key(0)));
    for keys in [1, 2, 10, 50, 100, 300] {
        let block = build(compact(), keys);
        let reader = FilterReader::open(&block, &Hashers::new()).unwrap();
        assert!((0..keys).all(|i| reader.might_contain(&key(i))), "{keys} keys");
    }
}

#[test]
fn a_budget_of_bits_buys_the_most_fingerprint_bits_that_fit() {
    for (bits_per_key, fingerprint) in [(8.0, 7), (9.0, 8), (5.0, 4), (20.0, 16)] {
        let block = build(compact().budget(Budget::BitsPerKey(bits_per_key)), 20_000);
        assert_eq!(block[6], fingerprint, "{bits_per_key} bits per key");
        assert!((block.len() - HEADER_BYTES) as f64 * 8.0 / 20_000.0 <= bits_per_key * 1.005);
    }
    let error = compact().budget(Budget::BitsPerKey(3.0)).estimate(20_000).unwrap_err();
    assert!(matches!(error, SizingError::BitsPerKeyTooFew { .. }), "{error}");
}

#[test]
fn a_lower_load_takes_more_space_and_gives_the_same_answers() {
    let (tight, loose) = (build(compact(), 30_000), build(compact().compact_load(90), 30_000));
    assert!(loose.len() > tight.len());
    let loose = FilterReader::open(&loose, &Hashers::new()).unwrap();
    assert!((0..30_000).all(|i| loose.might_contain(&key(i))));
}

#[test]
fn an_owned_copy_answers_and_takes_no_keys() {
    let block = build(compact(), 1000);
    let mut any = open_any(&block, &Hashers::new()).unwrap();
    assert!((0..1000).all(|i| any.membership().might_contain(&key(i))));
    assert_eq!(any.membership().encode(), block);
    let other = FilterReader::open(&block, &Hashers::new()).unwrap();
    assert!(matches!(any.merge_reader(&other), Err(MergeError::Static)));
    assert!(any.into_filter().is_none());
    // A merge of one shard is refused like a merge of many.
    assert!(matches!(bloomline::Merger::new().add(&other), Err(MergeError::Static)));
}

/// What is refused of a header and a directory, by its error; `tests/damaged_fields.rs` tries every value of every
/// field.
#[test]
fn blocks_whose_numbers_lie() {
    let block = build(compact(), 5_000);
    let hashers = Hashers::new();
    let refused = |block: Vec<u8>| FilterReader::open(block, &hashers).err();
    for bits in [0, 3, 17, 255] {
        let error = refused(edited(&block, 6, &[bits]));
        assert!(matches!(error, Some(FormatError::Parameters { .. })), "{bits}: {error:?}");
    }
    // The last line holds the directory.
    let last = block.len() - 64;
    let mut zeroed = block.clone();
    zeroed[last..].fill(0);
    let error = refused(edited(&zeroed, 0, &[]));
    assert!(
        matches!(error, Some(FormatError::Compact(CompactBodyError::Layers { layers: 1, .. }))),
        "{error:?}"
    );
}
