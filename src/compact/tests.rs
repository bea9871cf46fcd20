//! The compact filter against a reference that follows the published layout bit by bit, and against its own
//! promises: no false negative, the rate, the size, the bytes.

use super::build::{Limits, build_with};
use super::{CompactBody, CompactLayout, CompactView, build};
use crate::error::{CompactBodyError, SizingError};
use crate::hash::KeyHash;
use crate::line::LineBytes;
use crate::probe::Backend;
use crate::sizing::CompactParams;
use proptest::prelude::*;

/// The layout's words, with nothing taken from the code but the remix and the fold.
#[expect(clippy::cast_possible_truncation, reason = "halves and digits of wide products")]
mod reference {
    use crate::line::LineBytes;

    fn bit(line: &LineBytes, at: usize) -> bool {
        line[at / 8] >> (at % 8) & 1 == 1
    }

    fn fold(a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    }

    pub(super) fn slots(r: usize) -> usize {
        507 / r
    }

    /// Lines of each layer, and slots of the tail.
    pub(super) fn directory(body: &[LineBytes], r: usize) -> (Vec<usize>, usize) {
        let tail = body.last().unwrap();
        let s = slots(r);
        let field = |from: usize, width: usize| -> usize {
            (0..width)
                .map(|i| from + i)
                .map(|i| bit(tail, i % r * s + (s - 1 - i / r)))
                .rev()
                .fold(0, |value, bit| 2 * value + usize::from(bit))
        };
        let layers = field(0, 4) + 1;
        if layers == 1 {
            return (vec![1], s - 4usize.div_ceil(r));
        }
        let middle: Vec<usize> = (0..layers - 2)
            .map(|i| field(4 + 16 * i, 16))
            .map(|code| (code % 2048) << (code / 2048))
            .collect();
        let first = body.len() - 1 - middle.iter().sum::<usize>();
        let sizes = [vec![first], middle, vec![1]].concat();
        (sizes, s - (4 + 16 * (layers - 2)).div_ceil(r))
    }

    pub(super) fn might_contain(body: &[LineBytes], r: usize, hash: u64) -> bool {
        let (sizes, tail_slots) = directory(body, r);
        let s = slots(r);
        let tau_bits = (512 - r * s).min(8);
        let mut y = hash;
        let mut start = 0;
        for (layer, &lines) in sizes.iter().enumerate() {
            let x = u128::from(y.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * lines as u128;
            let line = &body[start + (x >> 64) as usize];
            let x = u128::from(x as u64) * ((1 << tau_bits) - 1);
            let rank = (x >> 64) as u64;
            let fingerprint = x as u64 >> (64 - r);
            let low = fold(y ^ 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B);
            let high = fold(y ^ 0xA54F_F53A_5F1D_36F1, 0x510E_527F_ADE6_82D1);
            let coefficients = u128::from(low) | u128::from(high) << 64;
            if rank < u64::from(line[63]) >> (8 - tau_bits) {
                if layer + 1 == sizes.len() {
                    return true;
                }
                y = (y ^ (y >> 32)).wrapping_mul(0x9B05_688C_2B3E_6C1F);
                y ^= y >> 29;
                start += lines;
                continue;
            }
            let in_use = if layer + 1 == sizes.len() { tail_slots } else { s };
            return (0..r).all(|column| {
                let parity = (0..in_use)
                    .filter(|&slot| coefficients >> slot & 1 == 1 && bit(line, column * s + slot))
                    .count()
                    % 2;
                parity as u64 == fingerprint >> (r - 1 - column) & 1
            });
        }
        unreachable!("every layer answers or goes on")
    }
}

fn hash(counter: u64) -> u64 {
    let z = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Distinct hashes; no two streams share one.
fn hashes(stream: u64, count: u64) -> Vec<u64> {
    (0..count).map(|i| hash(stream << 40 | i)).collect()
}

fn key_hashes(hashes: &[u64]) -> Vec<KeyHash> {
    hashes.iter().copied().map(KeyHash::new).collect()
}

fn params(r: u8) -> CompactParams {
    CompactParams::new(r).unwrap()
}

fn build_one(hashes: &[u64], r: u8) -> CompactBody {
    build(key_hashes(hashes), params(r), 1).unwrap()
}

/// A layout with the lines that it was read from.
#[derive(Debug)]
struct Opened<'a> {
    layout: CompactLayout,
    lines: &'a [LineBytes],
    backend: Backend,
}

fn open(lines: &[LineBytes], r: u8) -> Result<Opened<'_>, CompactBodyError> {
    open_on(Backend::detect(), lines, r)
}

