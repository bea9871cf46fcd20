//! A filter block before every reader there is: they must agree with each other and with the model.

use arbitrary::Unstructured;
use bloomline::error::{FormatError, MergeError};
use bloomline::filter::{AtomicFilter, Bloom, FilterBlock, Merger, open_any};
use bloomline::format::{Header, Kind};
use bloomline::hash::{Hashers, KeyHash};
use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{AnyFilter, ConcurrentScalableFilter, FilterReader, Membership, ScalableFilter};

use crate::judge;
use crate::memory::within;
use crate::mend::{self, Mend};
use crate::model;

/// What reading a block where it lies may allocate, whatever it claims: a directory of 64 layers, errors.
const VIEW_BYTES: usize = 64 << 10;

/// Hashes to ask for: some of the fuzzer's choice, some that are the ends of ranges, some at random.
pub fn hashes(input: &mut Unstructured<'_>) -> Vec<KeyHash> {
    let mut hashes = vec![0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000];
    let chosen: Vec<u64> = input.arbitrary().unwrap_or_default();
    hashes.extend(chosen.into_iter().take(64));
    hashes.extend((1..100_u64).map(|i| i.wrapping_mul(0xD134_2543_DE82_EF95)));
    hashes.into_iter().map(KeyHash::new).collect()
}

/// Has every reader read `block`, which may be anything, and asks those that accept it for `hashes`. True where
/// the block was accepted.
pub fn check(block: &[u8], hashers: &Hashers, hashes: &[KeyHash]) -> bool {
    let opened = within(VIEW_BYTES, || FilterReader::open(block, hashers));
    let unverified = within(VIEW_BYTES, || FilterReader::open_unverified(block, hashers));
    let fault = opened.as_ref().err().map(said);
    same_everywhere(block, hashers, fault.as_deref());
    // Unverified, a reader may answer what it likes, within its bounds.
    if let Ok(reader) = &unverified {
        assert_eq!(reader.verify().err().map(|error| said(&error)), fault);
        ask(reader, hashes);
    }
    let hasher_found = || Header::decode(block).is_ok_and(|header| hashers.resolve(&header.hasher).is_ok());
    assert_eq!(opened.is_ok(), judge::sound(block) && hasher_found(), "what DESIGN.md says of it; {fault:?}");
    let Ok(reader) = opened else { return false };
    assert!(unverified.is_ok());

    let answers: Vec<bool> = hashes.iter().map(|hash| model::might_contain(block, hash.get())).collect();
    readers_answer(block, hashers, hashes, &answers);
    rates(&reader);
    owned(block, &reader, hashes, &answers);
    merging(block, &reader);
    true
}

/// The text of an error, which is for people: one line.
fn said(error: &FormatError) -> String {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    assert!(!matches!(error, FormatError::OutOfMemory { .. }), "more memory than the bytes justify: {text}");
    text
}

/// Every way of reading must find the fault that was found, or none.
fn same_everywhere(block: &[u8], hashers: &Hashers, fault: Option<&str>) {
    // At another alignment.
    let shifted = [&[0], block].concat();
    let error = FilterReader::open(&shifted[1..], hashers).err();
    assert_eq!(error.map(|error| said(&error)).as_deref(), fault);
    // An empty block becomes a filter of the smallest size; others are copied.
    let bytes = 2 * block.len() + VIEW_BYTES;
    let error = within(bytes, || open_any(block, hashers).map(drop)).err();
    assert_eq!(error.map(|error| said(&error)).as_deref(), fault);
    // All but the hasher.
    if let Err(error) = FilterBlock::open(block) {
        said(&error);
        assert!(fault.is_some(), "{error}");
    }
    let kinds = [
        within(bytes, || Bloom::<BlockedParams>::decode(block, hashers).map(drop)),
        within(bytes, || Bloom::<ClassicParams>::decode(block, hashers).map(drop)),
        within(bytes, || ScalableFilter::<BlockedParams>::decode(block, hashers).map(drop)),
        within(bytes, || ScalableFilter::<ClassicParams>::decode(block, hashers).map(drop)),
    ];
    let accepted = kinds.iter().filter(|kind| kind.is_ok()).count();
    kinds.into_iter().filter_map(Result::err).for_each(|error| drop(said(&error)));
    let decoded = fault.is_none() && block[5] != Kind::Compact.id();
    assert_eq!(accepted, usize::from(decoded), "one kind of filter decodes a block, unless it is compact");
}

/// The answers of a reader, which must be the same one by one and in a batch.
fn ask<B: AsRef<[u8]>>(reader: &FilterReader<B>, hashes: &[KeyHash]) -> Vec<bool> {
    let one_by_one: Vec<bool> = hashes.iter().map(|&hash| reader.might_contain_hash(hash)).collect();
    let mut batch = vec![false; hashes.len()];
    reader.might_contain_hashes(hashes, &mut batch);
    assert!(batch == one_by_one, "a batch answers otherwise");
    one_by_one
}

