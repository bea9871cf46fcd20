//! The mathematics of a classic Bloom filter: probes anywhere in `m` bits.
//!
//! # The rate
//! After `n` keys of `k` probes each, a bit is still zero with probability (1 − 1/m)^(n·k) ≈ e^(−n·k/m), and an
//! absent key meets `k` ones with probability p = (1 − e^(−n·k/m))^k (Bloom 1970). It is lowest near
//! k = (m/n)·ln 2, where p = 2^−k and a key costs log₂(e)·log₂(1/p) ≈ 1.44·log₂(1/p) bits.
//!
//! Two keys with the same 64-bit hash can't be told apart, which adds n/2⁶⁴.

use super::{
    MAX_BITS_PER_KEY, best_probes, check_bits_per_key, check_probes, check_rate, float, smallest_fitting,
};
use crate::error::SizingError;

/// The size and the probes of a classic filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClassicParams {
    bits: u64,
    probes: u8,
}

impl ClassicParams {
    /// The most bits that a filter can have: 2⁴⁸, 32 TiB, more than any machine addresses.
    pub const MAX_BITS: u64 = 1 << 48;

    /// The most probes of a key: as many as a 64-bit hash can tell rates apart.
    pub const MAX_PROBES: u8 = 64;

    /// The smallest filter that, holding `keys` distinct keys, has a false-positive rate of at most `fpp`.
    ///
    /// # Errors
    /// [`SizingError::RateOutOfRange`] unless 0 < `fpp` < 1; [`SizingError::RateBelowFloor`] where a 64-bit
    /// hash can't give the rate; [`SizingError::TooLarge`] past [`MAX_BITS`](Self::MAX_BITS).
    pub fn for_fpp(keys: u64, fpp: f64) -> Result<Self, SizingError> {
        check_rate(fpp)?;
        let floor = float(keys) / 2_f64.powi(64);
        let with_bits = |bits: u64| {
            let rate = |probes| rate(keys, bits, probes);
            let probes = best_probes(optimal(keys, bits), Self::MAX_PROBES, rate);
            (probes, rate(probes))
        };
        let most = (float(keys) * MAX_BITS_PER_KEY).max(512.0);
        let limit = float(Self::MAX_BITS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 512 and 2^48")]
        let high = most.min(limit) as u64;
        match smallest_fitting(1, high, |bits| with_bits(bits).1 <= fpp) {
            Some(bits) => Self::new(float(bits), bits, with_bits(bits).0),
            None if fpp <= floor || most <= limit => {
                Err(SizingError::RateBelowFloor { target: fpp, keys, floor: with_bits(high).1.max(floor) })
            }
            None => {
                let bits = float(keys) * (1.0 / (fpp - floor)).log2() * std::f64::consts::LOG2_E;
                Err(SizingError::TooLarge { bits, max: Self::MAX_BITS })
            }
        }
    }

    /// A filter of `bits_per_key` bits for each of `keys` keys, rounded up, with the number of probes that gives
    /// it the lowest rate. Fractions count.
    ///
    /// # Errors
    /// [`SizingError::BitsPerKeyOutOfRange`] unless 0 < `bits_per_key` ≤ [`MAX_BITS_PER_KEY`];
    /// [`SizingError::TooLarge`] past [`MAX_BITS`](Self::MAX_BITS).
    pub fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, SizingError> {
        check_bits_per_key(bits_per_key)?;
        let exact = (float(keys) * bits_per_key).ceil().max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is refused then"
        )]
        let bits = exact as u64;
        Self::new(exact, bits, best_probes(optimal(keys, bits), Self::MAX_PROBES, |k| rate(keys, bits, k)))
    }

    /// A filter of exactly `bits` bits, any number from 1, and `probes` probes.
    ///
    /// # Errors
    /// [`SizingError::NoBits`], [`SizingError::TooLarge`] or [`SizingError::ProbesOutOfRange`].
    pub fn explicit(bits: u64, probes: u32) -> Result<Self, SizingError> {
        Self::new(float(bits), bits, check_probes(probes, Self::MAX_PROBES)?)
    }

    /// `exact` is the size that was asked for, before it saturated at 64 bits.
    fn new(exact: f64, bits: u64, probes: u8) -> Result<Self, SizingError> {
        match bits {
            0 => Err(SizingError::NoBits),
            1..=Self::MAX_BITS => Ok(Self { bits, probes }),
            _ => Err(SizingError::TooLarge { bits: exact, max: Self::MAX_BITS }),
        }
    }

    /// Bits in all; 1 to [`MAX_BITS`](Self::MAX_BITS).
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits
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
        rate(keys, self.bits, self.probes)
    }
}