fn open_on(backend: Backend, lines: &[LineBytes], r: u8) -> Result<Opened<'_>, CompactBodyError> {
    CompactLayout::read(lines, r).map(|layout| Opened { layout, lines, backend })
}

impl Opened<'_> {
    fn view(&self) -> CompactView<'_> {
        self.layout.view(self.backend, self.lines).unwrap()
    }

    fn might_contain(&self, hash: KeyHash) -> bool {
        self.view().might_contain(hash)
    }

    fn might_contain_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.view().might_contain_batch(hashes, answers);
    }

    fn verify(&self) -> Result<(), CompactBodyError> {
        self.view().verify()
    }
}

fn backends() -> Vec<Backend> {
    Backend::all().collect()
}

/// Every backend, one by one and in batches, answers as the reference does.
fn assert_answers_are_the_references(body: &[LineBytes], r: u8, hashes: &[u64]) {
    let expected: Vec<bool> =
        hashes.iter().map(|&hash| reference::might_contain(body, r.into(), hash)).collect();
    for backend in backends() {
        let view = open_on(backend, body, r).unwrap();
        let keys = key_hashes(hashes);
        let single: Vec<bool> = keys.iter().map(|&key| view.might_contain(key)).collect();
        assert_eq!(single, expected, "r {r}, {backend:?}");
        let mut batch = vec![false; keys.len()];
        view.might_contain_batch(&keys, &mut batch);
        assert_eq!(batch, expected, "r {r}, {backend:?}, batch");
    }
}

#[test]
fn filters_answer_as_the_reference() {
    for r in 4..=16 {
        for n in [1, 40, 100, 1000] {
            let present = hashes(1, n);
            let body = build_one(&present, r);
            assert_eq!(open(body.lines.lines(), r).unwrap().verify(), Ok(()), "r {r}, n {n}");
            assert!(present.iter().all(|&hash| reference::might_contain(body.lines.lines(), r.into(), hash)));
            assert_answers_are_the_references(body.lines.lines(), r, &present);
            assert_answers_are_the_references(body.lines.lines(), r, &hashes(2, 500));
        }
    }
}

/// Any columns and thresholds make a filter, and random ones reach every column and every layer.
#[test]
fn random_lines_answer_as_the_reference() {
    for r in 4..=16u8 {
        for n in [30, 300, 3000] {
            let mut body = build_one(&hashes(3, n), r).lines.lines().to_vec();
            let (tail, lines) = body.split_last_mut().unwrap();
            let mut seed = u64::from(r);
            let mut next = || {
                seed += 1;
                hash(seed).to_le_bytes()[0]
            };
            lines.iter_mut().flatten().for_each(|byte| *byte = next());
            tail[63] |= 0xA0;
            let mut asked = hashes(4, 400);
            asked.extend([0, 1, u64::MAX, 0xBB67_AE85_84CA_A73B, 1 << 63]);
            assert_answers_are_the_references(&body, r, &asked);
        }
    }
}

/// The share of absent keys that pass lies within five standard deviations of 2^-r.
fn assert_rate(body: &[LineBytes], r: u8, stream: u64, queries: u64) {
    let view = open(body, r).unwrap();
    let passed =
        hashes(stream, queries).into_iter().filter(|&hash| view.might_contain(KeyHash::new(hash))).count();
    let expected = queries as f64 * params(r).fpp();
    let deviation = (passed as f64 - expected).abs() / expected.sqrt();
    assert!(deviation < 5.0, "r {r}, {} lines: {passed} passed, expected {expected}", body.len());
}

#[test]
fn nothing_is_lost_and_the_rate_is_two_to_the_minus_r() {
    for r in 4..=16 {
        for (n, queries) in [(100, 60_000), (4000, 60_000), (30_000, 60_000)] {
            let present = hashes(5, n);
            let body = build_one(&present, r);
            let view = open(body.lines.lines(), r).unwrap();
            assert!(present.iter().all(|&hash| view.might_contain(KeyHash::new(hash))), "r {r}, n {n}");
            assert_eq!(body.keys, n);
            assert_rate(body.lines.lines(), r, 6, queries);
        }
    }
}

