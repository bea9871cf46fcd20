//! From hashes to the lines of a body.
//!
//! ```text
//! keys = the distinct hashes
//! loop: if the keys are few enough, try to hold them all in a tail line; if they fit, done
//!       spread them over the lines of a new layer
//!       each line keeps those of highest rank that it can, and sets its threshold above the first other
//!       keys = next_layer(those that were bumped)
//! ```
//!
//! **It always ends with a right filter.** Equal hashes are one key. Distinct hashes stay distinct from layer
//! to layer, and each layer draws their lines and equations anew, so they part sooner or later, unless someone
//! chose them not to. Layers are at most [`MAX_LAYERS`], and lines at most four times those of the first
//! layer and 16 more; whatever is left then goes to the tail, whose threshold answers "maybe" for what it
//! can't hold. So hostile hashes cost at most a known factor in time and space, and false positives among the
//! lookups that follow their way through every layer; never a key.
//!
//! **The bytes are a function of the set of hashes and the parameters**: not of the order, of duplicates, of
//! the number of threads or of the machine.
//!
//! **Memory**: the caller's hashes and a sorted copy, 8 bytes per key each, 8 bytes per line, and the body, twice
//! when it is done. Hashes that the caller gave away go as soon as the copy is sorted. Only where hashes repeat are
//! there three arrays for a while.

use super::directory::Directory;
use super::group::{group, in_parallel, try_grow};
use super::key::{Place, next_layer};
use super::shape::{set_tau, with_constant_r};
use super::system::System;
use crate::error::FilterError;
use crate::hash::KeyHash;
use crate::line::{LINE_BYTES, LineBuf, LineBytes};
use crate::probe::Backend;
use crate::probe::kernel::Isa;
use crate::sizing::compact::{CompactParams, MAX_LAYERS, round_up, slots, tail_slots};
use std::borrow::Cow;
use std::{mem, slice};

/// The body of a compact filter and the number of keys it holds.
#[derive(Debug)]
pub struct CompactBody {
    /// The lines: layers, then the tail. None if there are no keys.
    pub lines: LineBuf,
    /// Number of distinct hashes.
    pub keys: u64,
    /// How many of them the first layer sent on to the next.
    pub bumped: u64,
}

impl PartialEq for CompactBody {
    fn eq(&self, other: &Self) -> bool {
        self.lines.lines() == other.lines.lines() && self.keys == other.keys && self.bumped == other.bumped
    }
}

impl Eq for CompactBody {}

impl CompactBody {
    /// Share of keys, and so of lookups, that read more than one line. Zero if there are no keys.
    #[must_use]
    pub fn bumped_share(&self) -> f64 {
        if self.keys == 0 { 0.0 } else { self.bumped as f64 / self.keys as f64 }
    }
}

/// Builds the body of a filter that holds `hashes`, in any order, duplicates and all: a slice, or a vector, which is
/// freed when it is no longer needed.
///
/// Uses up to `threads` threads; 0 and 1 mean the caller's own. See [the module](super) for what hashes that
/// no layer can separate end in.
///
/// # Errors
///
/// [`FilterError::OutOfMemory`] where the system has no room for the scratch space or the lines.
pub fn build<'a>(
    hashes: impl Into<Cow<'a, [KeyHash]>>,
    params: CompactParams,
    threads: usize,
) -> Result<CompactBody, FilterError> {
    build_with(Backend::detect(), Limits::DEFAULT, hashes.into(), params, threads)
}

/// How far hostile hashes can drive a build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Layers, with the tail.
    pub(super) layers: usize,
    /// Lines of all later layers, as a multiple of those of the first; 16 more are allowed.
    pub(super) growth: usize,
}

impl Limits {
    pub(super) const DEFAULT: Self = Self { layers: MAX_LAYERS, growth: 3 };
}

pub(super) fn build_with(
    backend: Backend,
    limits: Limits,
    hashes: Cow<'_, [KeyHash]>,
    params: CompactParams,
    threads: usize,
) -> Result<CompactBody, FilterError> {
    with_constant_r!(
        params.r(),
        R => build_layers::<R>(backend, limits, hashes, params, threads),
        else unreachable!("CompactParams holds 4 to 16")
    )
}

