//! Sorting the keys of a layer by line, then by falling rank, then by value.
//!
//! An order of ties by value makes equal keys neighbours, and makes the build a function of the set of keys.
//!
//! ```text
//! group: scatter the keys, from where the caller has them, into at most 256 runs of consecutive lines
//!        split each run
//! split: more than LEAF_LINES lines: scatter into at most 256 shorter runs, then split each
//!        else: counting sort by falling rank, stable counting sort by line, sort the ties
//! ```
//!
//! A scatter writes to at most 256 places, so the cache and the TLB hold them all; a leaf's keys fit in L2
//! beside their copy. Keys that crowd one line make a leaf large, not deep. Each thread scatters a share of the keys,
//! and then splits runs of about as many. Only a run at a time, for each thread, needs room beside the sorted keys.

use super::key::Place;
use crate::error::FilterError;
use crate::hash::KeyHash;
use parking_lot::Mutex;
use std::ops::Range;
use std::thread;

/// Lines of a leaf; about 2 to 9 thousand keys.
const LEAF_LINES: usize = 64;
const FAN_OUT: usize = 256;
/// Below this number of keys, starting threads costs more than they save.
const PARALLEL_KEYS: usize = 1 << 15;

/// What is known of the keys of a layer when they are in order.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) per_line: Vec<usize>,
    /// Neighbours that are equal.
    pub(super) duplicates: usize,
}

/// Writes `source`, sorted for a layer of `lines` lines, to `keys`, which has the same length.
pub(super) fn group<const R: usize>(
    source: &[KeyHash],
    keys: &mut [u64],
    lines: usize,
    threads: usize,
) -> Result<Counts, FilterError> {
    debug_assert_eq!(source.len(), keys.len());
    let mut per_line = Vec::new();
    try_grow(&mut per_line, lines, 0)?;
    // More threads than CPUs would only divide the work more finely.
    let threads = threads
        .min(thread::available_parallelism().map_or(1, usize::from))
        .min(lines)
        .min(keys.len() / PARALLEL_KEYS)
        .max(1);
    let share = source.len().div_ceil(threads).max(1);
    let shift = run_shift(lines, FAN_OUT);
    let runs = scatter_shares(source.chunks(share).collect(), keys, lines, shift);
    // Consecutive runs with about a thread's share of the keys.
    let mut parts = Vec::with_capacity(threads);
    let (mut keys_left, mut lines_left) = (keys, &mut *per_line);
    let mut first = 0;
    while first < runs.len() {
        let (mut end, mut in_hand) = (first, 0);
        while end < runs.len() && in_hand < share {
            in_hand += runs[end];
            end += 1;
        }
        let (keys, more_keys) = keys_left.split_at_mut(in_hand);
        let (per_line, more_lines) = lines_left.split_at_mut(lines_left.len().min((end - first) << shift));
        (keys_left, lines_left) = (more_keys, more_lines);
        parts.push((first..end, keys, per_line));
        first = end;
    }
    let split = |(range, keys, per_line): (Range<usize>, &mut [u64], &mut [usize])| {
        let first = range.start << shift;
        let runs = &runs[range];
        let mut scratch = Vec::new();
        try_grow(&mut scratch, runs.iter().copied().max().unwrap_or(0), 0)?;
        Ok(Sorter::<R>::new(lines).split_each(runs, shift, keys, &mut scratch, first, per_line))
    };
    let duplicates = in_parallel(parts, split).into_iter().sum::<Result<usize, FilterError>>()?;
    Ok(Counts { per_line, duplicates })
}

/// Scatters each share on a thread of its own: keys of the i-th 2^shift lines go to run i of `keys`. Returns the
/// lengths of the runs.
fn scatter_shares(shares: Vec<&[KeyHash]>, keys: &mut [u64], lines: usize, shift: u32) -> Vec<usize> {
    let run_of = |hash: KeyHash| Place::new(hash.get(), lines).line >> shift;
    let mut runs = vec![0; ((lines - 1) >> shift) + 1];
    if let [run] = &mut runs[..] {
        for (key, hash) in keys.iter_mut().zip(shares.into_iter().flatten()) {
            *key = hash.get();
        }
        *run = keys.len();
        return runs;
    }
    let counted = in_parallel(shares, |share: &[KeyHash]| {
        let mut counts = vec![0; runs.len()];
        share.iter().for_each(|&hash| counts[run_of(hash)] += 1);
        (share, counts)
    });
    // In each run, a place for what each share has of it.
    let mut tasks: Vec<_> =
        counted.iter().map(|&(share, _)| (share, Vec::with_capacity(runs.len()))).collect();
    let mut rest = keys;
    for (run, length) in runs.iter_mut().enumerate() {
        for ((_, counts), (_, places)) in counted.iter().zip(&mut tasks) {
            let (place, more) = rest.split_at_mut(counts[run]);
            places.push(place.iter_mut());
            rest = more;
            *length += counts[run];
        }
    }
    in_parallel(tasks, |(share, mut places)| {
        for &hash in share {
            if let Some(slot) = places[run_of(hash)].next() {
                *slot = hash.get();
            }
        }
    });
    runs
}

/// Appends `more` copies of `value`.
pub(super) fn try_grow<T: Copy>(vec: &mut Vec<T>, more: usize, value: T) -> Result<(), FilterError> {
    vec.try_reserve_exact(more).map_err(|_| FilterError::OutOfMemory {
        bytes: (more as u64).saturating_mul(size_of::<T>() as u64),
        source: None,
    })?;
    vec.resize(vec.len() + more, value);
    Ok(())
}

