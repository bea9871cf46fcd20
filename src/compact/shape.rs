//! How a line is cut into columns, slots and a threshold, for each number of fingerprint bits r.
//!
//! ```text
//!  bit 0        S         2S                    (r−1)S       rS     512−T    512
//!      ├─────────┼─────────┼──── ··· ────────────┼───────────┼───────┼────────┤
//!      │ column 0│ column 1│                     │ column r−1│ spare │    τ   │
//!      └─────────┴─────────┴──── ··· ────────────┴───────────┴───────┴────────┘
//!        S bits: bit s of column j is bit r−1−j of slot s         zero    T bits
//! ```
//!
//! S = ⌊507 / r⌋ and T = min(8, 512 − rS). Bit b of the line is bit b mod 8 of byte b / 8. The threshold is
//! the high T bits of byte 63.

use crate::line::LineBytes;
use crate::sizing::compact::tau_bits;

/// Index of the byte that holds the threshold in its high bits.
const TAU: usize = 63;

/// The threshold of a line: keys of less rank are in a later layer.
#[inline(always)]
pub(super) fn tau<const R: usize>(line: &LineBytes) -> u8 {
    line[TAU] >> (8 - tau_bits(R))
}

/// Sets the threshold of a line, which must be zero.
#[inline(always)]
pub(super) fn set_tau<const R: usize>(line: &mut LineBytes, tau: u8) {
    line[TAU] |= tau << (8 - tau_bits(R));
}

/// Evaluates `$body` with `$R` a constant equal to the run-time `$r`, which must be in `MIN_R..=MAX_R`;
/// evaluates `$otherwise` if it is not.
macro_rules! with_constant_r {
    ($r:expr, $R:ident => $body:expr, else $otherwise:expr) => {
        $crate::compact::shape::with_constant_r!(@arms $r, $R, $body, $otherwise, 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@arms $r:expr, $R:ident, $body:expr, $otherwise:expr, $($value:literal)*) => {
        match $r {
            $($value => { const $R: usize = $value; $body })*
            _ => $otherwise,
        }
    };
}
pub(super) use with_constant_r;

#[cfg(test)]
mod tests {
    use crate::sizing::compact::{MAX_R, MIN_R};

    #[test]
    fn every_r_has_its_instance() {
        for r in MIN_R..=MAX_R {
            assert_eq!(with_constant_r!(r, R => R, else 0), r);
        }
        assert_eq!(with_constant_r!(3, R => R, else 99), 99);
        assert_eq!(with_constant_r!(17, R => R, else 99), 99);
    }
}
