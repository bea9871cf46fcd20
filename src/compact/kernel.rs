//! Lookups compiled for each r and each machine.
//!
//! The portable instances define the answers. The others are the same code, compiled for machines that count
//! bits in one instruction: without it, a default x86-64 build spends a dozen on every column.

use super::read::CompactView;
use super::shape::with_constant_r;
use crate::hash::KeyHash;
use crate::probe::kernel::Isa;

#[inline(always)]
pub(super) fn might_contain(view: &CompactView<'_>, y: u64) -> bool {
    match view.backend.isa() {
        Isa::Scalar => with_constant_r!(view.r(), R => portable::one::<R>(view, y), else true),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            #[expect(unsafe_code, reason = "a call that needs CPU features")]
            // SAFETY: the `Avx2` in the backend exists, so detection has seen these four features on this CPU.
            unsafe {
                with_constant_r!(view.r(), R => avx2::one::<R>(view, y), else true)
            }
        }
    }
}

pub(super) fn might_contain_batch(view: &CompactView<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
    match view.backend.isa() {
        Isa::Scalar => {
            with_constant_r!(view.r(), R => portable::batch::<R>(view, hashes, answers), else answers.fill(true));
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            #[expect(unsafe_code, reason = "a call that needs CPU features")]
            // SAFETY: the `Avx2` in the backend exists, so detection has seen these four features on this CPU.
            unsafe {
                with_constant_r!(view.r(), R => avx2::batch::<R>(view, hashes, answers), else answers.fill(true));
            }
        }
    }
}

/// The entry points, with the attributes and the test of a line given.
macro_rules! instances {
    ($name:ident, $holds:path, $(#[$attribute:meta])*) => {
        mod $name {
            use super::{CompactView, KeyHash};
            use $holds as holds;

            $(#[$attribute])*
            pub(super) fn one<const R: usize>(view: &CompactView<'_>, y: u64) -> bool {
                view.lookup::<R>(y, |l, c, place| holds::<R>(l, c, place), |y| deeper::<R>(view, y))
            }

            $(#[$attribute])*
            pub(super) fn batch<const R: usize>(view: &CompactView<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
                view.batch::<R>(hashes, answers, |l, c, place| holds::<R>(l, c, place), |y| deeper::<R>(view, y));
            }

            /// Apart, so that the first layer's code saves no registers for it.
            $(#[$attribute])*
            #[inline(never)]
            fn deeper<const R: usize>(view: &CompactView<'_>, y: u64) -> bool {
                view.deeper::<R>(y, |l, c, place| holds::<R>(l, c, place), |y| deepest::<R>(view, y))
            }

            /// Apart again, for the second layer's code.
            $(#[$attribute])*
            #[inline(never)]
            fn deepest<const R: usize>(view: &CompactView<'_>, y: u64) -> bool {
                view.deepest::<R>(y, |l, c, place| holds::<R>(l, c, place))
            }
        }
    };
}

instances!(portable, crate::compact::probe::holds,);
#[cfg(target_arch = "x86_64")]
instances!(avx2, crate::compact::avx2::holds, #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]);
