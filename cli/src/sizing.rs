//! Which filter to build: the flags, and the sizes that follow from them.

use bloomline::error::{FilterError, SizingError};
use bloomline::filter::Schema;
use bloomline::format::Kind;
use bloomline::hash::Hasher;
use bloomline::sizing::ScalableParams;
use bloomline::{Budget, FilterOptions};
use clap::builder::PossibleValue;
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
    /// 26% smaller at a rate of 1%, 31% at 0.01%; slower to build, and can't be merged
    Compact,
    /// Grows with its input, so that its length need not be known; larger and slower than the others
    Scalable,
}

impl KindName {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Blocked => Kind::Blocked,
            Self::Classic => Kind::Classic,
            Self::Compact => Kind::Compact,
            Self::Scalable => Kind::Scalable,
        }
    }
}

/// The kinds that are sized for a number of keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedKind(KindName);

impl SizedKind {
    pub(crate) fn kind(self) -> Kind {
        self.0.kind()
    }
}

impl ValueEnum for SizedKind {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(KindName::Blocked), Self(KindName::Classic), Self(KindName::Compact)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        self.0.to_possible_value()
    }
}

/// The flags that say how good a filter is to be, and how its keys are hashed.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) hasher: HasherArgs,
}

/// The flags that say how large or how good a filter is to be.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BudgetArgs {
    /// The smallest filter with at most this false-positive rate, 0 < P < 1, such as 0.001 or 0.1% [default: 0.01]
    #[arg(long, value_name = "P", value_parser = rate, allow_negative_numbers = true)]
    fpp: Option<f64>,
    /// The best filter of so many bits for each key; fractions count
    #[arg(long, value_name = "B", conflicts_with = "fpp", allow_negative_numbers = true)]
    bits_per_key: Option<f64>,
}

/// A rate as people write it and as the command prints it: a fraction or a percentage.
fn rate(text: &str) -> Result<f64, &'static str> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    let number: f64 = number.parse().map_err(|_| "expected a rate, such as 0.01 or 1%")?;
    Ok(number / whole)
}

/// The flag that trades space of a compact filter for second lines.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LoadArgs {
    /// Of a compact filter: keys for each hundred slots of a line, 80 to 130 [default: 110]. A higher load makes
    /// the filter smaller and sends more lookups on to a second line, a lower one the other way round; `plan`
    /// shows how much of each
    #[arg(long, value_name = "N")]
    compact_load: Option<u16>,
}

impl LoadArgs {
    /// Refuses the flag, which is of no use to a filter of another kind.
    pub(crate) fn refuse_if_given(self) -> Result<(), Failure> {
        match self.compact_load {
            Some(_) => Err(Failure::input("--compact-load", "of use to --kind compact only")),
            None => Ok(()),
        }
    }

    /// Options with the load that was asked for, if any.
    pub(crate) fn apply(self, options: FilterOptions) -> FilterOptions {
        match self.compact_load {
            Some(load) => options.compact_load(load),
            None => options,
        }
    }
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
        let flag = match error {
            SizingError::TooLarge { .. } => "filter",
            SizingError::LoadOutOfRange { .. } => "--compact-load",
            SizingError::NoCapacity => "--first-capacity",
            SizingError::GrowthOutOfRange { .. } => "--growth",
            SizingError::TighteningOutOfRange { .. } => "--tightening",
            _ if self.bits_per_key.is_some() => "--bits-per-key",
            _ => "--fpp",
        };
        Failure::input(flag, error)
    }
}

impl FilterArgs {
    pub(crate) fn hasher(&self) -> Result<Hasher, Failure> {
        self.hasher.hasher()
    }

