//! The mathematics of a blocked Bloom filter: all probes of a key in one line of 512 bits.
//!
//! # The rate
//! A key picks one of `L` lines and sets `k` of its M = 512 bits. A line that holds `i` keys has had i·k draws,
//! and each of its bits is set with probability μ = 1 − (1 − 1/M)^(i·k). An absent key meets `k` ones there with
//! probability E[(X/M)^k], X being the bits that are really set: about
//!
//! > p(i) = μ^k + k(k−1)/2 · μ^(k−2) · Var(X/M)
//!
//! The first term alone is usual; it is low by 1% at 10 bits per key and by 3% at 20, enough to choose one probe
//! too many. The second is the next term of the Taylor series, with the variance of the classic occupancy
//! problem: Var(X/M) = (1 − 1/M)(1 − 2/M)^(i·k) + (1 − 1/M)^(i·k)/M − (1 − 1/M)^(2·i·k).
//!
//! The number of keys in a line is binomial: `n` draws that hit this line with probability 1/L. For many lines
//! that is a Poisson distribution with mean λ = n/L = 512 / (bits per key), so the rate is the mixture
//! Σᵢ P(i)·p(i) (Putze, Sanders, Singler 2007, *Cache-, Hash- and Space-Efficient Bloom Filters*). It is summed
//! here term by term. Two shortcuts are common and wrong: the formula of the unblocked filter, which is low by
//! up to 8 times at low rates, and evaluating p at the mean and one standard deviation above it.
//!
//! The probes inside a line come from 32 bits of the hash, so two keys of one line share all their probes with
//! probability 2⁻³², whatever `k` is. That adds λ/2³²: about 10⁻⁸ at 50 bits per key, below which a blocked filter
//! grows in proportion to 1/p and no longer to log(1/p). Past [`MAX_BITS_PER_KEY`], near 10⁻¹⁰, it is refused.
//!
//! At 10 bits per key and 6 probes the model gives 0.966%. The best that 512-bit blocks can do, with k bits of a
//! key that never coincide, is 0.955%; the probes of [`probe`](crate::probe) measure 0.963%. Over 8 to 20 bits
//! per key the model lies between 0.2% and 1.3% (relative) above what was measured with 10⁶ keys.

use super::{
    MAX_BITS_PER_KEY, best_probes, check_bits_per_key, check_probes, check_rate, float, smallest_fitting,
};
use crate::error::SizingError;
use crate::line::LINE_BITS;

/// The size and the probes of a blocked filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockedParams {
    lines: u32,
    probes: u8,
}

impl BlockedParams {
    /// The most lines that a filter can have: 2³⁰, which is 64 GiB. Above it the 32-bit fast range that maps a
    /// hash to a line would favour some lines by more than a quarter.
    pub const MAX_LINES: u32 = 1 << 30;

    /// The most probes of a key. The multiplications that make them keep their quality for at least as many,
    /// and no useful filter has more.
    pub const MAX_PROBES: u8 = 30;

