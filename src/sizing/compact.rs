//! Parameters, sizes and rates of the compact filter.
//!
//! A line has S = ⌊507 / r⌋ slots and gets λ = load · S keys on average, a Poisson number of them (binomial in
//! a layer of few lines). It keeps the keys of highest rank that its linear system can hold and bumps the
//! others to the next layer. So the cost per key has four parts, here for r = 8 at a load of 1.1:
//!
//! | part | why | share |
//! |---|---|---|
//! | threshold | 8 of 512 bits | 1.6% |
//! | dependence | random equations over GF(2) fill S slots but for 1.6 on average | 2.6% |
//! | ties | the keys that share the rank of the first that does not fit are bumped too: λ/510 of them | 0.2% |
//! | underfull lines | lines that get fewer keys than they have slots | 1.4% |
//!
//! A higher load makes fewer lines underfull and bumps more keys; at any load, the bumped keys pay the same
//! again in a layer of their own. The model sums these over the layers; it knows no constant that was fitted.

use super::{check_bits_per_key, check_rate};
use crate::error::SizingError;

/// The fewest fingerprint bits.
pub(crate) const MIN_R: usize = 4;
/// The most fingerprint bits.
pub(crate) const MAX_R: usize = 16;
/// The most layers that the four bits of the count can name.
pub(crate) const MAX_LAYERS: usize = 16;
/// Bits of the directory that hold the number of layers.
pub(crate) const COUNT_BITS: usize = 4;
/// Bits of the directory that hold the size of a layer.
pub(crate) const SIZE_BITS: usize = 16;
/// How many of these are the mantissa.
pub(crate) const MANTISSA_BITS: u32 = 11;

/// The fewest bits of a threshold that are worth a slot. With 5, r = 5, 11 and 13 have one slot more than with
/// 8, which saves 0.9% at r = 5 and 1.7% at r = 11; with 4, no r has.
const MIN_TAU_BITS: usize = 5;
const LINE_BYTES: u64 = 64;

/// Keys per hundred slots where nothing else was asked for. It bumps 10.8% (r = 4) to 16% (r = 16) of keys.
const DEFAULT_LOAD: u16 = 110;

/// Keys per hundred slots: the range that is any use.
const LOADS: std::ops::RangeInclusive<u16> = 80..=130;

/// S: how many slots, of r bits each, a line has before its threshold.
pub(crate) const fn slots(r: usize) -> usize {
    (512 - MIN_TAU_BITS) / r
}

/// Bits of a line's threshold: what the slots leave, at most 8.
pub(crate) const fn tau_bits(r: usize) -> u32 {
    match 512 - r * slots(r) {
        5 => 5,
        6 => 6,
        7 => 7,
        _ => 8,
    }
}

/// Slots that the tail of a body of `layers` layers has beside the directory: about half of S at the least.
pub(crate) const fn tail_slots(r: usize, layers: usize) -> usize {
    let sizes = layers.saturating_sub(2);
    slots(r) - (COUNT_BITS + SIZE_BITS * sizes).div_ceil(r)
}

/// The least size of a layer, not less than `lines`, that a directory can say.
pub(crate) const fn round_up(lines: usize) -> usize {
    let exponent = exponent(lines);
    lines.div_ceil(1 << exponent) << exponent
}

/// The exponent of a layer's size.
pub(crate) const fn exponent(lines: usize) -> u32 {
    (usize::BITS - lines.leading_zeros()).saturating_sub(MANTISSA_BITS)
}

/// What a compact filter is built with.
///
/// Two filters with equal parameters have the same rate; they still can't be merged, because a compact filter
/// stores no key by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompactParams {
    fingerprint_bits: u8,
    load: u16,
}

impl CompactParams {
    /// A filter with `fingerprint_bits` fingerprint bits r per key, so with a false-positive rate of 2^−r.
    ///
    /// # Errors
    ///
    /// If r is not in 4 to 16.
    pub fn new(fingerprint_bits: u8) -> Result<Self, SizingError> {
        if !(MIN_R..=MAX_R).contains(&usize::from(fingerprint_bits)) {
            return Err(SizingError::FingerprintBitsOutOfRange { got: fingerprint_bits });
        }
        Ok(Self { fingerprint_bits, load: DEFAULT_LOAD })
    }

