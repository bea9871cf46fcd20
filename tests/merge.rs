//! Merging: what is united, what is refused and by which name, and how good the count is afterwards.

use bloomline::error::MergeError;
use bloomline::filter::Schema;
use bloomline::format::{Header, Kind, crc32};
use bloomline::hash::{Hasher, HasherId, SecretKey};
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    BlockedFilter, ClassicFilter, FilterReader, Hashers, Membership, Merger, ScalableFilter, filter::Bloom,
};
use proptest::prelude::*;

fn with_keys<P: Schema>(params: P, keys: std::ops::Range<u32>) -> Bloom<P> {
    let mut filter = Bloom::new(params).unwrap();
    keys.for_each(|i| _ = filter.add(&i.to_le_bytes()));
    filter
}

fn reader(filter: &impl Membership) -> FilterReader<Vec<u8>> {
    FilterReader::open(filter.encode(), &Hashers::new()).unwrap()
}

fn body<P: Schema>(filter: &Bloom<P>) -> Vec<u8> {
    filter.encode()[48..].to_vec()
}

fn union_is_the_filter_of_all_keys<P: Schema>(params: P, ours: &[u32], theirs: &[u32]) {
    let of = |keys: &[&[u32]]| {
        let mut filter = Bloom::new(params).unwrap();
        keys.concat().iter().for_each(|i| _ = filter.add(&i.to_le_bytes()));
        filter
    };
    let (a, b, all) = (of(&[ours]), of(&[theirs]), of(&[ours, theirs]));
    let mut merged = of(&[ours]);
    merged.merge(&b).unwrap();
    assert_eq!(body(&merged), body(&all));
    assert!(merged.count() >= a.count().max(b.count()) && merged.count() <= a.count() + b.count());
    let mut from_block = of(&[ours]);
    from_block.merge_reader(&reader(&b)).unwrap();
    assert_eq!(from_block.encode(), merged.encode());
    // The other way round it is the same.
    let mut reverse = of(&[theirs]);
    reverse.merge(&a).unwrap();
    assert_eq!(reverse.encode(), merged.encode());
}

proptest! {
    #[test]
    fn a_union_is_bit_for_bit_the_filter_of_all_keys(
        ours in prop::collection::vec(0..500_u32, 0..200),
        theirs in prop::collection::vec(0..500_u32, 0..200),
        bits in 1..3000_u64,
        probes in 1..12_u32,
    ) {
        union_is_the_filter_of_all_keys(ClassicParams::explicit(bits, probes).unwrap(), &ours, &theirs);
        let lines = bits.div_ceil(512) * 512;
        union_is_the_filter_of_all_keys(BlockedParams::explicit(lines, probes).unwrap(), &ours, &theirs);
    }
}

#[test]
fn the_count_after_a_merge_is_estimated_within_one_and_a_half_percent() {
    fn check<P: Schema>(params: P) {
        // Half of the second filter's keys are in the first too.
        let mut merged = with_keys(params, 0..60_000);
        merged.merge(&with_keys(params, 30_000..100_000)).unwrap();
        let off = merged.count() as f64 / 100_000.0 - 1.0;
        println!("{params:?}: off by {:.3}%", off * 100.0);
        assert!(off.abs() < 0.015, "{params:?}: {off}");
    }
    for bits_per_key in [6.0, 10.0, 16.0] {
        check(BlockedParams::for_bits_per_key(100_000, bits_per_key).unwrap());
        check(ClassicParams::for_bits_per_key(100_000, bits_per_key).unwrap());
    }
}

#[test]
fn merging_with_itself_or_a_part_changes_nothing() {
    let params = BlockedParams::for_fpp(1000, 0.01).unwrap();
    let mut filter = with_keys(params, 0..1000);
    let before = filter.encode();
    let same = reader(&filter);
    filter.merge_reader(&same).unwrap();
    filter.merge(&with_keys(params, 0..1000)).unwrap();
    filter.merge(&with_keys(params, 100..200)).unwrap();
    filter.merge(&Bloom::new(params).unwrap()).unwrap();
    assert_eq!(filter.encode(), before);
    let mut part = with_keys(params, 100..200);
    part.merge(&filter).unwrap();
    assert_eq!(part.encode(), before);
}

