//! Which instructions a filter is built and read with.

/// Proof that the instructions it names may run on this machine: only detection makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backend(pub(super) Isa);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    /// What every machine has.
    Portable,
    /// AVX2, BMI1, BMI2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Backend {
    /// The portable code, which defines what the others must answer.
    pub(super) const fn scalar() -> Self {
        Self(Isa::Portable)
    }

    /// AVX2 with the bit-counting instructions, if this machine has them.
    pub(super) fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            return Some(Self(Isa::Avx2));
        }
        None
    }

    /// The fastest of them.
    pub(super) fn detect() -> Self {
        Self::avx2().unwrap_or(Self::scalar())
    }
}
