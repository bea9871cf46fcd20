//! Dividing a memory budget among the levels of a tree.
//!
//! A lookup of an absent key asks every sorted run that could hold it, and each false positive
//! costs one wasted read. With the same bits per key everywhere, the last level, which holds most
//! of the keys, also takes most of the filter memory, and yet it gives no more false positives than
//! a level a thousandth of its size. Taking a little from it and giving it to the small levels,
//! where a little is a lot, lowers the sum. (Dayan, Athanassoulis, Idreos: *Monkey: Optimal
//! Navigable Key-Value Store*, SIGMOD 2017.)
//!
//! **The problem.** Level i has a share sᵢ of all keys, in rᵢ sorted runs. A filter with b bits per
//! key has the rate f(b), f(0) = 1 being no filter. Choose bᵢ to minimise the expected wasted reads
//! of a lookup
//!
//! > W = Σ rᵢ · f(bᵢ)   subject to   Σ sᵢ · bᵢ = B
//!
//! **The solution.** With a multiplier λ, the optimum has rᵢ · f′(bᵢ) = −λ · sᵢ at every level: a
//! bit of memory buys the same everywhere. For the ideal f(b) = e^(−b·ln²2), that is a rate
//! proportional to sᵢ/rᵢ, and the closed form of the paper. The rate of a blocked filter is not
//! that function (it is worse, and more so at high b), so this solves it with the library's own
//! model, tabulated in quarters of a bit. Wherever the table is not convex, as between 0 and 1 bit,
//! no optimum lies, so only its lower convex hull counts; on a convex curve the steps of each level
//! have falling returns, and taking the step with the best return over all levels, until the budget
//! is spent, is optimal to within one step.
//!
//! **The tree.** Level 0 is as large as level 1 (RocksDB's default: four memtables against
//! `max_bytes_for_level_base`) and has several runs; each further level is one run, `size_ratio`
//! times as large as the one above it.
//!
//! **What it is not.** The allocation is of new files: a file that is moved down without being
//! rewritten keeps the filter it has. It assumes that lookups of absent keys are spread over the
//! whole key space and that the tree is as deep as `levels` says.

use std::cmp::Ordering;

use super::plan::{Blocked, Leaf, Plan, When};
use crate::Error;
use crate::blocked;

/// Which levels of the tree have data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// `level_compaction_dynamic_level_bytes`, which is RocksDB's default: level 0 and the last
    /// levels.
    #[default]
    Dynamic,
    /// Levels 0, 1, 2 and so on.
    Static,
}

/// A memory budget and the shape of a tree.
///
/// ```
/// use bloomline_rocksdb::{FilterPolicy, Monkey};
/// let budget = Monkey { bits_per_key: 8.0, levels: 5, ..Monkey::default() };
/// let allocation = budget.allocate()?;
/// assert!(allocation.wasted_reads < allocation.wasted_reads_uniform / 2.0);
/// let policy = FilterPolicy::monkey(&budget)?;
/// # let _ = policy;
/// # Ok::<(), bloomline_rocksdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Monkey {
    /// Filter bits per key on average over the whole tree, 1 to 30.
    pub bits_per_key: f64,
    /// How many times larger each level is than the one above it, 2 to 100
    /// (`max_bytes_for_level_multiplier`).
    pub size_ratio: f64,
    /// Levels that hold data, level 0 included, 2 to 64.
    pub levels: u32,
    /// Files in level 0, each its own sorted run, 1 to 1000
    /// (`level0_file_num_compaction_trigger`).
    pub level0_files: u32,
    /// Which levels those are.
    pub layout: Layout,
}

impl Default for Monkey {
    /// Ten bits per key on RocksDB's default tree: ratio 10, four files in level 0, four levels.
    fn default() -> Self {
        Self { bits_per_key: 10.0, size_ratio: 10.0, levels: 4, level0_files: 4, layout: Layout::Dynamic }
    }
}

/// One level of an [`Allocation`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelShare {
    /// Share of all keys, 0 to 1.
    pub keys: f64,
    /// Sorted runs.
    pub runs: u32,
    /// Filter bits per key, 0 for no filter.
    pub bits_per_key: f64,
    /// Expected false-positive rate of one filter of the level.
    pub rate: f64,
}

/// A budget divided.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Allocation {
    /// From level 0 to the last.
    pub levels: Vec<LevelShare>,
    /// Expected wasted reads of a lookup of an absent key.
    pub wasted_reads: f64,
    /// The same if every level had the average number of bits.
    pub wasted_reads_uniform: f64,
}

/// Steps of the table per bit.
const STEPS_PER_BIT: u32 = 4;
/// The most bits that a level can get; the rate there is under 10⁻⁷.
const MAX_BITS: u32 = 40;