#[test]
fn a_block_of_no_keys_changes_nothing_and_needs_only_kind_and_hasher() {
    let mut filter = with_keys(BlockedParams::for_fpp(1000, 0.01).unwrap(), 0..1000);
    let before = filter.encode();
    let empty = |kind, hasher: Hasher| {
        FilterReader::open(Header::empty(kind, hasher.identity()).encode(), &Hashers::new()).unwrap()
    };
    filter.merge_reader(&empty(Kind::Blocked, Hasher::default())).unwrap();
    assert_eq!(filter.encode(), before);
    let error = filter.merge_reader(&empty(Kind::Classic, Hasher::default())).unwrap_err();
    assert!(matches!(error, MergeError::Kind { expected: Kind::Blocked, got: Kind::Classic }));
    let error = filter.merge_reader(&empty(Kind::Blocked, Hasher::xxh3_64(7))).unwrap_err();
    assert!(matches!(error, MergeError::Seed { expected: 0, got: 7 }));
}

#[test]
fn what_differs_is_refused_by_its_name_and_nothing_is_changed() {
    let params = ClassicParams::explicit(10_000, 7).unwrap();
    let mut filter = with_keys(params, 0..100);
    let before = filter.encode();
    let mut refused = |other: ClassicFilter| {
        let error = filter.merge(&other).unwrap_err();
        let from_block = filter.merge_reader(&{
            let hashers = Hashers::new().with_application(other.hasher().clone());
            let mut other = other;
            other.add(b"key");
            FilterReader::open(other.encode(), &hashers).unwrap()
        });
        assert_eq!(from_block.unwrap_err().to_string(), error.to_string());
        assert_eq!(filter.encode(), before);
        error
    };
    let of = |bits, probes| ClassicFilter::new(ClassicParams::explicit(bits, probes).unwrap()).unwrap();
    let hashed = |hasher| ClassicFilter::with_hasher(params, hasher).unwrap();

    let error = refused(of(10_001, 7));
    assert!(matches!(error, MergeError::Bits { expected: 10_000, got: 10_001 }));
    assert_eq!(error.to_string(), "can't merge: `bits` differs, 10000 and 10001");
    assert!(matches!(refused(of(9_999, 7)), MergeError::Bits { got: 9_999, .. }));
    assert!(matches!(refused(of(10_000, 8)), MergeError::Probes { expected: 7, got: 8 }));
    assert!(matches!(
        refused(hashed(Hasher::murmur3_x64_128(0))),
        MergeError::Hasher { expected: HasherId::XXH3_64, got: HasherId::MURMUR3_X64_128 }
    ));
    assert!(matches!(refused(hashed(Hasher::xxh3_64(1))), MergeError::Seed { expected: 0, got: 1 }));

    let keyed = |byte| hashed(Hasher::siphash_2_4(SecretKey::from_bytes([byte; 16])));
    let (mut one, other) = (keyed(1), keyed(2));
    assert!(matches!(one.merge(&other).unwrap_err(), MergeError::Check { .. }));
}

#[test]
fn a_count_that_lies_can_not_overflow() {
    let params = BlockedParams::explicit(1024, 3).unwrap();
    let mut block = with_keys(params, 0..10).encode();
    block[16..24].fill(0xFF);
    let crc = crc32(&block[..44]);
    block[44..48].copy_from_slice(&crc.to_le_bytes());
    let mut merged = with_keys(params, 5..50);
    merged.merge_reader(&FilterReader::open(&block, &Hashers::new()).unwrap()).unwrap();
    assert_eq!(merged.count(), u64::MAX);
    let mut decoded = BlockedFilter::decode(&block, &Hashers::new()).unwrap();
    assert!((0..500_u32).any(|i| decoded.add(&i.to_le_bytes())));
    assert_eq!(decoded.count(), u64::MAX);
}

/// A block that says "0 keys" over bits that are set: the bits decide, or saving it again would lose its keys.
#[test]
fn keys_that_were_not_counted_are_saved_all_the_same() {
    let mut block = with_keys(BlockedParams::explicit(1024, 3).unwrap(), 0..10).encode();
    block[16..24].fill(0);
    let crc = crc32(&block[..44]);
    block[44..48].copy_from_slice(&crc.to_le_bytes());
    let decoded = BlockedFilter::decode(&block, &Hashers::new()).unwrap();
    assert_eq!(decoded.encode(), block);
    assert!(reader(&decoded).might_contain(&3_u32.to_le_bytes()));
}