    /// The smallest filter that, holding `keys` distinct keys, has a false-positive rate of at most `fpp`.
    /// For 0 keys it has one line, so that it can still take keys.
    ///
    /// # Errors
    /// [`SizingError::RateOutOfRange`] unless 0 < `fpp` < 1; [`SizingError::RateBelowFloor`] where 32 bits of
    /// hash inside a line can't give the rate; [`SizingError::TooLarge`] past [`MAX_LINES`](Self::MAX_LINES).
    pub fn for_fpp(keys: u64, fpp: f64) -> Result<Self, SizingError> {
        check_rate(fpp)?;
        let with_lines = |lines: u64| {
            let rate = |probes| rate(keys, lines, probes);
            let start = optimal_start(float(lines * LINE_BITS) / float(keys.max(1)));
            let probes = best_probes(start, Self::MAX_PROBES, rate);
            (probes, rate(probes))
        };
        // A filter of the most bits per key that are sane, were there no limit to the lines.
        let most = (float(keys) * MAX_BITS_PER_KEY / float(LINE_BITS)).ceil().max(1.0);
        let limit = f64::from(Self::MAX_LINES);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 2^30")]
        let high = most.min(limit) as u64;
        match smallest_fitting(1, high, |lines| with_lines(lines).1 <= fpp) {
            Some(lines) => Self::new(lines, with_lines(lines).0),
            None if most <= limit => {
                Err(SizingError::RateBelowFloor { target: fpp, keys, floor: with_lines(high).1 })
            }
            None => {
                // Too many keys for the largest filter: tell the size that would do, by density.
                let per_line = |mean: f64| {
                    let rate = |probes| blocked_fpp(float(LINE_BITS) / mean, probes);
                    rate(best_probes(optimal_start(float(LINE_BITS) / mean), Self::MAX_PROBES, rate))
                };
                let thousandths =
                    smallest_fitting(1, 1_024_000, |t| per_line(float(LINE_BITS) * 1000.0 / float(t)) <= fpp);
                Err(match thousandths {
                    Some(thousandths) => too_large(float(keys) * float(thousandths) / 1000.0),
                    None => SizingError::RateBelowFloor { target: fpp, keys, floor: per_line(0.5) },
                })
            }
        }
    }

    /// A filter of `bits_per_key` bits for each of `keys` keys, rounded up to a whole line, with the number of
    /// probes that gives it the lowest rate. Fractions count.
    ///
    /// # Errors
    /// [`SizingError::BitsPerKeyOutOfRange`] unless 0 < `bits_per_key` ≤ [`MAX_BITS_PER_KEY`];
    /// [`SizingError::TooLarge`] past [`MAX_LINES`](Self::MAX_LINES).
    pub fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        check_bits_per_key(bits_per_key)?;
        let bits = float(keys) * bits_per_key;
        let lines = (bits / float(LINE_BITS)).ceil().max(1.0);
        if lines > f64::from(Self::MAX_LINES) {
            return Err(too_large(bits));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 2^30")]
        let lines = lines as u64;
        let start = optimal_start(float(lines * LINE_BITS) / float(keys.max(1)));
        Self::new(lines, best_probes(start, Self::MAX_PROBES, |probes| rate(keys, lines, probes)))
    }

    /// A filter of exactly `bits` bits, a multiple of 512, and `probes` probes.
    ///
    /// # Errors
    /// [`SizingError::NoBits`], [`SizingError::NotWholeLines`], [`SizingError::TooLarge`] or
    /// [`SizingError::ProbesOutOfRange`].
    pub fn explicit(bits: u64, probes: u32) -> Result<Self, SizingError> {
        let probes = check_probes(probes, Self::MAX_PROBES)?;
        match bits {
            0 => Err(SizingError::NoBits),
            _ if !bits.is_multiple_of(LINE_BITS) => Err(SizingError::NotWholeLines { got: bits }),
            _ => Self::new(bits / LINE_BITS, probes),
        }
    }

    /// `lines` is at least 1 and `probes` in range.
    fn new(lines: u64, probes: u8) -> Result<Self, SizingError> {
        match u32::try_from(lines) {
            Ok(lines) if lines <= Self::MAX_LINES => Ok(Self { lines, probes }),
            _ => Err(too_large(float(lines) * float(LINE_BITS))),
        }
    }

    /// Lines of 64 bytes; 1 to [`MAX_LINES`](Self::MAX_LINES).
    #[inline]
    #[must_use]
    pub const fn lines(self) -> u32 {
        self.lines
    }

    /// Bits in all: 512 for each line.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.lines as u64 * LINE_BITS
    }

    /// Probes of a key; 1 to [`MAX_PROBES`](Self::MAX_PROBES).
    #[inline]
    #[must_use]
    pub const fn probes(self) -> u8 {
        self.probes
    }

    /// The false-positive rate to expect once `keys` distinct keys are in.
    #[must_use]
    pub fn expected_fpp(self, keys: u64) -> f64 {
        rate(keys, self.lines.into(), self.probes)
    }
}