/// With enough false positives to tell 3% for r up to 12: 40,000 are expected, and their standard deviation is 0.5%.
#[cfg(not(debug_assertions))]
#[test]
fn the_rate_holds_to_three_percent() {
    for r in 4..=16 {
        for n in [100, 4000, 100_000, 1_000_000, 10_000_000] {
            let present = key_hashes(&hashes(7, n));
            let body = build(present.clone(), params(r), 1).unwrap();
            let view = open(body.lines.lines(), r).unwrap();
            assert!(present.iter().all(|&hash| view.might_contain(hash)), "r {r}, n {n}");
            let queries = 40_000 << r.min(12);
            let (mut passed, mut answers) = (0, vec![false; 1 << 16]);
            for start in (0..queries).step_by(answers.len()) {
                let absent: Vec<KeyHash> = (start..queries.min(start + answers.len() as u64))
                    .map(|i| KeyHash::new(hash(8 << 40 | i)))
                    .collect();
                let answers = &mut answers[..absent.len()];
                view.might_contain_batch(&absent, answers);
                passed += answers.iter().filter(|&&answer| answer).count();
            }
            let expected = queries as f64 * params(r).fpp();
            let off = passed as f64 / expected - 1.0;
            println!("r {r}, n {n}: {passed} of {queries} absent keys passed, {:+.2}%", 100.0 * off);
            assert!(off.abs() < f64::max(0.03, 5.0 / expected.sqrt()), "r {r}, n {n}: {off}");
        }
    }
}

/// Structured hashes: a counter in the low, the middle or the high bits.
#[test]
fn weak_hashes_keep_the_rate() {
    for shift in [0, 20, 44] {
        for r in [5, 8, 11] {
            let present: Vec<u64> = (0..20_000).map(|i: u64| i << shift).collect();
            let body = build_one(&present, r);
            let view = open(body.lines.lines(), r).unwrap();
            assert!(present.iter().all(|&hash| view.might_contain(KeyHash::new(hash))));
            assert!(body.bumped_share() < 0.2, "shift {shift}, r {r}: {}", body.bumped_share());
            let absent = 20_000..120_000u64;
            let passed = absent.filter(|i| view.might_contain(KeyHash::new(i << shift))).count();
            let expected = 100_000.0 * params(r).fpp();
            let deviation = (passed as f64 - expected).abs() / expected.sqrt();
            assert!(deviation < 6.0, "shift {shift}, r {r}: {passed} passed, expected {expected}");
        }
    }
}

#[test]
fn bytes_are_a_function_of_the_set() {
    let sorted = {
        let mut sorted = hashes(9, 70_000);
        sorted.sort_unstable();
        sorted
    };
    for r in [7, 11] {
        let expected = build_one(&sorted, r);
        let reversed: Vec<u64> = sorted.iter().rev().copied().collect();
        let doubled = [&sorted[..], &reversed[..9000], &sorted[40_000..40_100], &[sorted[3]; 200]].concat();
        for threads in [1, 3] {
            for order in [&sorted, &reversed, &doubled] {
                let body = build(key_hashes(order), params(r), threads).unwrap();
                assert!(body == expected, "r {r}, {} hashes, {threads} threads", order.len());
            }
        }
        for backend in backends() {
            let hashes = key_hashes(&sorted).into();
            assert!(build_with(backend, Limits::DEFAULT, hashes, params(r), 1).unwrap() == expected);
        }
    }
}

/// A change of these bytes is a change of the format or of the builder's choices; both need a reason.
#[test]
fn bytes_are_pinned() {
    let crcs: Vec<u32> =
        (4..=16).map(|r| crc32fast::hash(build_one(&hashes(10, 2000), r).lines.bytes())).collect();
    assert_eq!(crcs, GOLDEN, "{crcs:#010x?}");
}

const GOLDEN: [u32; 13] = [
    0x0072_dc16,
    0xedc8_6ea4,
    0x97aa_dcce,
    0x433f_96c7,
    0x7c84_9db8,
    0xbee5_64e5,
    0xe423_d771,
    0x96aa_72c1,
    0xc3d9_9462,
    0x2ed6_123c,
    0xed0b_278e,
    0x63c4_7073,
    0xc6c0_2fa0,
];

#[test]
fn no_key_is_no_line() {
    let body = build(Vec::new(), params(8), 4).unwrap();
    assert_eq!((body.lines.len(), body.keys), (0, 0));
    assert_eq!(open(body.lines.lines(), 8).unwrap_err(), CompactBodyError::NoLines);
}

#[test]
fn equal_hashes_are_one_key() {
    for r in 4..=16 {
        let body = build_one(&vec![77; 50_000], r);
        assert_eq!(body, build_one(&[77], r));
        assert_eq!((body.lines.len(), body.keys), (1, 1));
        let view = open(body.lines.lines(), r).unwrap();
        assert!(view.might_contain(KeyHash::new(77)));
        assert_rate(body.lines.lines(), r, 11, 20_000);
    }
}

