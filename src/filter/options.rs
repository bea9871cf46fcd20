//! Which filter to build: kind, budget and hasher, for one filter or for each level of an LSM tree.

use super::bloom::Schema;
use std::collections::BTreeMap;

use crate::error::SizingError;
use crate::format::Kind;
use crate::hash::Hasher;
use crate::probe::Probe;
use crate::sizing::{BlockedParams, ClassicParams, CompactEstimate, CompactParams};

/// What a filter may cost, or what it must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// The smallest filter with at most this false-positive rate, strictly between 0 and 1.
    Fpp(f64),
    /// The best filter of so many bits for each key; fractions count.
    BitsPerKey(f64),
}

/// Which filter to build. The default is a blocked filter with a false-positive rate of 1% and the default
/// hasher.
///
/// ```
/// use bloomline::format::Kind;
/// use bloomline::{Budget, FilterOptions};
///
/// let options = FilterOptions::default().budget(Budget::BitsPerKey(12.5)).kind(Kind::Classic);
/// ```
#[derive(Debug, Clone)]
pub struct FilterOptions {
    pub(crate) kind: Kind,
    pub(crate) budget: Budget,
    pub(crate) hasher: Hasher,
    pub(crate) compact_load: Option<u16>,
    pub(crate) threads: usize,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            kind: Kind::Blocked,
            budget: Budget::Fpp(0.01),
            hasher: Hasher::default(),
            compact_load: None,
            threads: 1,
        }
    }
}

/// The sizing of a filter of one of the kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnyParams {
    Classic(ClassicParams),
    Blocked(BlockedParams),
    Compact(CompactParams),
}

impl FilterOptions {
    /// Sets the kind: any but [`Kind::Scalable`], which has no size to be built in. Building refuses that with
    /// [`SizingError::NoFixedSize`]; [`ScalableFilter`](super::ScalableFilter) is made by its own options.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the budget.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Sets the hasher.
    #[must_use]
    pub fn hasher(self, hasher: Hasher) -> Self {
        Self { hasher, ..self }
    }

    /// Sets the load of a compact filter: keys for each hundred slots of a line, 80 to 130. A higher load takes
    /// less space and sends more lookups on to a second line. Other kinds have no use for it.
    #[must_use]
    pub fn compact_load(self, load: u16) -> Self {
        Self { compact_load: Some(load), ..self }
    }

    /// Sets how many threads build the filter; 1 unless set. The bytes are the same for any number. A classic
    /// filter is built by one all the same.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Bytes of the lines of a filter for `keys` distinct keys, and the false-positive rate that it will have.
    ///
    /// # Errors
    /// What the sizing of the kind refuses.
    pub fn estimate(&self, keys: u64) -> Result<(u64, f64), SizingError> {
        fn of(params: impl Probe, keys: u64) -> (u64, f64) {
            (params.bits().div_ceil(512) * 64, params.expected_fpp(keys))
        }
        Ok(match self.params(keys)? {
            AnyParams::Classic(params) => of(params, keys),
            AnyParams::Blocked(params) => of(params, keys),
            AnyParams::Compact(params) => {
                let estimate = params.model(keys);
                (estimate.bytes, estimate.fpp)
            }
        })
    }

    /// What a compact filter within the budget and with the load set is expected to take for `keys` distinct
    /// keys, whatever kind is set.
    ///
    /// # Errors
    /// What the sizing of compact filters refuses.
    pub fn compact_estimate(&self, keys: u64) -> Result<CompactEstimate, SizingError> {
        Ok(self.compact_params(keys)?.model(keys))
    }

    fn compact_params(&self, keys: u64) -> Result<CompactParams, SizingError> {
        match (self.budget, self.compact_load) {
            (Budget::Fpp(fpp), None) => CompactParams::for_fpp(fpp),
            (Budget::Fpp(fpp), Some(load)) => CompactParams::for_fpp(fpp)?.with_load(load),
            (Budget::BitsPerKey(bits), None) => CompactParams::for_bits_per_key(keys, bits),
            (Budget::BitsPerKey(bits), Some(load)) => CompactParams::for_bits_per_key_at(load, keys, bits),
        }
    }

    /// The sizing for `keys` keys.
    pub(crate) fn params(&self, keys: u64) -> Result<AnyParams, SizingError> {
        match self.kind {
            Kind::Classic => ClassicParams::for_budget(keys, self.budget).map(AnyParams::Classic),
            Kind::Blocked => BlockedParams::for_budget(keys, self.budget).map(AnyParams::Blocked),
            Kind::Compact => self.compact_params(keys).map(AnyParams::Compact),
            Kind::Scalable => Err(SizingError::NoFixedSize),
        }
    }
}

/// Which filter to build at each level of an LSM tree, level 0 the youngest.
///
/// A lookup of an absent key asks the filter of every level, so what counts is the sum of the levels' rates; and
/// nine tenths of the keys, and of the filters' memory, lie in the last level. Giving the small levels more bits
/// for each key than the last one costs little and saves most (Dayan, Athanassoulis, Idreos 2017, *Monkey*).
#[derive(Debug, Clone)]
pub struct LevelOptions {
    levels: BTreeMap<usize, Option<FilterOptions>>,
    others: Option<FilterOptions>,
}

impl LevelOptions {
    /// The same filter at every level.
    #[must_use]
    pub fn uniform(options: FilterOptions) -> Self {
        Self { levels: BTreeMap::new(), others: Some(options) }
    }

    /// The filter of one level; `None` for no filter there. Levels not set have the uniform one.
    #[must_use]
    pub fn level(mut self, level: usize, options: Option<FilterOptions>) -> Self {
        self.levels.insert(level, options);
        self
    }

    /// The filter to build for a file of `level`; `None` for no filter.
    #[must_use]
    pub fn options(&self, level: usize) -> Option<&FilterOptions> {
        self.levels.get(&level).unwrap_or(&self.others).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The load once was set after the fingerprints had been chosen for another: at a low one the filter took more
    /// bits than its budget.
    #[test]
    fn a_compact_filter_keeps_its_budget_of_bits_at_every_load() {
        let options = FilterOptions::default().kind(Kind::Compact).budget(Budget::BitsPerKey(9.0));
        for load in [80, 95, 110, 130] {
            let (bytes, fpp) = options.clone().compact_load(load).estimate(100_000).unwrap();
            let bits_per_key = bytes as f64 * 8.0 / 100_000.0;
            assert!((7.5..=9.001).contains(&bits_per_key), "{load}: {bits_per_key}");
            let estimate = options.clone().compact_load(load).compact_estimate(100_000).unwrap();
            assert_eq!((estimate.bytes, estimate.fpp), (bytes, fpp));
        }
        let refused = options.clone().compact_load(80).budget(Budget::BitsPerKey(4.5)).estimate(100_000);
        assert!(matches!(refused, Err(SizingError::BitsPerKeyTooFew { .. })), "{refused:?}");
        assert!(options.budget(Budget::BitsPerKey(4.5)).estimate(100_000).is_ok());
    }
}
