//! `bloomline plan`: what filters of so many keys would cost.

use bloomline::format::Kind;
use bloomline::{Budget, FilterOptions};
use clap::Args;
use serde::Serialize;

use crate::exit::{Failure, Outcome};
use crate::output::{Output, bytes, count, percent, print_report};
use crate::sizing::BudgetArgs;

/// Show what filters of so many keys would cost
///
/// Bits for each key, bytes and false-positive rate, for each kind. Without --fpp or --bits-per-key, a range of rates is shown. Sizes are those of whole filters, rates those
/// that theory gives for them; a filter that is built will have them.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline plan --keys 1000000\n  \
    bloomline plan --keys 5e9 --fpp 0.001\n  \
    bloomline plan --keys 1e6 --bits-per-key 12.5 --json\n\n\
    JSON: {\"keys\",\"plans\":[{\"kind\",\"target\",\"bits_per_key\",\"bytes\",\"expected_fpp\"}, ...]}; \
    `target` is {\"fpp\"} or {\"bits_per_key\"}. A plan that can't be met has \"error\" in place of the figures.")]
pub(super) struct Plan {
    /// The number of keys; 1e9 is a billion
    #[arg(long, value_name = "N", value_parser = parse_keys)]
    keys: u64,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The rates shown where none is asked for.
const RATES: [f64; 8] = [0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 0.0001, 0.00001];

/// The kinds shown, in the order of the columns.
const KINDS: [Kind; 2] = [Kind::Blocked, Kind::Classic];

#[derive(Serialize)]
struct Report {
    keys: u64,
    plans: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    kind: &'static str,
    target: Target,
    #[serde(flatten)]
    cost: Cost,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    Fpp(f64),
    BitsPerKey(f64),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Cost {
    Met { bits_per_key: f64, bytes: u64, expected_fpp: f64 },
    Refused { error: String },
}

impl Plan {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let targets = match self.budget.given() {
            Some(Budget::BitsPerKey(bits)) => vec![Target::BitsPerKey(bits)],
            Some(Budget::Fpp(fpp)) => vec![Target::Fpp(fpp)],
            _ => RATES.map(Target::Fpp).to_vec(),
        };
        if let Some(budget) = self.budget.given() {
            // A budget that no filter has is a usage error, not a line of the plan.
            FilterOptions::default().budget(budget).estimate(1).map_err(|error| self.budget.refuse(error))?;
        }
        let plans = targets.iter().flat_map(|&target| KINDS.map(|kind| self.entry(kind, target))).collect();
        let report = Report { keys: self.keys, plans };
        print_report(self.json, &report, Report::print)?;
        Ok(Outcome::Success)
    }

    fn entry(&self, kind: Kind, target: Target) -> Entry {
        let budget = match target {
            Target::Fpp(fpp) => Budget::Fpp(fpp),
            Target::BitsPerKey(bits) => Budget::BitsPerKey(bits),
        };
        let cost = match FilterOptions::default().kind(kind).budget(budget).estimate(self.keys) {
            Ok((bytes, expected_fpp)) => {
                Cost::Met { bits_per_key: bytes as f64 * 8.0 / self.keys as f64, bytes, expected_fpp }
            }
            Err(error) => Cost::Refused { error: error.to_string() },
        };
        Entry { kind: kind.name(), target, cost }
    }
}

impl Report {
    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        out.text(format_args!("{} keys", count(self.keys)))?;
        out.text(format_args!(
            "{:<14}  {:<8}  {:>12}  {:>12}  {:>10}",
            "target", "kind", "bits per key", "size", "rate"
        ))?;
        for plan in &self.plans {
            let target = match plan.target {
                Target::Fpp(fpp) => percent(fpp),
                Target::BitsPerKey(bits) => format!("{bits} bits/key"),
            };
            match &plan.cost {
                Cost::Met { bits_per_key, bytes: size, expected_fpp } => out.text(format_args!(
                    "{target:<14}  {:<8}  {bits_per_key:>12.2}  {:>12}  {:>10}",
                    plan.kind,
                    bytes(*size).to_string(),
                    percent(*expected_fpp)
                ))?,
                Cost::Refused { error } => {
                    out.text(format_args!("{target:<14}  {:<8}  {error}", plan.kind))?;
                }
            }
        }
        Ok(())
    }
}

/// A whole number of at least 1, also as `1e9` or `2.5e6`.
fn parse_keys(text: &str) -> Result<u64, String> {
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
