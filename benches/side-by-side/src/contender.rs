//! What the program asks of a filter. Each contender is one implementation of [`Filter`] and one function that
//! builds it.

use bloomline::KeyHash;

use crate::keys::{Key, Keys};

/// Keys of a call, where a contender takes many at a time: what a caller would have of a page or a block.
pub(crate) const BATCH: usize = 1024;

/// A built filter.
///
/// The counting methods hold the whole loop, so that the contender's lookup can be inlined into it; each asks
/// every key and returns how many answers were positive, so that no lookup can be left out. `None` where the
/// contender has no such call.
pub(crate) trait Filter {
    /// Bytes of the data that lookups read.
    fn bytes(&self) -> usize;

    /// Ready hashes, one call each.
    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize>;

    /// Ready hashes, [`BATCH`] in a call.
    fn count_hashes_batched(&self, _: &[KeyHash]) -> Option<usize> {
        None
    }

    /// Keys, one call each, hashing included.
    fn count_keys(&self, keys: &[Key]) -> Option<usize>;

    /// Keys, [`BATCH`] in a call, hashing included.
    fn count_keys_batched(&self, _: &[Key]) -> Option<usize> {
        None
    }
}

/// How a contender is built, which is also what its build time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildFrom {
    /// Ready hashes.
    Hashes,
    /// Keys, because the contender takes no hashes.
    Keys,
    /// Nothing: its build is not timed, because it is no filter, or the same one as another contender.
    Nothing,
}

/// A filter to compare, not yet built.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// How it was set up, for the table's legend.
    pub(crate) settings: &'static str,
    pub(crate) build_from: BuildFrom,
    /// The false-positive rate that its theory promises; `None` where it isn't a filter.
    pub(crate) expected_fpp: Option<f64>,
    pub(crate) build: Build,
    /// The same on all cores, where it can be.
    pub(crate) build_parallel: Option<Build>,
}

/// Makes a filter and adds the keys.
pub(crate) type Build = Box<dyn Fn(&Keys) -> Box<dyn Filter>>;

/// Positive answers among `items`, asked one by one.
#[inline(always)]
pub(crate) fn count<T>(items: &[T], ask: impl Fn(&T) -> bool) -> usize {
    items.iter().filter(|item| ask(item)).count()
}

/// Positive answers among `items`, asked [`BATCH`] in a call.
#[inline(always)]
pub(crate) fn count_batched<T>(items: &[T], mut ask: impl FnMut(&[T], &mut [bool])) -> usize {
    let mut answers = [false; BATCH];
    let mut positive = 0;
    for batch in items.chunks(BATCH) {
        let answers = &mut answers[..batch.len()];
        ask(batch, answers);
        positive += answers.iter().filter(|&&answer| answer).count();
    }
    positive
}