/// The refusal of a filter of `bits` bits.
fn too_large(bits: f64) -> SizingError {
    SizingError::TooLarge { bits, max: u64::from(BlockedParams::MAX_LINES) * LINE_BITS }
}

/// Where to start looking for the best number of probes: ln 2 for each bit per key, as for a classic filter,
/// less a little for the lines that are fuller than the mean.
fn optimal_start(bits_per_key: f64) -> f64 {
    bits_per_key * std::f64::consts::LN_2 * 0.9
}

/// The false-positive rate of a large blocked filter with `bits_per_key` bits for each key and `probes` probes:
/// the Poisson mixture of the module's docs.
///
/// 1 for no bits per key and for fewer, `NaN` for `NaN`.
#[must_use]
pub fn blocked_fpp(bits_per_key: f64, probes: u8) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let mean = float(LINE_BITS) / bits_per_key;
    mixture(mean, probes, |i| mean / (i + 1.0))
}

/// The rate with `keys` keys in `lines` lines (at least one).
fn rate(keys: u64, lines: u64, probes: u8) -> f64 {
    let keys = float(keys);
    if lines == 1 {
        return line_rate(keys, probes);
    }
    let odds = 1.0 / float(lines - 1);
    mixture(keys / float(lines), probes, |i| (keys - i) / (i + 1.0) * odds)
}

/// The rate p(i) of one line that holds `keys` keys, the floor of the 32-bit hash included.
fn line_rate(keys: f64, probes: u8) -> f64 {
    const M: f64 = float(LINE_BITS);
    let (draws, k) = (keys * f64::from(probes), f64::from(probes));
    let zero = ((-1.0 / M).ln_1p() * draws).exp();
    let two_zero = ((-2.0 / M).ln_1p() * draws).exp();
    let set = 1.0 - zero;
    let variance = ((1.0 - 1.0 / M) * two_zero + zero / M - zero * zero).max(0.0);
    let spread =
        if probes < 2 { 0.0 } else { k * (k - 1.0) / 2.0 * set.powi(i32::from(probes) - 2) * variance };
    (set.powi(probes.into()) + spread + keys / 2_f64.powi(32)).min(1.0)
}