    /// The smallest filter whose false-positive rate is at most `rate`: r = ⌈log2(1 / rate)⌉, at least 4.
    ///
    /// # Errors
    ///
    /// If `rate` is not strictly between 0 and 1, or less than 2^−16.
    pub fn for_fpp(rate: f64) -> Result<Self, SizingError> {
        check_rate(rate)?;
        // Powers of two are exact, so a target of exactly 2^−r gets r bits.
        let enough = (4..=16).find(|&r| 0.5f64.powi(i32::from(r)) <= rate);
        let floor = 0.5f64.powi(16);
        enough.map_or(Err(SizingError::RateBelowFingerprints { target: rate, floor }), Self::new)
    }

    /// The filter of the lowest rate that `bits_per_key` bits for each of `keys` keys have room for, rounded up
    /// to a whole line.
    ///
    /// # Errors
    ///
    /// If `bits_per_key` is out of range, or fewer than 4 fingerprint bits take.
    pub fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        Self::for_bits_per_key_at(DEFAULT_LOAD, keys, bits_per_key)
    }

    /// [`for_bits_per_key`](Self::for_bits_per_key) with another load than the default, which leaves room for
    /// other fingerprints.
    pub(crate) fn for_bits_per_key_at(load: u16, keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        check_bits_per_key(bits_per_key)?;
        let smallest = Self::new(4)?.with_load(load)?;
        let room = (keys as f64 * bits_per_key / (8 * LINE_BYTES) as f64).ceil() * LINE_BYTES as f64;
        let fits = |params: &Self| params.model(keys).bytes as f64 <= room;
        let params = (4..=16).rev().map(|r| Self { fingerprint_bits: r, ..smallest }).find(fits);
        params.ok_or_else(|| SizingError::BitsPerKeyTooFew {
            got: bits_per_key,
            least: smallest.model(keys).bits_per_key,
        })
    }

    /// The same with `load` keys per hundred slots in place of the default, 80 to 130.
    ///
    /// A lower load bumps fewer keys, so fewer lookups read a second line, and takes more space;
    /// [`model`](Self::model) says how much of each. The load shows in no lookup
    /// and in no format: filters of all loads are read alike.
    ///
    /// # Errors
    ///
    /// If `load` is out of range.
    pub fn with_load(self, load: u16) -> Result<Self, SizingError> {
        if !LOADS.contains(&load) {
            return Err(SizingError::LoadOutOfRange { got: load });
        }
        Ok(Self { load, ..self })
    }

    /// Fingerprint bits per key, r: 4 to 16.
    #[must_use]
    pub const fn fingerprint_bits(self) -> u8 {
        self.fingerprint_bits
    }

    /// Keys per hundred slots: 80 to 130.
    #[must_use]
    pub const fn load(self) -> u16 {
        self.load
    }

    /// The false-positive rate, 2^−r, whatever the number of keys.
    #[must_use]
    pub fn fpp(self) -> f64 {
        0.5f64.powi(i32::from(self.fingerprint_bits))
    }

    /// What a filter of `keys` distinct keys is expected to take.
    ///
    /// The time is bounded whatever `keys` is: at most 16 layers, some thousand terms each.
    #[must_use]
    pub fn model(self, keys: u64) -> CompactEstimate {
        estimate(self, keys)
    }

    pub(crate) fn r(self) -> usize {
        usize::from(self.fingerprint_bits)
    }

    /// Lines of a layer that has `keys` keys to take, at least one.
    pub(crate) fn layer_lines(self, keys: u64) -> u64 {
        let per_hundred_lines = u128::from(self.load) * slots(self.r()) as u128;
        let lines = (u128::from(keys) * 100 + per_hundred_lines / 2) / per_hundred_lines;
        u64::try_from(lines).unwrap_or(u64::MAX).max(1)
    }
}

/// What a compact filter is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactEstimate {
    /// Bytes of the body, a whole number of lines.
    pub bytes: u64,
    /// Bits of the body per key. Zero if there are no keys.
    pub bits_per_key: f64,
    /// Share of keys, and of lookups, that the first layer sends on to the second.
    pub bumped_share: f64,
    /// Number of layers.
    pub layers: usize,
    /// The false-positive rate, 2^−r.
    pub fpp: f64,
}