#[derive(Clone, Copy)]
struct Point {
    bits: f64,
    rate: f64,
}

fn check(field: &'static str, expected: &'static str, got: f64, ok: bool) -> Result<(), Error> {
    if ok { Ok(()) } else { Err(Error::Budget { field, expected, got }) }
}

/// The lower convex hull of the rate over the bits per key.
fn hull() -> Vec<Point> {
    let table = (STEPS_PER_BIT..=MAX_BITS * STEPS_PER_BIT).map(|step| {
        let bits = f64::from(step) / f64::from(STEPS_PER_BIT);
        Point { bits, rate: blocked::best(bits).0 }
    });
    let mut hull: Vec<Point> = vec![Point { bits: 0.0, rate: 1.0 }];
    for next in table {
        while let [.., a, b] = hull[..] {
            let slope = |from: Point, to: Point| (to.rate - from.rate) / (to.bits - from.bits);
            if slope(a, b) < slope(b, next) {
                break;
            }
            hull.pop();
        }
        hull.push(next);
    }
    hull
}

impl Monkey {
    /// Divides the budget.
    ///
    /// # Errors
    /// [`Error::Budget`] names the field that is out of range.
    pub fn allocate(&self) -> Result<Allocation, Error> {
        let b = self.bits_per_key;
        check("bits_per_key", "from 1 to 30", b, (1.0..=30.0).contains(&b))?;
        let ratio = self.size_ratio;
        check("size_ratio", "from 2 to 100", ratio, (2.0..=100.0).contains(&ratio))?;
        let levels = self.levels;
        check("levels", "from 2 to 64", levels.into(), (2..=64).contains(&levels))?;
        let files = self.level0_files;
        check("level0_files", "from 1 to 1000", files.into(), (1..=1000).contains(&files))?;

        let tree = self.tree();
        let levels = divide(&tree, b);
        let uniform = blocked::best(b).0;
        Ok(Allocation {
            wasted_reads: levels.iter().map(|level| f64::from(level.runs) * level.rate).sum(),
            wasted_reads_uniform: tree.iter().map(|&(_, runs)| f64::from(runs) * uniform).sum(),
            levels,
        })
    }

    /// (share of keys, runs) of each level.
    fn tree(&self) -> Vec<(f64, u32)> {
        let mut sizes = vec![1.0, 1.0];
        while sizes.len() < self.levels as usize {
            sizes.push(sizes.last().copied().unwrap_or(1.0) * self.size_ratio);
        }
        let total: f64 = sizes.iter().sum();
        let runs = |level| if level == 0 { self.level0_files } else { 1 };
        sizes.iter().enumerate().map(|(level, size)| (size / total, runs(level))).collect()
    }

