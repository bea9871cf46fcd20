//! Which filter to build: the flags, and the filter that they make.

use bloomline::error::{FilterError, SizingError};
use bloomline::format::Kind;
use bloomline::hash::{Hasher, KeyHash};
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{BlockedFilter, Budget, ClassicFilter, FilterOptions};
use clap::{Args, ValueEnum};

use crate::exit::Failure;
use crate::hashers::HasherArgs;

/// The kinds of filter that can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindName {
    /// The default: a lookup reads one 64-byte line
    Blocked,
    /// 3% smaller at a rate of 1%, 19% at 0.001%, and several times slower out of cache
    Classic,
}

impl KindName {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Blocked => Kind::Blocked,
            Self::Classic => Kind::Classic,
        }
    }
}

/// The flags that say which filter to build.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilterArgs {
    /// The kind of filter
    #[arg(long, value_enum, default_value = "blocked")]
    pub(crate) kind: KindName,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    hasher: HasherArgs,
}

/// The flags that say how large or how good a filter is to be.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BudgetArgs {
    /// The smallest filter with at most this false-positive rate, 0 < P < 1 [default: 0.01]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    fpp: Option<f64>,
    /// The best filter of so many bits for each key; fractions count
    #[arg(long, value_name = "B", conflicts_with = "fpp", allow_negative_numbers = true)]
    bits_per_key: Option<f64>,
}

impl BudgetArgs {
    /// The budget that was asked for, or 1%.
    pub(crate) fn budget(self) -> Budget {
        self.given().unwrap_or(Budget::Fpp(0.01))
    }

    /// The budget that was asked for, if any.
    pub(crate) fn given(self) -> Option<Budget> {
        self.bits_per_key.map(Budget::BitsPerKey).or_else(|| self.fpp.map(Budget::Fpp))
    }

    /// A sizing error, under the flag that is to blame.
    pub(crate) fn refuse(self, error: SizingError) -> Failure {
        match (error, self.bits_per_key) {
            (error @ SizingError::TooLarge { .. }, _) => Failure::input("filter", error),
            (error, Some(_)) => Failure::input("--bits-per-key", error),
            (error, None) => Failure::input("--fpp", error),
        }
    }
}

impl FilterArgs {
    /// The hasher. Refuses a budget that no number of keys can have too, so that a command that calls this
    /// first has read no key in vain.
    pub(crate) fn hasher(&self) -> Result<Hasher, Failure> {
        let options = FilterOptions::default().kind(self.kind.kind()).budget(self.budget.budget());
        options.estimate(1).map_err(|error| self.budget.refuse(error))?;
        self.hasher.hasher()
    }

    /// The same as the library's options.
    pub(crate) fn options(&self) -> Result<FilterOptions, Failure> {
        let hasher = self.hasher()?;
        Ok(FilterOptions::default().kind(self.kind.kind()).budget(self.budget.budget()).hasher(hasher))
    }

    /// An empty filter for `keys` keys.
    pub(crate) fn filter(&self, keys: u64, hasher: Hasher) -> Result<AnyFilter, Failure> {
        let budget = self.budget.budget();
        AnyFilter::new(self.kind, budget, keys, hasher).map_err(|error| match error {
            FilterError::Sizing(error) => self.budget.refuse(error),
            other => Failure::input("filter", other),
        })
    }
}

/// A filter of any kind that takes keys one after the other.
#[derive(Debug)]
pub(crate) enum AnyFilter {
    Blocked(BlockedFilter),
    Classic(ClassicFilter),
}

impl AnyFilter {
    fn new(kind: KindName, budget: Budget, keys: u64, hasher: Hasher) -> Result<Self, FilterError> {
        Ok(match kind {
            KindName::Blocked => {
                let params = match budget {
                    Budget::BitsPerKey(bits) => BlockedParams::for_bits_per_key(keys, bits)?,
                    Budget::Fpp(fpp) => BlockedParams::for_fpp(keys, fpp)?,
                    other => unreachable!("no flag makes {other:?}"),
                };
                Self::Blocked(BlockedFilter::with_hasher(params, hasher)?)
            }
            KindName::Classic => {
                let params = match budget {
                    Budget::BitsPerKey(bits) => ClassicParams::for_bits_per_key(keys, bits)?,
                    Budget::Fpp(fpp) => ClassicParams::for_fpp(keys, fpp)?,
                    other => unreachable!("no flag makes {other:?}"),
                };
                Self::Classic(ClassicFilter::with_hasher(params, hasher)?)
            }
        })
    }

    pub(crate) fn add_hashes(&mut self, hashes: &[KeyHash]) {
        match self {
            Self::Blocked(filter) => filter.add_hashes(hashes),
            Self::Classic(filter) => filter.add_hashes(hashes),
        };
    }

    pub(crate) fn bits(&self) -> u64 {
        match self {
            Self::Blocked(filter) => filter.params().bits(),
            Self::Classic(filter) => filter.params().bits(),
        }
    }

    /// The false-positive rate by the bits that are really set, which repeated keys can't spoil.
    pub(crate) fn expected_fpp(&self) -> f64 {
        match self {
            Self::Blocked(filter) => filter.expected_fpp_from_fill(),
            Self::Classic(filter) => filter.expected_fpp_from_fill(),
        }
    }
}