/// Views at two alignments, on every backend.
fn readers_answer(block: &[u8], hashers: &Hashers, hashes: &[KeyHash], answers: &[bool]) {
    let shifted = [&[0; 17], block].concat();
    for backend in Backend::all() {
        for bytes in [block, &shifted[17..]] {
            let reader = FilterReader::open(bytes, hashers).expect("the bytes that were accepted");
            let got = ask(&reader.with_backend(backend), hashes);
            assert!(got == answers, "{}: other answers than the model's", backend.name());
        }
    }
}

fn rates(reader: &FilterReader<&[u8]>) {
    for (rate, what) in [
        (reader.expected_fpp(), "rate by count"),
        (reader.expected_fpp_from_fill(), "rate by fill"),
        (reader.fill(), "fill"),
    ] {
        assert!((0.0..=1.0).contains(&rate), "{what}: {rate}");
    }
}

/// The block read into a filter: the same bytes when written again, the same answers, in each of its forms.
fn owned(block: &[u8], reader: &FilterReader<&[u8]>, hashes: &[KeyHash], answers: &[bool]) {
    let any = reader.to_owned_filter().expect("memory");
    let (plain, shared) = (rewritten(block, false), rewritten(block, true));
    let holds = |filter: &dyn Membership, block: &[u8]| {
        let one_by_one: Vec<bool> = hashes.iter().map(|&hash| filter.might_contain_hash(hash)).collect();
        let mut batch = vec![false; hashes.len()];
        filter.might_contain_hashes(hashes, &mut batch);
        assert!(
            one_by_one == answers && batch == answers,
            "a filter in memory answers otherwise than its block"
        );
        assert!(filter.encode() == block, "a filter is written otherwise than it was read");
        let mut written = Vec::new();
        filter.write_to(&mut written).expect("a vector takes everything");
        assert!(written == block);
    };
    holds(any.membership(), &plain);
    for backend in Backend::all() {
        match reader.to_owned_filter().expect("memory") {
            AnyFilter::Blocked(filter) => {
                let filter = filter.with_backend(backend);
                holds(&filter, &plain);
                holds(&AtomicFilter::from(filter), &shared);
            }
            AnyFilter::Classic(filter) => {
                let filter = filter.with_backend(backend);
                holds(&filter, &plain);
                holds(&AtomicFilter::from(filter), &shared);
            }
            AnyFilter::ScalableBlocked(filter) => holds(&ConcurrentScalableFilter::from(filter), &shared),
            AnyFilter::ScalableClassic(filter) => holds(&ConcurrentScalableFilter::from(filter), &shared),
            _ => {}
        }
    }
}

/// What a filter that was read from `block` is written as.
///
/// The count is a hint, and bits decide. A filter of fixed size without any is written as the empty block. One that
/// threads share counts at most 2⁶³ keys at first, so that no number of additions wraps it; and at least one where
/// a bit is set, for whoever set it may not have counted its key yet.
fn rewritten(block: &[u8], shared: bool) -> Vec<u8> {
    let mut block = block.to_vec();
    let count_in = |header: &[u8], lines: &[u8]| {
        let count = mend::u64_at(header, 16).unwrap_or(0);
        let bits_set = lines.iter().any(|&byte| byte != 0);
        if shared { count.clamp(bits_set.into(), 1 << 63) } else { count }
    };
    if block[5] == Kind::Compact.id() {
        return block;
    }
    if block[5] == Kind::Scalable.id() {
        for (header, lines) in mend::layers(&block) {
            let count = count_in(&block[header.clone()], &block[lines]);
            block[header.start + 16..header.start + 24].copy_from_slice(&count.to_le_bytes());
        }
        mend::block(&mut block, Mend::Sums);
        return block;
    }
    let count = count_in(&block, &block[mend::HEADER..]);
    if count == 0 && block[mend::HEADER..].iter().all(|&byte| byte == 0) {
        block.truncate(mend::HEADER);
        block[6] = 0;
        block[8..16].fill(0);
    }
    block[16..24].copy_from_slice(&count.to_le_bytes());
    mend::block(&mut block, Mend::Checksums);
    block
}

/// The union with itself is itself; and a compact filter has none.
fn merging(block: &[u8], reader: &FilterReader<&[u8]>) {
    let mut any = reader.to_owned_filter().expect("memory");
    let before = any.membership().encode();
    match any.merge_reader(reader) {
        Err(MergeError::Static) => assert_eq!(reader.kind(), Kind::Compact),
        result => assert!(result.is_ok(), "a filter does not merge with itself: {result:?}"),
    }
    assert!(any.membership().encode() == before, "the union with itself is something else");

    let mut merger = Merger::new();
    let added = [merger.add(reader), merger.add(reader)];
    assert_eq!(added.iter().all(Result::is_ok), block[5] != Kind::Compact.id());
    if let Some(merged) = merger.finish() {
        assert!(merged.membership().encode() == before);
    }
}