fn build_layers<const R: usize>(
    backend: Backend,
    limits: Limits,
    hashes: Cow<'_, [KeyHash]>,
    params: CompactParams,
    threads: usize,
) -> Result<CompactBody, FilterError> {
    if hashes.is_empty() {
        return Ok(CompactBody { lines: LineBuf::zeroed(0)?, keys: 0, bumped: 0 });
    }
    // The keys of a layer, as they come and in order.
    let mut source = hashes;
    let mut keys = Vec::new();
    let mut body: Vec<LineBytes> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    let mut distinct = source.len() as u64;
    let mut first_bumped = 0;
    let mut budget = usize::MAX;
    loop {
        let tail_slots = tail_slots(R, sizes.len() + 1);
        let lines = layer_lines(params, source.len(), sizes.is_empty());
        let last = sizes.len() + 1 == limits.layers || lines > budget;
        let as_tail = last || source.len() <= tail_slots;
        let lines = if as_tail { 1 } else { lines };
        try_grow(&mut keys, source.len(), 0)?;
        let counts = group::<R>(&source, &mut keys, lines, threads)?;
        source = Cow::Borrowed(&[]);
        if counts.duplicates > 0 {
            // Only ever in the first layer, which then is sized anew.
            keys.dedup();
            distinct = keys.len() as u64;
            source = owned(mem::take(&mut keys));
            continue;
        }
        if as_tail {
            let mut tail = [0; LINE_BYTES];
            // The keys are needed once more if they don't fit.
            let mut tried = Vec::new();
            try_grow(&mut tried, keys.len(), 0)?;
            tried.copy_from_slice(&keys);
            let out = slice::from_mut(&mut tail);
            let layer = Layer { lines: 1, slots: tail_slots, threads, backend };
            let bumped = solve::<R>(layer, &mut tried, &counts.per_line, out);
            if bumped == 0 || last {
                sizes.push(1);
                Directory::of_layers(&sizes).store(R, &mut tail);
                body.push(tail);
                break;
            }
        }
        if sizes.is_empty() {
            budget = limits.growth * lines + 16;
        } else {
            budget -= lines;
        }
        if sizes.is_empty() {
            // Room for all layers of any load up to the default's, so that the lines move at most once.
            try_grow(&mut body, lines + lines / 4 + 4, [0; LINE_BYTES])?;
            body.clear();
        }
        let start = body.len();
        try_grow(&mut body, lines, [0; LINE_BYTES])?;
        let layer = Layer { lines, slots: slots(R), threads, backend };
        let bumped = solve::<R>(layer, &mut keys, &counts.per_line, &mut body[start..]);
        keys.truncate(bumped);
        source = owned(mem::take(&mut keys));
        if sizes.is_empty() {
            first_bumped = bumped as u64;
        }
        sizes.push(lines);
    }
    drop((keys, source));
    let mut lines = LineBuf::zeroed(body.len())?;
    lines.lines_mut().copy_from_slice(&body);
    Ok(CompactBody { lines, keys: distinct, bumped: first_bumped })
}

/// Sorted keys as the hashes of a further pass, in place: the two types have one layout.
fn owned(keys: Vec<u64>) -> Cow<'static, [KeyHash]> {
    Cow::Owned(keys.into_iter().map(KeyHash::new).collect())
}

fn layer_lines(params: CompactParams, keys: usize, first: bool) -> usize {
    // A layer has fewer lines than keys, so the number fits.
    let lines = usize::try_from(params.layer_lines(keys as u64)).unwrap_or(usize::MAX);
    if first { lines } else { round_up(lines) }
}

/// What a step of the build needs to know of its layer.
#[derive(Clone, Copy, Debug)]
struct Layer {
    lines: usize,
    /// Slots of each line that equations may name.
    slots: usize,
    threads: usize,
    backend: Backend,
}

/// Solves the lines of one layer, whose keys are grouped. Moves the next keys of those that were bumped to the
/// front of `keys` and returns their number.
fn solve<const R: usize>(layer: Layer, keys: &mut [u64], per_line: &[usize], out: &mut [LineBytes]) -> usize {
    let share = keys.len().div_ceil(layer.threads.max(1)).max(1 << 14);
    if keys.len() <= share {
        return solve_lines::<R>(layer, keys, per_line, out);
    }
    // Consecutive lines with about a thread's share of the keys.
    let mut parts = Vec::new();
    let (mut keys_left, mut lines_left) = (&mut *keys, out);
    let mut start = 0;
    while start < per_line.len() {
        let mut end = start;
        let mut sum = 0;
        while end < per_line.len() && sum < share {
            sum += per_line[end];
            end += 1;
        }
        let (keys, more_keys) = keys_left.split_at_mut(sum);
        let (lines, more_lines) = lines_left.split_at_mut(end - start);
        (keys_left, lines_left) = (more_keys, more_lines);
        parts.push((keys, &per_line[start..end], lines));
        start = end;
    }
    let bumped = in_parallel(parts, |(keys, per_line, lines): (&mut [u64], _, _)| {
        (keys.len(), solve_lines::<R>(layer, keys, per_line, lines))
    });
    let (mut from, mut to) = (0, 0);
    for (length, bumped) in bumped {
        keys.copy_within(from..from + bumped, to);
        from += length;
        to += bumped;
    }
    to
}

/// Chooses the instructions: once per thread and layer.
fn solve_lines<const R: usize>(
    layer: Layer,
    keys: &mut [u64],
    per_line: &[usize],
    out: &mut [LineBytes],
) -> usize {
    match layer.backend.isa() {
        Isa::Scalar => solve_each::<R>(layer, keys, per_line, out),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            fn with_avx2<const R: usize>(
                layer: Layer,
                keys: &mut [u64],
                per_line: &[usize],
                out: &mut [LineBytes],
            ) -> usize {
                solve_each::<R>(layer, keys, per_line, out)
            }
            #[expect(unsafe_code, reason = "a call that needs CPU features")]
            // SAFETY: the `Avx2` in the backend exists, so detection has seen these four features on this CPU.
            unsafe {
                with_avx2::<R>(layer, keys, per_line, out)
            }
        }
    }
}

#[inline(always)]
fn solve_each<const R: usize>(
    layer: Layer,
    keys: &mut [u64],
    per_line: &[usize],
    out: &mut [LineBytes],
) -> usize {
    let mut system = System::<R>::new();
    let rank = |y: u64| Place::new(y, layer.lines).rank::<R>();
    let (mut start, mut bumped) = (0, 0);
    for (line, &count) in out.iter_mut().zip(per_line) {
        let end = start + count;
        let fitting = start + system.solve(&keys[start..end], layer.lines, layer.slots, line);
        if fitting < end {
            let highest_bumped = rank(keys[fitting]);
            set_tau::<R>(line, highest_bumped + 1);
            // Those of the same rank that did fit go too; their equations stay, and do no harm.
            let mut cut = fitting;
            while cut > start && rank(keys[cut - 1]) == highest_bumped {
                cut -= 1;
            }
            for i in cut..end {
                keys[bumped] = next_layer(keys[i]);
                bumped += 1;
            }
        }
        start = end;
    }
    bumped
}
