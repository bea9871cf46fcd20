//! Measured rates over a range of sizes, beside the theory.

use bloomline::sizing::{CompactParams, blocked_fpp};

use crate::contender::Contender;
use crate::keys::Keys;
use crate::measure::{Asked, check, float};
use crate::{RATE_KEYS, ours, peers};

/// One measured filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) name: &'static str,
    pub(crate) bits_per_key: f64,
    pub(crate) fpp: f64,
}

/// Builds each contender at several sizes with `added` and measures its rate.
pub(crate) fn measure(added: &Keys, asked: &Asked) -> Vec<Point> {
    let keys = added.len() as u64;
    let mut contenders = vec![peers::binary_fuse8(), peers::binary_fuse16()];
    contenders.extend((4..=16).map(|fingerprint_bits| ours::compact("bloomline compact", fingerprint_bits)));
    for bits_per_key in [6, 8, 10, 12, 14, 16, 18, 20] {
        let bits = f64::from(bits_per_key);
        contenders.push(ours::blocked(keys, bits));
        contenders.push(ours::classic(keys, bits));
        contenders.push(peers::fastbloom(keys, bits));
        contenders.push(peers::split_block(keys, bits_per_key));
    }
    contenders.iter().map(|contender| point(contender, added, asked)).collect()
}

fn point(contender: &Contender, added: &Keys, asked: &Asked) -> Point {
    let filter = (contender.build)(added);
    let expected = contender.expected_fpp.expect("a filter");
    Point {
        name: contender.name,
        bits_per_key: float(filter.bytes()) * 8.0 / float(added.len()),
        fpp: check(contender.name, &*filter, asked, expected),
    }
}

/// A curve of theory: name, and the rate at each number of bits per key.
pub(crate) type Curve = (&'static str, Vec<(f64, f64)>);

/// The theory of each kind. A binary fuse filter of three hashes takes 1.125 times its fingerprints (Graf and Lemire
/// 2022, *Binary Fuse Filters: Fast and Smaller Than Xor Filters*).
pub(crate) fn curves() -> Vec<Curve> {
    let best_blocked = |bits: f64| (1..=30).map(|probes| blocked_fpp(bits, probes)).fold(1.0, f64::min);
    let over = |low: f64, high: f64, rate: &dyn Fn(f64) -> f64| {
        let steps = 96;
        (0..=steps)
            .map(|step| low + (high - low) * f64::from(step) / f64::from(steps))
            .map(|bits| (bits, rate(bits)))
            .collect()
    };
    vec![
        ("blocked, theory", over(4.0, 21.0, &best_blocked)),
        ("classic, theory", over(4.0, 21.0, &peers::best_unblocked)),
        ("compact, theory", compact()),
        ("binary fuse, theory", over(4.0, 21.0, &|bits| (-bits / 1.125).exp2())),
        ("split block, theory", over(4.0, 21.0, &peers::split_block_fpp)),
        ("least possible, 2^-b", over(4.0, 21.0, &|bits| (-bits).exp2())),
    ]
}

/// The model of compact filters: a point for each number of fingerprint bits.
fn compact() -> Vec<(f64, f64)> {
    let params = (4..=16).filter_map(|fingerprint_bits| CompactParams::new(fingerprint_bits).ok());
    params.map(|params| (params.model(RATE_KEYS).bits_per_key, params.fpp())).collect()
}