fn estimate(params: CompactParams, keys: u64) -> CompactEstimate {
    let r = params.r();
    let mut estimate =
        CompactEstimate { bytes: 0, bits_per_key: 0.0, bumped_share: 0.0, layers: 0, fpp: params.fpp() };
    if keys == 0 {
        return estimate;
    }
    let mut left = keys as f64;
    let mut lines_in_all = 0;
    loop {
        // As the builder does: the tail takes what fits into it. It holds almost surely once two slots are
        // left, and with even odds when one is.
        let layers = estimate.layers + 1;
        if left + 1.0 <= tail_slots(r, layers) as f64 || layers == MAX_LAYERS {
            lines_in_all += 1;
            estimate.layers = layers;
            break;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of keys")]
        let lines = params.layer_lines(left.round() as u64);
        let lines = if layers == 1 {
            lines
        } else {
            usize::try_from(lines).map_or(lines, |lines| round_up(lines) as u64)
        };
        let bumped = left - lines as f64 * mean_kept(r, left, lines);
        if layers == 1 {
            estimate.bumped_share = bumped / left;
        }
        lines_in_all += lines;
        left = bumped;
        estimate.layers = layers;
    }
    estimate.bytes = lines_in_all.saturating_mul(LINE_BYTES);
    estimate.bits_per_key = estimate.bytes as f64 * 8.0 / keys as f64;
    estimate
}

/// Mean number of keys that a line keeps, in a layer that spreads `keys` keys over `lines` lines.
fn mean_kept(r: usize, keys: f64, lines: u64) -> f64 {
    let kept = Kept::new(r);
    if lines == 1 {
        return kept.of(keys);
    }
    // The binomial distribution of keys in a line, from its mean outwards by the ratio of neighbouring terms;
    // scaled by the sum at the end, so that no factorial is needed. For many lines it is Poisson's.
    let odds = 1.0 / (lines as f64 - 1.0);
    let mode = (keys / lines as f64).floor();
    let (mut sum, mut weights) = (kept.of(mode), 1.0);
    let (mut x, mut weight) = (mode, 1.0);
    while weight > 1e-12 && x < keys {
        weight *= (keys - x) / (x + 1.0) * odds;
        x += 1.0;
        sum += weight * kept.of(x);
        weights += weight;
    }
    (x, weight) = (mode, 1.0);
    while weight > 1e-12 && x > 0.0 {
        weight *= x / (keys - x + 1.0) / odds;
        x -= 1.0;
        sum += weight * kept.of(x);
        weights += weight;
    }
    sum / weights
}

/// How many keys a line keeps, given how many it gets.
struct Kept {
    /// Ranks that keys of one line can have.
    ranks: f64,
    /// `cut[m]`: the probability that the key at position m of the falling ranks is the first that
    /// contradicts those before it.
    cut: Vec<f64>,
}

impl Kept {
    fn new(r: usize) -> Self {
        let slots = slots(r);
        let agree = 0.5f64.powi(i32::try_from(r).unwrap_or(i32::MAX));
        // held[i]: the probability of no contradiction so far and i independent equations.
        let mut held = vec![0.0; slots + 1];
        held[0] = 1.0;
        let mut cut = Vec::new();
        let mut surviving: f64 = 1.0;
        while surviving > 1e-12 {
            let mut next = vec![0.0; slots + 1];
            let mut lost = 0.0;
            for (i, &chance) in held.iter().enumerate() {
                let dependent = 0.5f64.powi(i32::try_from(slots - i).unwrap_or(i32::MAX));
                next[i] += chance * dependent * agree;
                lost += chance * dependent * (1.0 - agree);
                if i < slots {
                    next[i + 1] += chance * (1.0 - dependent);
                }
            }
            cut.push(lost);
            surviving -= lost;
            held = next;
        }
        Self { ranks: f64::from((1u32 << tau_bits(r)) - 1), cut }
    }

    /// Mean number of keys kept of `keys`.
    fn of(&self, keys: f64) -> f64 {
        // Of the keys before the one that does not fit, those that share its rank go too: half a rank's worth.
        let ties = keys / self.ranks / 2.0;
        let mut surviving = 1.0;
        let mut kept = 0.0;
        for (position, &chance) in
            self.cut.iter().enumerate().take_while(|&(position, _)| (position as f64) < keys)
        {
            kept += chance * (position as f64 - ties).max(0.0);
            surviving -= chance;
        }
        kept + surviving * keys
    }
}