/// An attacker who knows the constants can crowd one line of the first layer. The filter is right, and larger
/// by no more than the limits allow.
#[test]
fn a_crowd_in_one_line_goes_to_the_next_layer() {
    for r in [4, 8, 16] {
        let lines = params(r).layer_lines(3000);
        let crowd: Vec<u64> = (0..)
            .map(|i| hash(1 << 50 | i))
            .filter(|y| (u128::from(y.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * u128::from(lines)) >> 64 == 0)
            .take(3000)
            .collect();
        let body = build_one(&crowd, r);
        assert!(body.bumped_share() > 0.9);
        assert!(body.lines.len() as u64 <= 3 * lines, "{} lines after {lines}", body.lines.len());
        let view = open(body.lines.lines(), r).unwrap();
        assert!(crowd.iter().all(|&hash| view.might_contain(KeyHash::new(hash))));
        assert_rate(body.lines.lines(), r, 12, 60_000);
    }
}

/// What is left at a limit is answered "maybe": more false positives, and no false negative.
#[test]
fn keys_left_at_a_limit_are_answered_maybe() {
    let limits =
        [Limits { layers: 1, growth: 3 }, Limits { layers: 2, growth: 3 }, Limits { layers: 16, growth: 0 }];
    for (limits, n) in limits.into_iter().zip([1000, 6000, 20_000]) {
        for r in [4, 7, 8, 11, 16] {
            let present = hashes(13, n);
            for backend in backends() {
                let given = key_hashes(&present).into();
                let body = build_with(backend, limits, given, params(r), 1).unwrap();
                let view = open_on(backend, body.lines.lines(), r).unwrap();
                assert!(
                    present.iter().all(|&hash| view.might_contain(KeyHash::new(hash))),
                    "r {r}, {limits:?}"
                );
                assert!(
                    body.lines.lines().last().unwrap()[63] > 100,
                    "the tail bumped nothing: the limit was not met"
                );
                assert_answers_are_the_references(body.lines.lines(), r, &hashes(14, 300));
            }
        }
    }
}

#[test]
fn the_model_is_what_builds_measure() {
    for r in 4..=16 {
        for load in [80, params(r).load(), 130] {
            let params = params(r).with_load(load).unwrap();
            for n in [300, 4000, 20_000] {
                let body = build(key_hashes(&hashes(15, n)), params, 1).unwrap();
                let model = params.model(n);
                let lines = body.lines.len() as f64;
                let off = lines - (model.bytes / 64) as f64;
                // The number of bumped keys varies by about the root of its mean, a few lines at most.
                assert!(
                    off.abs() <= 1.0 + 0.005 * lines,
                    "r {r}, load {load}, n {n}: {lines} lines, {model:?}"
                );
                let spread = 4.0 * (model.bumped_share / n as f64).sqrt();
                let off = body.bumped_share() - model.bumped_share;
                assert!(
                    off.abs() < 0.001 + spread,
                    "r {r}, load {load}, n {n}: {} bumped, {model:?}",
                    body.bumped_share()
                );
            }
        }
    }
}

/// The figures that the filter promises, for the whole block with its header of 48 bytes.
#[test]
fn the_promised_sizes_hold() {
    let block_bits = |body: &CompactBody| (body.lines.len() * 512 + 48 * 8) as f64 / body.keys as f64;
    for r in 4..=16u8 {
        let ratio = match r {
            4..=8 => 1.06,
            9..=12 => 1.08,
            _ => 1.12,
        };
        let model = params(r).model(1_000_000);
        assert!(model.bits_per_key / f64::from(r) <= ratio, "r {r}: {model:?}");
        assert!(model.bumped_share < 0.15 || r > 12, "r {r}: {model:?}");
    }
    assert!(params(7).model(1_000_000).bits_per_key < 7.45 - 0.02);
    assert!(params(8).model(1_000_000).bits_per_key < 8.55 - 0.02);
    for r in [7, 8] {
        for stream in 20..60 {
            let bits = block_bits(&build_one(&hashes(stream, 4000), r));
            assert!(bits <= 1.12 * f64::from(r), "r {r}, stream {stream}: {bits}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    use SizingError as E;
    assert_eq!(CompactParams::new(3), Err(E::FingerprintBitsOutOfRange { got: 3 }));
    assert_eq!(CompactParams::new(17), Err(E::FingerprintBitsOutOfRange { got: 17 }));
    assert_eq!(params(8).with_load(79), Err(E::LoadOutOfRange { got: 79 }));
    assert_eq!(params(8).with_load(131), Err(E::LoadOutOfRange { got: 131 }));
    for rate in [0.0, -0.1, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(CompactParams::for_fpp(rate), Err(E::RateOutOfRange { got: rate }));
    }
    assert!(matches!(CompactParams::for_fpp(f64::NAN), Err(E::RateOutOfRange { got }) if got.is_nan()));
    let (target, floor) = (0.99 / 65536.0, 1.0 / 65536.0);
    assert_eq!(CompactParams::for_fpp(target), Err(E::RateBelowFingerprints { target, floor }));
    for (rate, r) in
        [(0.5, 4), (0.0625, 4), (0.0624, 5), (0.01, 7), (1.0 / 256.0, 8), (0.0039, 9), (1.0 / 65536.0, 16)]
    {
        assert_eq!(CompactParams::for_fpp(rate).unwrap().fingerprint_bits(), r, "{rate}");
    }
}

#[test]
fn a_model_of_any_number_of_keys_is_finite() {
    for r in 4..=16 {
        let mut before = 0;
        for exponent in 0..=63 {
            let model = params(r).model(1 << exponent);
            assert!(model.bits_per_key.is_finite() && (0.0..1.0).contains(&model.bumped_share), "{model:?}");
            assert!(model.bytes >= before, "r {r}, 2^{exponent}");
            before = model.bytes;
        }
        assert_eq!(params(r).model(0).bytes, 0);
    }
}

#[test]
fn bits_that_a_line_reserves_are_checked() {
    for (r, spare) in [(9, 0), (10, 4), (4, 0), (15, 9), (16, 8), (11, 0)] {
        let mut body = build_one(&hashes(16, 300), r).lines.lines().to_vec();
        let used = usize::from(r) * reference::slots(r.into());
        for bit in used..used + spare {
            body[1][bit / 8] |= 1 << (bit % 8);
            let view = open(&body, r).unwrap();
            assert_eq!(view.verify(), Err(CompactBodyError::ReservedBits { line: 1 }), "r {r}, bit {bit}");
            body[1][bit / 8] &= !(1 << (bit % 8));
        }
        // Its neighbours are columns and threshold.
        for bit in [used - 1, used + spare] {
            body[1][bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(open(&body, r).unwrap().verify(), Ok(()), "r {r}");
    }
}

proptest! {
    /// Bytes from anywhere are an error or a filter that answers as the reference does.
    #[test]
    fn any_bytes_are_refused_or_read(
        r in 0..=20u8,
        mut body in prop::collection::vec(prop::array::uniform32(any::<u16>()), 0..40),
        layers in 1..6usize,
        sizes in prop::collection::vec(prop_oneof![1..12usize, Just(2048), any::<u16>().prop_map(usize::from)], 5),
        asked in prop::collection::vec(any::<u64>(), 20),
    ) {
        let mut body: Vec<LineBytes> = body.iter_mut().map(|line| bytemuck::cast(*line)).collect();
        // A directory that says something near the truth, as random bits hardly would.
        if let (Some(tail), 4..=16) = (body.last_mut(), r) {
            let (r, s) = (usize::from(r), reference::slots(r.into()));
            let bits = (0..4).map(|i| (layers - 1) >> i & 1);
            let bits = bits.chain(sizes.iter().take(layers.saturating_sub(2)).flat_map(|size| (0..16).map(move |i| size >> i & 1)));
            for (i, bit) in bits.chain(std::iter::repeat_n(0, 16)).enumerate() {
                let at = i % r * s + (s - 1 - i / r);
                tail[at / 8] = tail[at / 8] & !(1 << (at % 8)) | u8::from(bit == 1) << (at % 8);
            }
        }
        if open(&body, r).is_ok() {
            assert_answers_are_the_references(&body, r, &asked);
        }
    }

    /// Any hashes, crowded or equal or wide apart, are all found, whatever their order.
    #[test]
    fn any_hashes_are_found(
        r in 4..=16u8,
        load in 80..=130u16,
        few in prop::collection::vec(0..30u64, 0..40),
        many in prop::collection::vec(any::<u64>(), 0..300),
        bits in 0..64u32,
    ) {
        let all: Vec<u64> = few.into_iter().chain(many.into_iter().map(|y| y >> bits)).collect();
        let params = params(r).with_load(load).unwrap();
        let body = build(key_hashes(&all), params, 1).unwrap();
        let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
        prop_assert_eq!(body.keys, distinct.len() as u64);
        let sorted: Vec<_> = distinct.into_iter().map(KeyHash::new).collect();
        prop_assert_eq!(&body, &build(sorted, params, 1).unwrap());
        if !all.is_empty() {
            assert_answers_are_the_references(body.lines.lines(), r, &all);
            let view = open(body.lines.lines(), r).unwrap();
            prop_assert!(all.iter().all(|&y| view.might_contain(KeyHash::new(y))));
        }
    }
}
