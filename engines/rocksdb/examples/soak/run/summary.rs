//! What a run did.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use bloomline_rocksdb::{Counters, FilterPolicy, Tickers};
use rocksdb::Options;

use super::setup::Setup;
use super::worker::{Reads, Work};

/// Totals of all rounds.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) rounds: usize,
    /// Rounds of each policy and layout.
    by_setup: BTreeMap<(&'static str, bool), usize>,
    pub(crate) damaged_rounds: usize,
    unchecked_rounds: usize,
    /// Openings that failed with "Corruption", before the damage was taken back.
    pub(crate) refused_opens: usize,
    pub(crate) work: Work,
    /// Filter blocks with flipped bits.
    pub(crate) damage: u64,
    pub(crate) filters_built: u64,
    pub(crate) filters_failed: u64,
    pub(crate) fell_open: u64,
    /// Lookups that the plugin's readers turned away.
    pub(crate) negatives: u64,
    /// Lookups that filters of any kind turned away, by RocksDB's tickers.
    turned_away: u64,
}

impl Summary {
    /// Adds a round. `work` is what all rounds did.
    pub(crate) fn count_round(&mut self, setup: &Setup, options: &Options, reads: Reads, work: Work) {
        self.rounds += 1;
        *self.by_setup.entry((setup.policy, setup.partitioned)).or_default() += 1;
        self.damaged_rounds += usize::from(reads.may_fail);
        self.unchecked_rounds += usize::from(reads.unchecked);
        self.work = work;
        let of_policy = FilterPolicy::installed(options).map(|policy| policy.counters());
        let Counters { filters_built, filters_failed, readers_fell_open, negatives, .. } =
            of_policy.unwrap_or_default();
        self.filters_built += filters_built;
        self.filters_failed += filters_failed;
        self.fell_open += readers_fell_open;
        self.negatives += negatives;
        self.turned_away +=
            Tickers::read(options).map_or(0, |tickers| tickers.useful + tickers.prefix_useful);
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Work { writes, range_deletes, flushes, compactions, compared, refused } = self.work;
        writeln!(f, "{} rounds:", self.rounds)?;
        for ((policy, partitioned), rounds) in &self.by_setup {
            let layout = if *partitioned { "partitioned" } else { "full" };
            writeln!(f, "  {rounds:5}  {policy}, {layout}")?;
        }
        writeln!(f, "{writes} writes, {range_deletes} of them range deletes")?;
        writeln!(f, "{flushes} flushes and {compactions} compactions asked for")?;
        writeln!(f, "{compared} answers compared")?;
        writeln!(
            f,
            "{} filter blocks damaged; {} rounds with damaged files, {} of them with reads without checksums; \
             {} openings and {refused} reads refused",
            self.damage, self.damaged_rounds, self.unchecked_rounds, self.refused_opens
        )?;
        writeln!(
            f,
            "the plugin built {} filters, failed at {}, took {} for unreadable, and turned {} lookups away",
            self.filters_built, self.filters_failed, self.fell_open, self.negatives
        )?;
        write!(f, "filters of all policies turned {} lookups away", self.turned_away)
    }
}