/// Σᵢ P(i)·[`line_rate`]`(i)` over a distribution with the given mean, told by `ratio(i)` = P(i+1)/P(i).
///
/// Weights are taken relative to the one at the mean and normalised by their sum, which needs no factorial and
/// can't underflow, whatever the mean.
fn mixture(mean: f64, probes: u8, ratio: impl Fn(f64) -> f64) -> f64 {
    /// Weights below this can't change the sum, even of rates near the floor.
    const NEGLIGIBLE: f64 = 1e-26;
    /// With so many keys in a line on average, no line has a bit unset that matters: the rate is 1.
    const FULL: f64 = 50_000.0;
    if mean.is_nan() {
        return f64::NAN;
    }
    if mean > FULL {
        return 1.0;
    }
    let mode = mean.floor();
    let (mut total, mut sum) = (1.0, line_rate(mode, probes));
    let (mut weight, mut i) = (1.0, mode);
    loop {
        weight *= ratio(i);
        i += 1.0;
        if weight < NEGLIGIBLE {
            break;
        }
        total += weight;
        sum += weight * line_rate(i, probes);
    }
    (weight, i) = (1.0, mode);
    while i > 0.0 {
        i -= 1.0;
        weight /= ratio(i);
        if weight < NEGLIGIBLE {
            break;
        }
        total += weight;
        sum += weight * line_rate(i, probes);
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates measured with this library's probes, 10⁶ keys and enough absent keys for 0.5% of counting error.
    #[test]
    fn the_model_gives_the_measured_rates() {
        for (bits_per_key, probes, percent) in [
            (8.0, 5, 2.3196),
            (10.0, 6, 0.9630),
            (10.0, 7, 0.9674),
            (12.0, 8, 0.4115),
            (14.0, 9, 0.1827),
            (16.0, 9, 0.0833),
            (20.0, 11, 0.01969),
        ] {
            let off = blocked_fpp(bits_per_key, probes) * 100.0 / percent - 1.0;
            assert!((-0.002..0.015).contains(&off), "{bits_per_key} bits, {probes} probes: off by {off}");
        }
    }

    /// One line by simulation: the two terms of p(i), where one falls short.
    #[test]
    fn a_line_is_as_full_as_simulation_says() {
        let mut state = 1_u64;
        let mut random_bit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 55) as usize
        };
        for (keys, probes) in [(20, 8_u8), (51, 6), (30, 12)] {
            let mut sum = 0.0;
            for _ in 0..20_000 {
                let mut line = [false; 512];
                for _ in 0..keys * i32::from(probes) {
                    line[random_bit()] = true;
                }
                let ones = line.iter().filter(|&&bit| bit).count();
                sum += (ones as f64 / 512.0).powi(probes.into());
            }
            let (simulated, model) = (sum / 20_000.0, line_rate(f64::from(keys), probes));
            assert!(
                (model / simulated - 1.0).abs() < 0.01,
                "{keys} keys, {probes} probes: {model}, {simulated}"
            );
        }
    }

    /// The sum with factorials, as the formula is written: an independent way to the same number.
    #[test]
    fn relative_weights_equal_the_formula_written_out() {
        for bits_per_key in [4.0, 10.0, 16.5, 30.0] {
            for probes in [1, 4, 6, 13] {
                let mean = 512.0 / bits_per_key;
                let mut poisson = f64::exp(-mean);
                let mut sum = 0.0;
                for i in 0..1000 {
                    sum += poisson * line_rate(f64::from(i), probes);
                    poisson *= mean / (f64::from(i) + 1.0);
                }
                let got = blocked_fpp(bits_per_key, probes);
                assert!(
                    (got / sum - 1.0).abs() < 1e-9,
                    "{bits_per_key} bits, {probes} probes: {got} and {sum}"
                );
            }
        }
    }

    #[test]
    fn few_lines_are_binomial_and_many_are_poisson() {
        assert_eq!(rate(0, 1, 6), 0.0);
        assert_eq!(rate(0, 1000, 6), 0.0);
        assert_eq!(rate(50, 1, 6), line_rate(50.0, 6));
        assert!((rate(51_200_000, 1_000_000, 6) / blocked_fpp(10.0, 6) - 1.0).abs() < 1e-5);
        // Two keys in two lines: one or two or none in the line that is asked.
        let by_hand = (2.0 * line_rate(1.0, 3) + line_rate(2.0, 3)) / 4.0;
        assert!((rate(2, 2, 3) / by_hand - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_percent_costs_less_than_ten_bits() {
        let params = BlockedParams::for_fpp(1_000_000, 0.01).unwrap();
        let bits_per_key = params.bits() as f64 / 1e6;
        assert!((9.8..9.95).contains(&bits_per_key), "{bits_per_key}");
        assert!(params.expected_fpp(1_000_000) <= 0.01);
        assert!(
            BlockedParams::explicit(params.bits() - 512, params.probes().into())
                .unwrap()
                .expected_fpp(1_000_000)
                > 0.01
        );
    }

    #[test]
    fn the_chosen_probes_are_the_best_of_all() {
        for tenths in (5..=400).step_by(7) {
            let params = BlockedParams::for_bits_per_key(100_000, f64::from(tenths) / 10.0).unwrap();
            let best = params.expected_fpp(100_000);
            for probes in 1..=BlockedParams::MAX_PROBES {
                let other = BlockedParams { probes, ..params }.expected_fpp(100_000);
                assert!(best <= other, "{params:?}: {best}, but {other} with {probes}");
            }
        }
    }

    #[test]
    fn fractions_of_a_bit_count() {
        let bits = |b| BlockedParams::for_bits_per_key(1_000_000, b).unwrap().bits();
        assert_eq!(bits(0.5), 500_224);
        assert!(bits(10.9) > bits(10.8) && bits(10.9) >= 10_900_000);
    }

    #[test]
    fn sizes_past_32_bits_and_past_the_limit() {
        let params = BlockedParams::for_bits_per_key(1 << 32, 10.0).unwrap();
        assert_eq!(params.bits(), 42_949_672_960);
        let params = BlockedParams::for_fpp(50_000_000_000, 0.01).unwrap();
        assert!(params.bits() > 49 << 33);
        for keys in [60_000_000_000, 1_000_000_000_000, u64::MAX] {
            for error in [BlockedParams::for_fpp(keys, 0.01), BlockedParams::for_bits_per_key(keys, 10.0)] {
                let Err(SizingError::TooLarge { bits, max }) = error else { panic!("{error:?}") };
                assert_eq!(max, 1 << 39);
                assert!((9.7..10.1).contains(&(bits / keys as f64)), "{keys} keys: {bits} bits");
            }
        }
        assert!(BlockedParams::explicit(1 << 39, 6).is_ok());
        assert!(matches!(BlockedParams::explicit((1 << 39) + 512, 6), Err(SizingError::TooLarge { .. })));
        assert!(matches!(BlockedParams::explicit(u64::MAX - 511, 6), Err(SizingError::TooLarge { .. })));
    }

    #[test]
    fn no_keys_and_one_key() {
        for keys in [0, 1] {
            assert_eq!(BlockedParams::for_fpp(keys, 0.01).unwrap().lines(), 1);
            assert_eq!(BlockedParams::for_bits_per_key(keys, 10.0).unwrap().lines(), 1);
        }
    }

    /// The sum over a mixture never ended for a weight that is no number, which −0.0 bits per key gave.
    #[test]
    fn the_rate_of_no_bits_is_one() {
        for bits_per_key in [0.0, -0.0, -1e-300, -1.0, f64::NEG_INFINITY] {
            assert_eq!(blocked_fpp(bits_per_key, 6), 1.0, "{bits_per_key}");
            assert_eq!(crate::sizing::classic_fpp(bits_per_key, 6), 1.0, "{bits_per_key}");
        }
        assert!(blocked_fpp(f64::NAN, 6).is_nan());
        assert_eq!(blocked_fpp(f64::INFINITY, 6), 0.0);
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        for fpp in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                matches!(BlockedParams::for_fpp(10, fpp), Err(SizingError::RateOutOfRange { .. })),
                "{fpp}"
            );
        }
        for bits in [0.0, -1.0, 1024.1, f64::NAN, f64::INFINITY] {
            let error = BlockedParams::for_bits_per_key(10, bits);
            assert!(matches!(error, Err(SizingError::BitsPerKeyOutOfRange { .. })), "{bits}");
        }
        for probes in [0, 31, 255, 256, u32::MAX] {
            let error = BlockedParams::explicit(512, probes);
            assert_eq!(error, Err(SizingError::ProbesOutOfRange { got: probes, max: 30 }));
        }
        assert_eq!(BlockedParams::explicit(0, 6), Err(SizingError::NoBits));
        assert_eq!(BlockedParams::explicit(513, 6), Err(SizingError::NotWholeLines { got: 513 }));
    }

    #[test]
    fn a_rate_below_the_hash_is_refused_with_the_floor() {
        for keys in [1_000, 1_000_000_000_000] {
            let error = BlockedParams::for_fpp(keys, 1e-12).unwrap_err();
            let SizingError::RateBelowFloor { target, floor, .. } = error else { panic!("{error:?}") };
            assert!(target == 1e-12 && floor > 1e-12 && floor < 1e-8, "{floor}");
        }
        assert!(BlockedParams::for_fpp(1_000_000, 1e-7).is_ok());
    }
}
