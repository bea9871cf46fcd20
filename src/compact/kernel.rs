//! Lookups compiled for each r and each machine.
//!
//! The portable instances define the answers. The others are the same code, compiled for machines that count
//! bits in one instruction: without it, a default x86-64 build spends a dozen on every column.

use super::read::{Body, CompactLayout};
use super::shape::with_constant_r;
use crate::hash::KeyHash;
use crate::line::LineBytes;
use crate::probe::Backend;
use crate::probe::kernel::Isa;

#[inline(always)]
pub(super) fn might_contain(backend: Backend, body: Body<'_>, y: u64) -> bool {
    match backend.isa() {
        Isa::Scalar => {
            with_constant_r!(body.r(), R => portable::one::<R>(body.lines, body.layout, y), else true)
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            #[expect(unsafe_code, reason = "a call that needs CPU features")]
            // SAFETY: the `Avx2` in the backend exists, so detection has seen these four features on this CPU.
            unsafe {
                with_constant_r!(body.r(), R => avx2::one::<R>(body.lines, body.layout, y), else true)
            }
        }
    }
}

pub(super) fn might_contain_batch(
    backend: Backend,
    body: Body<'_>,
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    match backend.isa() {
        Isa::Scalar => {
            with_constant_r!(body.r(), R => portable::batch::<R>(body, hashes, answers), else answers.fill(true));
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            #[expect(unsafe_code, reason = "a call that needs CPU features")]
            // SAFETY: the `Avx2` in the backend exists, so detection has seen these four features on this CPU.
            unsafe {
                with_constant_r!(body.r(), R => avx2::batch::<R>(body, hashes, answers), else answers.fill(true));
            }
        }
    }
}

/// The entry points, with the attributes and the test of a line given. What a single lookup is of comes in registers:
/// a structure of more than two words would be written to memory first, and read from there.
macro_rules! instances {
    ($name:ident, $holds:path, $(#[$attribute:meta])*) => {
        mod $name {
            use super::{Body, CompactLayout, KeyHash, LineBytes};
            use $holds as holds;

            $(#[$attribute])*
            pub(super) fn one<const R: usize>(lines: &[LineBytes], layout: &CompactLayout, y: u64) -> bool {
                let body = Body { lines, layout };
                body.lookup::<R>(y, |l, c, place| holds::<R>(l, c, place), |y| deeper::<R>(lines, layout, y))
            }

            $(#[$attribute])*
            pub(super) fn batch<const R: usize>(body: Body<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
                let Body { lines, layout } = body;
                let deeper = |y| deeper::<R>(lines, layout, y);
                body.batch::<R>(hashes, answers, |l, c, place| holds::<R>(l, c, place), deeper);
            }

            /// Apart, so that the first layer's code saves no registers for it.
            $(#[$attribute])*
            #[inline(never)]
            fn deeper<const R: usize>(lines: &[LineBytes], layout: &CompactLayout, y: u64) -> bool {
                let body = Body { lines, layout };
                body.deeper::<R>(y, |l, c, place| holds::<R>(l, c, place), |y| deepest::<R>(lines, layout, y))
            }

            /// Apart again, for the second layer's code.
            $(#[$attribute])*
            #[inline(never)]
            fn deepest<const R: usize>(lines: &[LineBytes], layout: &CompactLayout, y: u64) -> bool {
                Body { lines, layout }.deepest::<R>(y, |l, c, place| holds::<R>(l, c, place))
            }
        }
    };
}

instances!(portable, crate::compact::probe::holds,);
#[cfg(target_arch = "x86_64")]
instances!(avx2, crate::compact::avx2::holds, #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]);