#[test]
fn any_number_of_blocks_in_the_memory_of_one() {
    let params = BlockedParams::for_fpp(10_000, 0.01).unwrap();
    let empty = reader(&BlockedFilter::new(params).unwrap());
    let mut merger = Merger::new();
    merger.add(&empty).unwrap();
    merger.add(&empty).unwrap();
    for shard in 0..10_u32 {
        merger.add(&reader(&with_keys(params, shard * 1000..(shard + 1) * 1000))).unwrap();
        merger.add(&empty).unwrap();
    }
    let error = merger.add(&reader(&with_keys(ClassicParams::explicit(1000, 7).unwrap(), 0..9))).unwrap_err();
    assert!(matches!(error, MergeError::Kind { expected: Kind::Blocked, got: Kind::Classic }));
    let merged = merger.finish().unwrap();
    assert_eq!(merged.membership().encode()[48..], body(&with_keys(params, 0..10_000)));
    let off = merged.membership().count() as f64 / 10_000.0 - 1.0;
    assert!(off.abs() < 0.015, "{off}");

    assert!(Merger::new().finish().is_none());
    let mut only_empty = Merger::new();
    only_empty.add(&empty).unwrap();
    let other = Header::empty(Kind::Blocked, Hasher::fnv1a_64().identity()).encode();
    let error = only_empty.add(&FilterReader::open(other, &Hashers::new()).unwrap()).unwrap_err();
    assert!(matches!(error, MergeError::Hasher { .. }));
    assert_eq!(only_empty.finish().unwrap().membership().encode(), empty.encode());
}

fn scalable(params: ScalableParams, keys: std::ops::Range<u32>) -> ScalableFilter<BlockedParams> {
    let mut filter = ScalableFilter::blocked(params).unwrap();
    keys.for_each(|i| _ = filter.add(&i.to_le_bytes()));
    filter
}

#[test]
fn scalable_filters_merge_where_their_layers_match() {
    let params = ScalableParams::new(100, 0.01).unwrap();
    let mut merged = scalable(params, 0..600);
    merged.merge(&scalable(params, 600..1200)).unwrap();
    merged.merge_reader(&reader(&scalable(params, 300..900))).unwrap();
    assert_eq!(merged.layers().len(), 3);
    assert!((0..1200_u32).all(|i| merged.might_contain(&i.to_le_bytes())));
    // 1200 keys in layers for 700 is more than the target, and the filter says so.
    assert!(merged.expected_fpp() > 0.01);
    // The next new key needs a layer.
    (0..).find(|i: &u32| merged.add(&(i + 10_000).to_le_bytes())).unwrap();
    assert_eq!(merged.layers().len(), 4);

    let mut filter = scalable(params, 0..600);
    let mut refused = |other: &ScalableFilter<BlockedParams>| {
        let error = filter.merge(other).unwrap_err();
        assert_eq!(filter.merge_reader(&reader(other)).unwrap_err().to_string(), error.to_string());
        error
    };
    let options = |p: ScalableParams| scalable(p, 0..600);
    let named =
        |error: MergeError, name: &str| matches!(error, MergeError::Option { field, .. } if field == name);
    assert!(matches!(refused(&scalable(params, 0..800)), MergeError::Layers { expected: 3, got: 4 }));
    assert!(named(refused(&options(ScalableParams::new(101, 0.01).unwrap())), "first capacity"));
    assert!(named(refused(&options(ScalableParams::new(100, 0.02).unwrap())), "target rate"));
    assert!(named(refused(&options(params.with_growth(4).unwrap())), "growth"));
    assert!(named(refused(&options(params.with_tightening(0.6).unwrap())), "tightening"));
    let classic = ScalableFilter::classic(params).unwrap();
    let error = filter.merge_reader(&reader(&classic)).unwrap_err();
    assert!(matches!(error, MergeError::LayerKind { expected: Kind::Blocked, got: Kind::Classic }));
    let blocked = with_keys(BlockedParams::explicit(512, 1).unwrap(), 0..1);
    let error = filter.merge_reader(&reader(&blocked)).unwrap_err();
    assert!(matches!(error, MergeError::Kind { expected: Kind::Scalable, got: Kind::Blocked }));
}
