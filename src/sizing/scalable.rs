//! The mathematics of a scalable filter: a row of layers, each larger and stricter than the one before.
//!
//! Layer i takes c₀·sⁱ keys at the false-positive rate P·(1 − r)·rⁱ (Almeida, Baquero, Preguiça, Hutchison 2007,
//! *Scalable Bloom Filters*). An absent key must get past every layer, so the compound rate is at most the sum,
//! and
//!
//! > Σᵢ P·(1 − r)·rⁱ = P·(1 − rᴸ) < P
//!
//! for any number L of layers. A layer costs log₂(1/r) more bits, times 1.44, for each key than the one before
//! it: a tightening r near 1 makes many layers cheap and the first ones dear, r = 0.5 the other way round.
//!
//! The series ends where a layer's rate falls below what its kind can give. At P = 1%, r = 0.5, blocked layers
//! end at about the 26th; they would grow dear some layers before. A first capacity near the number of keys to
//! come is the remedy, and the cheapest in every other way too.

use super::check_rate;
use crate::error::SizingError;

/// The options of a scalable filter, from which the size of every layer follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalableParams {
    first_capacity: u64,
    fpp: f64,
    growth: u8,
    tightening: f64,
}

impl ScalableParams {
    /// The most layers of a filter: with a growth of 2 from one key they hold 2⁶⁴ − 1.
    pub const MAX_LAYERS: u8 = 64;

    /// Layers from `first_capacity` keys on, with a compound false-positive rate below `fpp`, growth 2 and
    /// tightening 0.5.
    ///
    /// # Errors
    /// [`SizingError::NoCapacity`] for 0 keys; [`SizingError::RateOutOfRange`] unless 0 < `fpp` < 1.
    pub fn new(first_capacity: u64, fpp: f64) -> Result<Self, SizingError> {
        check_rate(fpp)?;
        if first_capacity == 0 {
            return Err(SizingError::NoCapacity);
        }
        Ok(Self { first_capacity, fpp, growth: 2, tightening: 0.5 })
    }

    /// Each layer takes `growth` times the keys of the one before it.
    ///
    /// # Errors
    /// [`SizingError::GrowthOutOfRange`] unless it is 2 or 4.
    pub fn with_growth(self, growth: u8) -> Result<Self, SizingError> {
        match growth {
            2 | 4 => Ok(Self { growth, ..self }),
            got => Err(SizingError::GrowthOutOfRange { got }),
        }
    }

    /// Each layer has `tightening` times the false-positive rate of the one before it.
    ///
    /// # Errors
    /// [`SizingError::TighteningOutOfRange`] unless 0.5 ≤ `tightening` ≤ 0.9.
    pub fn with_tightening(self, tightening: f64) -> Result<Self, SizingError> {
        if (0.5..=0.9).contains(&tightening) {
            Ok(Self { tightening, ..self })
        } else {
            Err(SizingError::TighteningOutOfRange { got: tightening })
        }
    }

    /// Keys that the first layer is sized for, at least 1.
    #[must_use]
    pub const fn first_capacity(self) -> u64 {
        self.first_capacity
    }

    /// The rate that the compound rate stays below.
    #[must_use]
    pub const fn fpp(self) -> f64 {
        self.fpp
    }

    /// How many times the keys of the layer before it a layer takes: 2 or 4.
    #[must_use]
    pub const fn growth(self) -> u8 {
        self.growth
    }

    /// How many times the rate of the layer before it a layer has: 0.5 to 0.9.
    #[must_use]
    pub const fn tightening(self) -> f64 {
        self.tightening
    }

    /// Keys that layer `layer` is sized for, the first being 0: c₀·sⁱ, or [`u64::MAX`] where that is more.
    #[must_use]
    pub fn layer_capacity(self, layer: u8) -> u64 {
        self.first_capacity.saturating_mul(u64::from(self.growth).saturating_pow(layer.into()))
    }

    /// The rate of layer `layer`, the first being 0, when it is full: P·(1 − r)·rⁱ.
    #[must_use]
    pub fn layer_fpp(self, layer: u8) -> f64 {
        self.fpp * (1.0 - self.tightening) * self.tightening.powi(layer.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_of_all_layers_sum_to_less_than_the_target() {
        for tightening in [0.5, 0.7, 0.9] {
            let params = ScalableParams::new(1000, 0.01).unwrap().with_tightening(tightening).unwrap();
            let mut sum = 0.0;
            for layer in 0..ScalableParams::MAX_LAYERS {
                sum += params.layer_fpp(layer);
                let left = 0.01 * tightening.powi(i32::from(layer) + 1);
                assert!((sum + left - 0.01).abs() < 1e-12, "{tightening}, layer {layer}: {sum}");
            }
        }
    }

    #[test]
    fn capacities_grow_geometrically_and_saturate() {
        let params = ScalableParams::new(1000, 0.01).unwrap();
        assert_eq!([0, 1, 2, 9].map(|layer| params.layer_capacity(layer)), [1000, 2000, 4000, 512_000]);
        let params = params.with_growth(4).unwrap();
        assert_eq!([0, 1, 2, 5].map(|layer| params.layer_capacity(layer)), [1000, 4000, 16_000, 1_024_000]);
        assert_eq!(params.layer_capacity(63), u64::MAX);
        let most = ScalableParams::new(u64::MAX, 0.01).unwrap();
        assert_eq!(most.layer_capacity(0), u64::MAX);
        assert_eq!(ScalableParams::new(1, 0.01).unwrap().layer_capacity(63), 1 << 63);
    }

    #[test]
    fn what_is_no_option_is_refused() {
        assert_eq!(ScalableParams::new(0, 0.01), Err(SizingError::NoCapacity));
        for fpp in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(ScalableParams::new(1, fpp), Err(SizingError::RateOutOfRange { .. })), "{fpp}");
        }
        let params = ScalableParams::new(1, 0.01).unwrap();
        for growth in [0, 1, 3, 5, 255] {
            assert_eq!(params.with_growth(growth), Err(SizingError::GrowthOutOfRange { got: growth }));
        }
        for tightening in [0.0, 0.49, 0.91, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            let refused = params.with_tightening(tightening);
            assert!(matches!(refused, Err(SizingError::TighteningOutOfRange { .. })), "{tightening}");
        }
        assert!(params.with_tightening(0.5).is_ok() && params.with_tightening(0.9).is_ok());
    }
}