/// The best number of probes before rounding: (m/n)·ln 2.
fn optimal(keys: u64, bits: u64) -> f64 {
    float(bits) / float(keys.max(1)) * std::f64::consts::LN_2
}

/// The false-positive rate of a large classic filter with `bits_per_key` bits for each key and `probes` probes:
/// (1 − e^(−k/b))^k.
///
/// 1 for no bits per key and for fewer, `NaN` for `NaN`.
#[must_use]
pub fn classic_fpp(bits_per_key: f64, probes: u8) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let probes = f64::from(probes);
    (-(-probes / bits_per_key).exp_m1()).powf(probes)
}

/// The rate with `keys` keys in `bits` bits (at least one), the floor of the 64-bit hash included.
fn rate(keys: u64, bits: u64, probes: u8) -> f64 {
    let draws = float(keys) * f64::from(probes);
    // ln(1 − 1/m) is −∞ for the filter of one bit, and 0·∞ is no number.
    let zero = if draws == 0.0 { 0.0 } else { (-1.0 / float(bits)).ln_1p() * draws };
    ((-zero.exp_m1()).powi(probes.into()) + float(keys) / 2_f64.powi(64)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_rates_of_an_unblocked_filter() {
        for (bits_per_key, probes, percent) in
            [(8.0, 6, 2.15), (10.0, 7, 0.819), (12.0, 8, 0.314), (16.0, 11, 0.0459)]
        {
            let got = classic_fpp(bits_per_key, probes) * 100.0;
            assert!((got / percent - 1.0).abs() < 0.01, "{bits_per_key}: {got}");
            let params = ClassicParams::for_bits_per_key(1_000_000, bits_per_key).unwrap();
            assert_eq!(params.probes(), probes);
            assert!((params.expected_fpp(1_000_000) * 100.0 / got - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn one_percent_costs_under_9_60_bits() {
        let params = ClassicParams::for_fpp(1_000_000, 0.01).unwrap();
        assert!(params.bits() <= 9_600_000, "{params:?}");
        assert!(params.expected_fpp(1_000_000) <= 0.01);
        assert!(ClassicParams { bits: params.bits() - 1, ..params }.expected_fpp(1_000_000) > 0.01);
    }

    #[test]
    fn tiny_filters() {
        assert_eq!(ClassicParams::explicit(1, 1).unwrap().expected_fpp(0), 0.0);
        assert_eq!(ClassicParams::explicit(1, 1).unwrap().expected_fpp(1), 1.0);
        let sixteen = ClassicParams::explicit(16, 3).unwrap();
        assert!((sixteen.expected_fpp(1) - (1.0 - (15.0_f64 / 16.0).powi(3)).powi(3)).abs() < 1e-12);
        assert!(ClassicParams::for_fpp(0, 0.01).unwrap().bits() >= 1);
        assert!(ClassicParams::for_fpp(1, 0.01).unwrap().expected_fpp(1) <= 0.01);
    }

    #[test]
    fn large_and_impossible_sizes() {
        let params = ClassicParams::for_fpp(1_000_000_000_000, 0.01).unwrap();
        assert!((9.5e12..9.6e12).contains(&(params.bits() as f64)));
        for error in [ClassicParams::for_fpp(1 << 46, 0.01), ClassicParams::for_bits_per_key(u64::MAX, 10.0)]
        {
            assert!(matches!(error, Err(SizingError::TooLarge { .. })), "{error:?}");
        }
        for (keys, fpp) in [(1 << 20, 1e-15), (u64::MAX, 0.01), (1_000_000, 1e-300)] {
            let error = ClassicParams::for_fpp(keys, fpp);
            assert!(
                matches!(error, Err(SizingError::RateBelowFloor { .. } | SizingError::TooLarge { .. })),
                "{error:?}"
            );
        }
        assert!(matches!(ClassicParams::for_fpp(1 << 20, 1e-15), Err(SizingError::RateBelowFloor { .. })));
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        for fpp in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(matches!(ClassicParams::for_fpp(10, fpp), Err(SizingError::RateOutOfRange { .. })));
        }
        for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = ClassicParams::for_bits_per_key(10, bits);
            assert!(matches!(error, Err(SizingError::BitsPerKeyOutOfRange { .. })));
        }
        assert_eq!(ClassicParams::explicit(0, 1), Err(SizingError::NoBits));
        for probes in [0, 65, 255, 256] {
            let error = ClassicParams::explicit(1, probes);
            assert_eq!(error, Err(SizingError::ProbesOutOfRange { got: probes, max: 64 }));
        }
        assert!(matches!(ClassicParams::explicit(u64::MAX, 1), Err(SizingError::TooLarge { .. })));
    }
}
