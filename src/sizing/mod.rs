//! Sizing: how many bits and probes a filter needs, and what false-positive rate it will have.
//!
//! Pure functions and validated value objects, no I/O. A value object ([`BlockedParams`], [`ClassicParams`],
//! [`CompactParams`], [`ScalableParams`]) can only be made by a constructor that checked it, and two equal values
//! mean compatible filters: the same hash sets the same bits in both.
//!
//! All sizes are 64-bit. Fractions of a bit per key are honoured: 10.9 is not 10.

mod blocked;
mod classic;
pub(crate) mod compact;
mod scalable;

pub use blocked::{BlockedParams, blocked_fpp};
pub use classic::{ClassicParams, classic_fpp};
pub use compact::{CompactEstimate, CompactParams};
pub use scalable::ScalableParams;

use crate::error::SizingError;

/// The most bits per key that any constructor accepts. Past it a filter is larger than a list of the keys'
/// hashes by a factor that can only be a mistake.
pub const MAX_BITS_PER_KEY: f64 = 1024.0;

/// Refuses a rate that is not strictly between 0 and 1, `NaN` included.
fn check_rate(fpp: f64) -> Result<(), SizingError> {
    if fpp > 0.0 && fpp < 1.0 { Ok(()) } else { Err(SizingError::RateOutOfRange { got: fpp }) }
}

/// Refuses bits per key outside (0, [`MAX_BITS_PER_KEY`]], `NaN` included.
fn check_bits_per_key(bits_per_key: f64) -> Result<(), SizingError> {
    if bits_per_key > 0.0 && bits_per_key <= MAX_BITS_PER_KEY {
        Ok(())
    } else {
        Err(SizingError::BitsPerKeyOutOfRange { got: bits_per_key, max: MAX_BITS_PER_KEY })
    }
}

/// Refuses a number of probes outside 1..=`max`.
fn check_probes(probes: u32, max: u8) -> Result<u8, SizingError> {
    match u8::try_from(probes) {
        Ok(checked @ 1..) if checked <= max => Ok(checked),
        _ => Err(SizingError::ProbesOutOfRange { got: probes, max: max.into() }),
    }
}

/// The smallest `size` in `low..=high` for which `fits` holds, where it holds for every size above one for
/// which it holds. `None` where not even `high` fits.
fn smallest_fitting(mut low: u64, mut high: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// The number of probes in `1..=max` with the lowest rate, found by walking downhill from `start`. The rate of
/// a Bloom filter has one minimum over the number of probes.
fn best_probes(start: f64, max: u8, rate: impl Fn(u8) -> f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1..=max first")]
    let mut best = start.round().clamp(1.0, f64::from(max)) as u8;
    let mut lowest = rate(best);
    for step in [-1_i8, 1] {
        while let Some(next) = best.checked_add_signed(step).filter(|next| (1..=max).contains(next)) {
            let candidate = rate(next);
            if candidate >= lowest {
                break;
            }
            (best, lowest) = (next, candidate);
        }
    }
    best
}

/// `x` as a number for the formulas.
#[expect(clippy::cast_precision_loss, reason = "a rate needs no more than the 53 bits that f64 keeps")]
const fn float(x: u64) -> f64 {
    x as f64
}
