//! Sorting the keys of a layer by line, then by falling rank, then by value.
//!
//! An order of ties by value makes equal keys neighbours, and makes the build a function of the set of keys.
//!
//! ```text
//! split(range of lines): more than LEAF_LINES lines: scatter the keys into at most 256 runs of consecutive
//!                        lines, then split each run
//!                        else: counting sort by falling rank, stable counting sort by line, sort the ties
//! ```
//!
//! A scatter writes to at most 256 places, so the cache and the TLB hold them all; a leaf's keys fit in L2
//! beside their copy. Keys that crowd one line make a leaf large, not deep. Each thread takes a run of lines.

use super::key::Place;
use crate::error::FilterError;
use parking_lot::Mutex;
use std::ops::Range;
use std::thread;

/// Lines of a leaf; about 2 to 9 thousand keys.
const LEAF_LINES: usize = 64;
const FAN_OUT: usize = 256;
/// Below this number of keys, starting threads costs more than they save.
const PARALLEL_KEYS: usize = 1 << 15;

/// The keys of a layer, in order, with the number in each line.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) per_line: Vec<usize>,
    /// Neighbours that are equal.
    pub(super) duplicates: usize,
}

/// Sorts `keys` for a layer of `lines` lines. `scratch` has the same length; what it held is lost.
pub(super) fn group<const R: usize>(
    keys: &mut [u64],
    scratch: &mut [u64],
    lines: usize,
    threads: usize,
) -> Result<Counts, FilterError> {
    debug_assert_eq!(keys.len(), scratch.len());
    let mut per_line = Vec::new();
    try_grow(&mut per_line, lines, 0)?;
    // More threads than CPUs would only divide the work more finely.
    let threads = threads
        .min(thread::available_parallelism().map_or(1, usize::from))
        .min(lines)
        .min(keys.len() / PARALLEL_KEYS);
    let duplicates = if threads <= 1 {
        let mut sorter = Sorter::<R>::new(lines);
        sorter.sort(keys, scratch, 0, &mut per_line)
    } else {
        group_in_parallel::<R>(keys, scratch, &mut per_line, threads)
    };
    Ok(Counts { per_line, duplicates })
}

/// Every thread splits its share of the keys into runs of lines, then gathers its run from all shares.
fn group_in_parallel<const R: usize>(
    keys: &mut [u64],
    scratch: &mut [u64],
    per_line: &mut [usize],
    threads: usize,
) -> usize {
    let lines = per_line.len();
    // Runs of equal width, several to a thread so that the threads can be given equal numbers of keys.
    let shift = run_shift(lines, (16 * threads).min(FAN_OUT));
    let width = 1 << shift;
    let share = keys.len().div_ceil(threads);
    let shares: Vec<_> = keys.chunks(share).zip(scratch.chunks_mut(share)).collect();
    let starts = in_parallel(shares, |(from, to)| scatter(from, to, 0, lines, lines, shift));
    let runs = lines.div_ceil(width);
    let run_keys = |run: usize| starts.iter().map(|starts| starts[run + 1] - starts[run]).sum::<usize>();
    let mut cuts = vec![0];
    let mut in_hand = 0;
    for run in 0..runs {
        in_hand += run_keys(run);
        if in_hand >= share || run + 1 == runs {
            cuts.push(run + 1);
            in_hand = 0;
        }
    }
    let mut tasks = Vec::with_capacity(cuts.len());
    let (mut keys_left, mut lines_left) = (keys, per_line);
    for cut in cuts.windows(2) {
        let (keys, rest) = keys_left.split_at_mut((cut[0]..cut[1]).map(run_keys).sum());
        let (per_line, more) = lines_left.split_at_mut((cut[1] * width).min(lines) - cut[0] * width);
        (keys_left, lines_left) = (rest, more);
        tasks.push((cut[0]..cut[1], keys, per_line));
    }
    let scattered = &*scratch;
    let tasks = in_parallel(tasks, |(runs, keys, per_line): (Range<usize>, &mut [u64], _)| {
        let mut filled = 0;
        for (starts, scattered) in starts.iter().zip(scattered.chunks(share)) {
            let part = &scattered[starts[runs.start]..starts[runs.end]];
            keys[filled..filled + part.len()].copy_from_slice(part);
            filled += part.len();
        }
        (runs, keys, per_line)
    });
    let mut scratch_left = scratch;
    let mut sorts = Vec::with_capacity(tasks.len());
    for (runs, keys, per_line) in tasks {
        let (scratch, rest) = scratch_left.split_at_mut(keys.len());
        scratch_left = rest;
        sorts.push((runs.start * width, keys, scratch, per_line));
    }
    let duplicates = in_parallel(sorts, |(first, keys, scratch, per_line)| {
        Sorter::<R>::new(lines).sort(keys, scratch, first, per_line)
    });
    duplicates.into_iter().sum()
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

/// Does each part of a piece of work on a thread of its own, and on this one what the system has no thread for.
/// The results come in the order of the parts; a panic of any is passed on.
pub(super) fn in_parallel<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    // A part that waits for its thread can be taken back if there is to be none.
    let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let run = |part: &Mutex<Option<T>>| part.lock().take().map(&work);
    let results: Vec<Option<R>> = thread::scope(|scope| {
        let spawned: Vec<_> = parts
            .iter()
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, || run(part))))
            .collect();
        spawned
            .into_iter()
            .map(|(part, worker)| match worker {
                Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => run(part),
            })
            .collect()
    });
    results.into_iter().flatten().collect()
}

/// The least power of two that cuts `lines` lines into at most `runs` runs, as a shift.
fn run_shift(lines: usize, runs: usize) -> u32 {
    lines.div_ceil(runs).next_power_of_two().trailing_zeros()
}

/// Copies `from`, whose keys fall in lines `first..first + count`, to `to`: keys of the i-th 2^shift lines to
/// run i. Returns where each run starts, and the end of the last.
fn scatter(from: &[u64], to: &mut [u64], first: usize, count: usize, lines: usize, shift: u32) -> Vec<usize> {
    let run_of = |y: u64| (Place::new(y, lines).line - first) >> shift;
    let mut starts = vec![0; ((count - 1) >> shift) + 3];
    for &y in from {
        starts[run_of(y) + 2] += 1;
    }
    for run in 2..starts.len() {
        starts[run] += starts[run - 1];
    }
    for &y in from {
        let next = &mut starts[run_of(y) + 1];
        to[*next] = y;
        *next += 1;
    }
    starts.pop();
    starts
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
    fn sort(&mut self, keys: &mut [u64], scratch: &mut [u64], first: usize, per_line: &mut [usize]) -> usize {
        if per_line.len() <= LEAF_LINES {
            self.leaf(keys, scratch, first, per_line);
            return sort_ties::<R>(keys, self.lines);
        }
        let shift = run_shift(per_line.len(), FAN_OUT).max(LEAF_LINES.trailing_zeros());
        let width = 1 << shift;
        let starts = scatter(keys, scratch, first, per_line.len(), self.lines, shift);
        let mut duplicates = 0;
        for (run, per_line) in per_line.chunks_mut(width).enumerate() {
            let range = starts[run]..starts[run + 1];
            let (keys, scratch) = (&mut keys[range.clone()], &mut scratch[range]);
            keys.copy_from_slice(scratch);
            duplicates += self.sort(keys, scratch, first + run * width, per_line);
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