/// Does each part of a piece of work on a thread of its own, and on this one the last part and what the system has no
/// thread for. The results come in the order of the parts; a panic of any is passed on.
pub(super) fn in_parallel<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    // A part that waits for its thread can be taken back if there is to be none.
    let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let run = |part: &Mutex<Option<T>>| part.lock().take().map(&work);
    let Some((own, others)) = parts.split_last() else { return Vec::new() };
    let results: Vec<Option<R>> = thread::scope(|scope| {
        let spawned: Vec<_> = others
            .iter()
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, || run(part))))
            .collect();
        let own = run(own);
        let others = spawned.into_iter().map(|(part, worker)| match worker {
            Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => run(part),
        });
        others.chain([own]).collect()
    });
    results.into_iter().flatten().collect()
}

/// The least power of two, and at least a leaf, that cuts `lines` lines into at most `runs` runs, as a shift.
fn run_shift(lines: usize, runs: usize) -> u32 {
    lines.div_ceil(runs).max(LEAF_LINES).next_power_of_two().trailing_zeros()
}

/// Copies `from`, whose keys fall in lines `first..first + count`, to `to`: keys of the i-th 2^shift lines to
/// run i. Returns the lengths of the runs.
fn scatter(from: &[u64], to: &mut [u64], first: usize, count: usize, lines: usize, shift: u32) -> Vec<usize> {
    let run_of = |y: u64| (Place::new(y, lines).line - first) >> shift;
    let mut runs = vec![0; ((count - 1) >> shift) + 1];
    from.iter().for_each(|&y| runs[run_of(y)] += 1);
    let mut next = runs.clone();
    exclusive_sums(&mut next);
    for &y in from {
        let next = &mut next[run_of(y)];
        to[*next] = y;
        *next += 1;
    }
    runs
}

/// The recursive part, with its tables.
struct Sorter<const R: usize> {
    lines: usize,
    ranks: [usize; 256],
}

impl<const R: usize> Sorter<R> {
    fn new(lines: usize) -> Self {
        Self { lines, ranks: [0; 256] }
    }

    /// Sorts `keys`, which fall in lines `first..first + per_line.len()`, and counts them. Returns the number
    /// of duplicates.
    fn split(
        &mut self,
        keys: &mut [u64],
        scratch: &mut [u64],
        first: usize,
        per_line: &mut [usize],
    ) -> usize {
        if per_line.len() <= LEAF_LINES {
            self.leaf(keys, scratch, first, per_line);
            return sort_ties::<R>(keys, self.lines);
        }
        let shift = run_shift(per_line.len(), FAN_OUT);
        let runs = scatter(keys, scratch, first, per_line.len(), self.lines, shift);
        keys.copy_from_slice(scratch);
        self.split_each(&runs, shift, keys, scratch, first, per_line)
    }

    /// Sorts `keys`, which lie in runs of these lengths, each of 2^shift lines. `scratch` is as long as the longest
    /// run, or longer.
    fn split_each(
        &mut self,
        runs: &[usize],
        shift: u32,
        keys: &mut [u64],
        scratch: &mut [u64],
        mut first: usize,
        per_line: &mut [usize],
    ) -> usize {
        let mut duplicates = 0;
        let mut keys_left = keys;
        for (&run, per_line) in runs.iter().zip(per_line.chunks_mut(1 << shift)) {
            let (keys, rest) = keys_left.split_at_mut(run);
            duplicates += self.split(keys, &mut scratch[..run], first, per_line);
            first += per_line.len();
            keys_left = rest;
        }
        duplicates
    }

    fn leaf(&mut self, keys: &mut [u64], scratch: &mut [u64], first: usize, per_line: &mut [usize]) {
        self.ranks.fill(0);
        for &y in &*keys {
            let place = Place::new(y, self.lines);
            self.ranks[usize::from(!place.rank::<R>())] += 1;
            per_line[place.line - first] += 1;
        }
        exclusive_sums(&mut self.ranks);
        for &y in &*keys {
            let next = &mut self.ranks[usize::from(!Place::new(y, self.lines).rank::<R>())];
            scratch[*next] = y;
            *next += 1;
        }
        let mut starts = [0; LEAF_LINES];
        let starts = &mut starts[..per_line.len()];
        starts.copy_from_slice(per_line);
        exclusive_sums(starts);
        for &y in &*scratch {
            let next = &mut starts[Place::new(y, self.lines).line - first];
            keys[*next] = y;
            *next += 1;
        }
    }
}

fn exclusive_sums(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Sorts each stretch of keys of one line and one rank by value. Returns the number of equal neighbours.
fn sort_ties<const R: usize>(keys: &mut [u64], lines: usize) -> usize {
    let group = |y: u64| {
        let place = Place::new(y, lines);
        (place.line, place.rank::<R>())
    };
    let mut duplicates = 0;
    let mut start = 0;
    while start < keys.len() {
        let this = group(keys[start]);
        let mut end = start + 1;
        while end < keys.len() && group(keys[end]) == this {
            end += 1;
        }
        if end - start > 1 {
            let tied = &mut keys[start..end];
            tied.sort_unstable();
            duplicates += tied.windows(2).filter(|pair| pair[0] == pair[1]).count();
        }
        start = end;
    }
    duplicates
}
