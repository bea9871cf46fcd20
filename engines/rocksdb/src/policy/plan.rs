//! Which filter a file gets, by where it is in the tree and why it is made.

use std::ops::RangeInclusive;

use crate::Error;
use crate::blocked;
use crate::compact::Compact;
use crate::ffi::RawContext;

/// The kind of one file's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// No filter.
    None,
    /// Bloomline's blocked Bloom filter in RocksDB's format.
    Blocked(Blocked),
    /// Bloomline's compact filter, or its blocked one where keys are few.
    Compact(Compact),
    /// RocksDB's own Bloom filter, thousandths of a bit per key.
    RocksdbBloom { millibits: u32 },
    /// RocksDB's own Ribbon filter with the rate of a Bloom filter of so many thousandths.
    RocksdbRibbon { millibits: u32 },
}

/// A blocked Bloom filter's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// Thousandths of a bit per key: RocksDB's precision.
    pub(crate) millibits: u32,
    /// Probes per key.
    pub(crate) probes: u8,
    /// Whether the user fixed the probes; the policy's text then names them.
    pub(crate) fixed: bool,
}

impl Blocked {
    /// With the number of probes that the rate model finds best.
    pub(crate) fn new(bits_per_key: f64) -> Result<Self, Error> {
        let millibits = millibits(bits_per_key)?;
        let probes = blocked::best(bits(millibits)).1;
        Ok(Self { millibits, probes, fixed: false })
    }

    pub(crate) fn with_probes(bits_per_key: f64, probes: u32) -> Result<Self, Error> {
        let millibits = millibits(bits_per_key)?;
        let fitting = u8::try_from(probes).ok().filter(|k| blocked::PROBES.contains(k));
        let probes = fitting.ok_or(Error::Probes { got: probes })?;
        Ok(Self { millibits, probes, fixed: true })
    }
}

/// Thousandths of a bit, rounded to the nearest.
pub(crate) fn millibits(bits_per_key: f64) -> Result<u32, Error> {
    if !(1.0..=100.0).contains(&bits_per_key) {
        return Err(Error::BitsPerKey { got: bits_per_key });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1,000 to 100,000")]
    let rounded = (bits_per_key * 1000.0).round() as u32;
    Ok(rounded)
}

/// Bits from thousandths.
pub(crate) fn bits(millibits: u32) -> f64 {
    f64::from(millibits) / 1000.0
}

/// Why RocksDB makes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A memtable is written out.
    Flush,
    /// Files are merged.
    Compaction,
    /// A memtable is written while a database opens.
    Recovery,
    /// Anything else, such as `SstFileWriter`.
    Other,
}

impl Reason {
    pub(crate) const ALL: [Self; 4] = [Self::Flush, Self::Compaction, Self::Recovery, Self::Other];

    fn from_raw(reason: u8) -> Self {
        Self::ALL.get(usize::from(reason)).copied().unwrap_or(Self::Other)
    }
}

/// A condition on a file that is being made; all of its parts must hold.
///
/// ```
/// use bloomline_rocksdb::{Reason, When};
/// let fresh = When::any().level(0).reason(Reason::Flush);
/// let deepest = When::any().from_last(0..=0);
/// # let _ = (fresh, deepest);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    pub(crate) levels: Option<RangeInclusive<u32>>,
    pub(crate) from_last: Option<RangeInclusive<u32>>,
    pub(crate) bottommost: Option<bool>,
    pub(crate) reason: Option<Reason>,
}

impl When {
    /// Holds for every file.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// The file is made for this level, 0 being the newest.
    #[must_use]
    pub fn level(self, level: u32) -> Self {
        self.levels(level..=level)
    }

    /// The file is made for one of these levels. Never holds when the level is unknown, as it is to
    /// `SstFileWriter`.
    #[must_use]
    pub fn levels(self, levels: RangeInclusive<u32>) -> Self {
        Self { levels: Some(levels), ..self }
    }

    /// The level is so far from the last of the configured `num_levels`; 0 is the last. With
    /// RocksDB's default, dynamic level sizes, data fills the levels from the last upwards, so that
    /// this says more than the level's number. Level 0 is not counted from the last: it holds fresh
    /// files whatever the depth of the tree.
    #[must_use]
    pub fn from_last(self, distance: RangeInclusive<u32>) -> Self {
        Self { from_last: Some(distance), ..self }
    }