    /// The policy that gives files the bits of their level.
    ///
    /// Levels deeper than planned get the last level's bits (`Static`), levels above the planned
    /// ones those of the smallest planned one (`Dynamic`), and files whose level RocksDB doesn't
    /// know the average.
    pub(crate) fn plan(&self) -> Result<Plan, Error> {
        let allocation = self.allocate()?;
        let leaves = allocation
            .levels
            .iter()
            .map(|level| match level.bits_per_key {
                bits if bits >= 1.0 => Blocked::new(bits).map(Leaf::Blocked),
                _ => Ok(Leaf::None),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let last = self.levels - 1;
        let rules = (0_u32..).zip(leaves).map(|(level, leaf)| {
            let when = match self.layout {
                _ if level == 0 => When::any().level(0),
                Layout::Static if level == last => When::any().levels(level..=u32::MAX),
                Layout::Static => When::any().level(level),
                Layout::Dynamic if level == 1 => When::any().from_last(last - level..=u32::MAX),
                Layout::Dynamic => When::any().from_last(last - level..=last - level),
            };
            (when, leaf)
        });
        let otherwise = Leaf::Blocked(Blocked::new(self.bits_per_key)?);
        Ok(Plan::Levels { rules: rules.collect(), otherwise })
    }
}

/// The greedy ascent on the hull.
fn divide(tree: &[(f64, u32)], budget: f64) -> Vec<LevelShare> {
    let hull = hull();
    let mut at = vec![0_usize; tree.len()];
    let mut exact: Vec<Option<f64>> = vec![None; tree.len()];
    let mut left = budget;
    // The level whose next step saves most reads per bit of memory.
    let best = |at: &[usize], exact: &[Option<f64>]| {
        (0..tree.len())
            .filter(|&level| exact[level].is_none())
            .filter_map(|level| {
                let (from, to) = (hull[at[level]], *hull.get(at[level] + 1)?);
                let (keys, runs) = tree[level];
                let cost = (to.bits - from.bits) * keys;
                Some((level, f64::from(runs) * (from.rate - to.rate) / cost, cost))
            })
            .max_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal))
    };
    while let Some((level, _, cost)) = best(&at, &exact) {
        if cost <= left {
            at[level] += 1;
            left -= cost;
            continue;
        }
        // Part of a step, unless it starts from nothing: a filter has at least one bit per key.
        let from = hull[at[level]].bits;
        if from == 0.0 {
            exact[level] = Some(0.0);
        } else {
            exact[level] = Some(from + left / tree[level].0);
            left = 0.0;
        }
    }
    let shares = tree.iter().zip(at).zip(exact).map(|((&(keys, runs), at), exact)| {
        // Rounded down to RocksDB's thousandths, so as not to exceed the budget.
        let wanted = exact.unwrap_or(hull[at].bits);
        let bits_per_key = (wanted * 1000.0).floor() / 1000.0;
        let rate = if bits_per_key < 1.0 { 1.0 } else { blocked::best(bits_per_key).0 };
        LevelShare { keys, runs, bits_per_key, rate }
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(allocation: &Allocation) -> f64 {
        allocation.levels.iter().map(|level| level.keys * level.bits_per_key).sum()
    }

    #[test]
    fn the_budget_is_spent_and_never_exceeded() {
        for levels in 2..=8 {
            for bits_per_key in [1.0, 2.5, 5.0, 10.0, 16.0, 30.0] {
                let budget = Monkey { bits_per_key, levels, ..Monkey::default() };
                let allocation = budget.allocate().unwrap();
                let spent = spent(&allocation);
                assert!(spent <= bits_per_key + 1e-9, "{levels} {bits_per_key}: {spent}");
                // At most a bit of the largest level's keys is left where it cannot start.
                assert!(spent > bits_per_key - 1.0, "{levels} {bits_per_key}: {spent}");
            }
        }
    }

    #[test]
    fn no_transfer_between_levels_saves_reads() {
        let allocation = Monkey { levels: 5, ..Monkey::default() }.allocate().unwrap();
        let cost = |bits: f64| if bits < 1.0 { 1.0 } else { blocked::best(bits).0 };
        for (i, from) in allocation.levels.iter().enumerate() {
            for (j, to) in allocation.levels.iter().enumerate() {
                let moved = 0.5 * from.keys.min(to.keys);
                let (less, more) = (from.bits_per_key - moved / from.keys, to.bits_per_key + moved / to.keys);
                if i == j || less < 1.0 {
                    continue;
                }
                let before = f64::from(from.runs) * from.rate + f64::from(to.runs) * to.rate;
                let after = f64::from(from.runs) * cost(less) + f64::from(to.runs) * cost(more);
                assert!(after > before * (1.0 - 1e-3), "{i} to {j}: {before} to {after}");
            }
        }
    }

    #[test]
    fn with_more_levels_the_gain_grows_as_the_paper_says() {
        let gain = |levels| {
            let a = Monkey { levels, ..Monkey::default() }.allocate().unwrap();
            a.wasted_reads_uniform / a.wasted_reads
        };
        assert!(gain(3) > 1.5);
        assert!(gain(5) > gain(4) && gain(4) > gain(3));
    }

    #[test]
    fn rates_rise_towards_the_last_level() {
        let allocation = Monkey { levels: 6, ..Monkey::default() }.allocate().unwrap();
        let rates: Vec<f64> = allocation.levels[1..].iter().map(|level| level.rate).collect();
        assert!(rates.is_sorted(), "{rates:?}");
    }

    #[test]
    fn plans_name_the_levels_of_their_layout() {
        let policy = |layout| {
            let plan = Monkey { layout, ..Monkey::default() }.plan().unwrap();
            match plan {
                Plan::Levels { rules, .. } => {
                    rules.into_iter().map(|(when, _)| when.to_string()).collect::<Vec<_>>()
                }
                Plan::One(_) => panic!("one policy for all levels"),
            }
        };
        assert_eq!(policy(Layout::Dynamic), ["L0", "D2-4294967295", "D1", "D0"]);
        assert_eq!(policy(Layout::Static), ["L0", "L1", "L2", "L3-4294967295"]);
    }

    #[test]
    fn a_budget_out_of_range_names_its_field() {
        let field = |budget: Monkey| match budget.allocate() {
            Err(Error::Budget { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let ok = Monkey::default();
        assert_eq!(field(Monkey { bits_per_key: f64::NAN, ..ok }), "bits_per_key");
        assert_eq!(field(Monkey { bits_per_key: 0.9, ..ok }), "bits_per_key");
        assert_eq!(field(Monkey { size_ratio: 1.9, ..ok }), "size_ratio");
        assert_eq!(field(Monkey { levels: 1, ..ok }), "levels");
        assert_eq!(field(Monkey { level0_files: 0, ..ok }), "level0_files");
    }
}