    /// The options of a filter of a kind that is sized for a number of keys. Refuses a budget that no number of
    /// keys can have, so that a command that calls this first has read no key in vain.
    pub(crate) fn options(&self, kind: Kind) -> Result<FilterOptions, Failure> {
        /// What a compact filter takes for each key falls with their number, and hardly from here on.
        const MANY: u64 = 1 << 20;
        if kind != Kind::Compact {
            self.load.refuse_if_given()?;
        }
        let options = FilterOptions::default().kind(kind).budget(self.budget.budget());
        let options = self.load.apply(options);
        let keys = if kind == Kind::Compact { MANY } else { 1 };
        options.estimate(keys).map_err(|error| self.budget.refuse(error))?;
        Ok(options.hasher(self.hasher()?))
    }

    /// The size of a filter for `keys` keys.
    pub(crate) fn params<P: Schema>(&self, keys: u64) -> Result<P, Failure> {
        P::for_budget(keys, self.budget.budget()).map_err(|error| self.budget.refuse(error))
    }

    /// What kept a filter from being made.
    pub(crate) fn refuse(&self, error: FilterError) -> Failure {
        match error {
            FilterError::Sizing(error) => self.budget.refuse(error),
            other => Failure::input("filter", other),
        }
    }
}

/// The flags of a filter that grows.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ScalableArgs {
    /// Of a scalable filter: the keys that its first layer is sized for, best about as many as there will be
    /// [default: 1000000]
    #[arg(long, value_name = "N", value_parser = parse_keys)]
    first_capacity: Option<u64>,
    /// Of a scalable filter: how many times the keys of the layer before it each layer takes, 2 or 4
    /// [default: 2]
    #[arg(long, value_name = "S")]
    growth: Option<u8>,
    /// Of a scalable filter: how many times the rate of the layer before it each layer has, 0.5 to 0.9. Near 1,
    /// the first layers are larger and later ones smaller [default: 0.5]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    tightening: Option<f64>,
}

impl ScalableArgs {
    /// Refuses flags that are of no use to a filter of another kind.
    pub(crate) fn refuse_if_given(self) -> Result<(), Failure> {
        let given = [
            ("--first-capacity", self.first_capacity.is_some()),
            ("--growth", self.growth.is_some()),
            ("--tightening", self.tightening.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::input(flag, "of use to --kind scalable only")),
            None => Ok(()),
        }
    }

    /// The options of the filter.
    pub(crate) fn params(self, budget: BudgetArgs) -> Result<ScalableParams, Failure> {
        const FIRST_CAPACITY: u64 = 1_000_000;
        let Budget::Fpp(fpp) = budget.budget() else {
            let problem = "a scalable filter is made by its rate, expected --fpp";
            return Err(Failure::input("--bits-per-key", problem));
        };
        let params = || {
            let params = ScalableParams::new(self.first_capacity.unwrap_or(FIRST_CAPACITY), fpp)?;
            let params = self.growth.map_or(Ok(params), |growth| params.with_growth(growth))?;
            self.tightening.map_or(Ok(params), |tightening| params.with_tightening(tightening))
        };
        params().map_err(|error| budget.refuse(error))
    }
}

/// A whole number of at least 1, also as `1e9` or `2.5e6`.
pub(crate) fn parse_keys(text: &str) -> Result<u64, String> {
    if let Ok(keys @ 1..) = text.parse() {
        return Ok(keys);
    }
    /// 2⁵³: up to here every whole number is exactly an `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match text.parse::<f64>() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, 1 to 2⁵³")]
        Ok(keys) if (1.0..=EXACT).contains(&keys) && keys.fract() == 0.0 => Ok(keys as u64),
        _ => Err("expected a whole number of keys, at least 1, such as 1000000 or 1e6".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_keys_are_whole_and_at_least_one() {
        for (text, keys) in [("1", 1), ("1000", 1000), ("1e9", 1_000_000_000), ("2.5e6", 2_500_000)] {
            assert_eq!(parse_keys(text), Ok(keys));
        }
        assert_eq!(parse_keys("18446744073709551615"), Ok(u64::MAX));
        for text in ["0", "-1", "1.5", "1e17", "inf", "NaN", "", "many"] {
            assert!(parse_keys(text).is_err(), "{text}");
        }
    }
}
