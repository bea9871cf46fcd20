//! `bloomline plan`: what filters of so many keys would cost.

use bloomline::error::SizingError;
use bloomline::format::Kind;
use bloomline::{Budget, FilterOptions};
use clap::Args;
use serde::Serialize;

use crate::exit::{Failure, Outcome};
use crate::output::{Output, bytes, count, percent, print_report};
use crate::sizing::{BudgetArgs, LoadArgs, parse_keys};

/// Show what filters of so many keys would cost
///
/// Bits for each key, bytes and false-positive rate, for each kind, and the share of lookups that read a second
/// line of 64 bytes, which out of cache is what a lookup costs. Without --fpp or --bits-per-key, a range of rates
/// is shown. Sizes are those of whole filters, rates those that theory gives for them; a filter that is built will
/// have them. A scalable filter is not shown, for its size depends on how it grew.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline plan --keys 1000000\n  \
    bloomline plan --keys 5e9 --fpp 0.001\n  \
    bloomline plan --keys 1e6 --bits-per-key 12.5 --json\n  \
    bloomline plan --keys 1e6 --fpp 0.01 --compact-load 90\n\n\
    JSON: {\"keys\",\"plans\":[{\"kind\",\"target\",\"bits_per_key\",\"bytes\",\"expected_fpp\",\"second_lines\"}, \
    ...]}; `target` is {\"fpp\"} or {\"bits_per_key\"}, `second_lines` null for a classic filter, of which a lookup \
    reads a line for each probe until one finds a zero. A plan that can't be met has \"error\" in place of the \
    figures.")]
pub(super) struct Plan {
    /// The number of keys; 1e9 is a billion
    #[arg(long, value_name = "N", value_parser = parse_keys)]
    keys: u64,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    load: LoadArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The rates shown where none is asked for.
const RATES: [f64; 8] = [0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 0.0001, 0.00001];

/// The kinds shown, in the order of the lines.
const KINDS: [Kind; 3] = [Kind::Blocked, Kind::Classic, Kind::Compact];

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
    Met { bits_per_key: f64, bytes: u64, expected_fpp: f64, second_lines: Option<f64> },
    Refused { error: String },
}

impl Plan {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let targets = match self.budget.given() {
            Some(Budget::BitsPerKey(bits)) => vec![Target::BitsPerKey(bits)],
            Some(Budget::Fpp(fpp)) => vec![Target::Fpp(fpp)],
            _ => RATES.map(Target::Fpp).to_vec(),
        };
        // A budget or a load that no filter has is a usage error, not a line of the plan.
        let options = FilterOptions::default();
        options
            .clone()
            .budget(self.budget.budget())
            .estimate(1)
            .map_err(|error| self.budget.refuse(error))?;
        self.load.apply(options).compact_estimate(1).map_err(|error| self.budget.refuse(error))?;
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
        let options = self.load.apply(FilterOptions::default().kind(kind).budget(budget));
        let cost = match cost(&options, kind, self.keys) {
            Ok(cost) => cost,
            Err(error) => Cost::Refused { error: error.to_string() },
        };
        Entry { kind: kind.name(), target, cost }
    }
}

/// What a filter of a kind costs, of which the options are.
fn cost(options: &FilterOptions, kind: Kind, keys: u64) -> Result<Cost, SizingError> {
    let (bytes, expected_fpp) = options.estimate(keys)?;
    let second_lines = match kind {
        Kind::Compact => Some(options.compact_estimate(keys)?.bumped_share),
        Kind::Blocked => Some(0.0),
        _ => None,
    };
    Ok(Cost::Met { bits_per_key: bytes as f64 * 8.0 / keys as f64, bytes, expected_fpp, second_lines })
}

impl Report {
    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        out.text(format_args!("{} keys", count(self.keys)))?;
        out.text(format_args!(
            "{:<14}  {:<8}  {:>12}  {:>12}  {:>10}  {:>12}",
            "target", "kind", "bits per key", "size", "rate", "second lines"
        ))?;
        for plan in &self.plans {
            let target = match plan.target {
                Target::Fpp(fpp) => percent(fpp),
                Target::BitsPerKey(bits) => format!("{bits} bits/key"),
            };
            match &plan.cost {
                Cost::Met { bits_per_key, bytes: size, expected_fpp, second_lines } => {
                    out.text(format_args!(
                        "{target:<14}  {:<8}  {bits_per_key:>12.2}  {:>12}  {:>10}  {:>12}",
                        plan.kind,
                        bytes(*size).to_string(),
                        percent(*expected_fpp),
                        second_lines.map_or_else(|| "50% or more".to_owned(), percent)
                    ))?;
                }
                Cost::Refused { error } => {
                    out.text(format_args!("{target:<14}  {:<8}  {error}", plan.kind))?;
                }
            }
        }
        Ok(())
    }
}