    /// Whether the file goes to the bottommost sorted run of its key range.
    #[must_use]
    pub fn bottommost(self, bottommost: bool) -> Self {
        Self { bottommost: Some(bottommost), ..self }
    }

    /// Why the file is made.
    #[must_use]
    pub fn reason(self, reason: Reason) -> Self {
        Self { reason: Some(reason), ..self }
    }

    pub(crate) fn holds(&self, context: &RawContext) -> bool {
        let level = u32::try_from(context.level).ok();
        let distance = level.filter(|&level| level > 0).and_then(|level| {
            let last = u32::try_from(context.num_levels).ok()?.checked_sub(1)?;
            last.checked_sub(level)
        });
        let within = |range: &Option<RangeInclusive<u32>>, value: Option<u32>| {
            range.as_ref().is_none_or(|range| value.is_some_and(|value| range.contains(&value)))
        };
        within(&self.levels, level)
            && within(&self.from_last, distance)
            && self.bottommost.is_none_or(|wanted| wanted == (context.bottommost != 0))
            && self.reason.is_none_or(|wanted| wanted == Reason::from_raw(context.reason))
    }
}

/// A whole policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The same for every file.
    One(Leaf),
    /// The first rule that holds, or else the last leaf.
    Levels { rules: Vec<(When, Leaf)>, otherwise: Leaf },
}

impl Plan {
    pub(crate) fn choose(&self, context: &RawContext) -> Leaf {
        match self {
            Self::One(leaf) => *leaf,
            Self::Levels { rules, otherwise } => {
                rules.iter().find(|(when, _)| when.holds(context)).map_or(*otherwise, |(_, leaf)| *leaf)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(level: i32) -> RawContext {
        RawContext { level, num_levels: 7, bottommost: 0, reason: 1 }
    }

    #[test]
    fn levels_count_from_either_end() {
        let last = When::any().from_last(0..=1);
        let first = When::any().levels(0..=1);
        let holds = |when: &When| (0..7).map(|l| when.holds(&context(l))).collect::<Vec<_>>();
        assert_eq!(holds(&first), [true, true, false, false, false, false, false]);
        assert_eq!(holds(&last), [false, false, false, false, false, true, true]);
    }

    #[test]
    fn level_zero_is_never_counted_from_the_last() {
        let only = RawContext { num_levels: 1, ..context(0) };
        assert!(!When::any().from_last(0..=9).holds(&only));
    }

    #[test]
    fn an_unknown_level_meets_no_condition_on_levels() {
        assert!(!When::any().levels(0..=100).holds(&context(-1)));
        assert!(!When::any().from_last(0..=100).holds(&context(-1)));
        let unknown_depth = RawContext { num_levels: -1, ..context(3) };
        assert!(!When::any().from_last(0..=100).holds(&unknown_depth));
        assert!(When::any().holds(&context(-1)));
    }

    #[test]
    fn every_part_must_hold() {
        let when = When::any().level(2).bottommost(true).reason(Reason::Compaction);
        let yes = RawContext { bottommost: 1, ..context(2) };
        assert!(when.holds(&yes));
        assert!(!when.holds(&RawContext { bottommost: 0, ..yes }));
        assert!(!when.holds(&RawContext { reason: 0, ..yes }));
        assert!(!when.holds(&RawContext { level: 3, ..yes }));
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        let ten = Leaf::Blocked(Blocked::new(10.0).unwrap());
        let plan = Plan::Levels {
            rules: vec![(When::any().level(1), Leaf::None), (When::any().levels(0..=3), ten)],
            otherwise: Leaf::RocksdbRibbon { millibits: 9_000 },
        };
        assert_eq!(plan.choose(&context(0)), ten);
        assert_eq!(plan.choose(&context(1)), Leaf::None);
        assert_eq!(plan.choose(&context(6)), Leaf::RocksdbRibbon { millibits: 9_000 });
        assert_eq!(plan.choose(&context(-1)), Leaf::RocksdbRibbon { millibits: 9_000 });
    }
}
