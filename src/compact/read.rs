//! Lookups in the lines of a body.
//!
//! ```text
//! y = hash
//! for each layer: line, rank, fingerprint, coefficients = what the layer asks of y
//!                 if rank < the line's threshold: y = next_layer(y), go on
//!                 else: maybe, if the line answers the fingerprint; absent, if not
//! the tail's threshold is the end: maybe
//! ```

use super::directory::Directory;
use super::kernel;
use super::key::{Place, coefficients, next_layer, slot_mask};
use super::shape::tau;
use crate::error::CompactBodyError;
use crate::hash::KeyHash;
use crate::line::{LineBytes, prefetch};
use crate::probe::Backend;
use crate::sizing::compact::{MAX_R, MIN_R, slots, tail_slots, tau_bits};

/// Keys whose lines are on their way at one time.
const BATCH: usize = 16;

/// Keys whose lines are asked for at one time.
const TURN: usize = 8;

/// Bumped keys to take on together: loops over a few at a time end where no branch predictor expects it.
const GROUP: usize = 8;

/// Room for bumped keys. Fewer than a group wait for theirs when a batch comes, and another batch comes before they
/// are answered.
const BUMPED: usize = 64;
const _: () = assert!(GROUP + 2 * BATCH <= BUMPED);

/// The test of one line, for a constant r: whether it answers the fingerprint of a place for the coefficients.
pub(super) trait LineTest: Fn(&LineBytes, [u64; 2], Place) -> bool {}
impl<F: Fn(&LineBytes, [u64; 2], Place) -> bool> LineTest for F {}

/// How the lines of a body are used: what its directory says, checked against the number of lines.
#[derive(Clone, Debug)]
pub struct CompactLayout {
    directory: Directory,
    /// Lines of layer 0; none if the tail is all there is.
    first: usize,
    /// Lines of layer 1; none if there is none beside the tail.
    second: usize,
    /// Lines in all.
    lines: usize,
    /// Which coefficients count in the tail.
    tail_mask: [u64; 2],
    r: u8,
}

impl CompactLayout {
    /// Reads the directory of a body with `fingerprint_bits` bits per key. Constant time.
    ///
    /// # Errors
    ///
    /// If this is not the body of a compact filter. What the columns and thresholds hold is not looked at:
    /// any value of these is a filter.
    pub fn read(lines: &[LineBytes], fingerprint_bits: u8) -> Result<Self, CompactBodyError> {
        let r = usize::from(fingerprint_bits);
        if !(MIN_R..=MAX_R).contains(&r) {
            return Err(CompactBodyError::FingerprintBits { got: fingerprint_bits });
        }
        let directory = Directory::load(r, lines)?;
        let first = if directory.layers().len() == 1 { 0 } else { directory.layers()[0] };
        let tail_mask = slot_mask(tail_slots(r, directory.layers().len()));
        let second = directory.between().first().copied().unwrap_or(0);
        Ok(Self { directory, first, second, lines: lines.len(), tail_mask, r: fingerprint_bits })
    }

    /// The filter in `lines`, which must be those that the layout was read from; `None` if they are more or
    /// fewer.
    #[inline]
    #[must_use]
    pub fn view<'a>(&'a self, backend: Backend, lines: &'a [LineBytes]) -> Option<CompactView<'a>> {
        (lines.len() == self.lines).then_some(CompactView { body: Body { lines, layout: self }, backend })
    }

    /// Number of layers, the tail included.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.directory.layers().len()
    }

    /// Fingerprint bits per key: the false-positive rate is 2 to the power of minus this.
    #[inline]
    #[must_use]
    pub fn fingerprint_bits(&self) -> u8 {
        self.r
    }
}

/// A compact filter over borrowed lines.
#[derive(Clone, Copy, Debug)]
pub struct CompactView<'a> {
    body: Body<'a>,
    backend: Backend,
}

impl CompactView<'_> {
    /// Checks that the bits which every line reserves are zero. Reads the whole body.
    ///
    /// # Errors
    ///
    /// If one is not.
    pub fn verify(&self) -> Result<(), CompactBodyError> {
        let Body { lines, layout } = self.body;
        let r = usize::from(layout.r);
        let reserved = r * slots(r)..512 - tau_bits(r) as usize;
        for (line, bytes) in lines.iter().enumerate() {
            if reserved.clone().any(|bit| bytes[bit / 8] >> (bit % 8) & 1 != 0) {
                return Err(CompactBodyError::ReservedBits { line });
            }
        }
        Ok(())
    }

    /// Whether the key with this hash may be present. `false` is a fact; `true` is a probability.
    #[inline(always)]
    #[must_use]
    pub fn might_contain(&self, hash: KeyHash) -> bool {
        kernel::might_contain(self.backend, self.body, hash.get())
    }

    /// Answers `might_contain(hashes[i])` in `answers[i]`, with the lines of many keys on their way at a time.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn might_contain_batch(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        kernel::might_contain_batch(self.backend, self.body, hashes, answers);
    }
}

/// The lines of a body, as many as the layout that was read from them has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    pub(super) lines: &'a [LineBytes],
    pub(super) layout: &'a CompactLayout,
}

impl<'a> Body<'a> {
    /// Fingerprint bits per key.
    #[inline(always)]
    pub(super) fn r(self) -> usize {
        usize::from(self.layout.r)
    }

    /// The lines of layer 0; none if the tail is all there is.
    #[inline(always)]
    fn first(self) -> &'a [LineBytes] {
        self.lines.get(..self.layout.first).unwrap_or_default()
    }

    /// The lines of the layers after it.
    #[inline(always)]
    fn rest(self) -> &'a [LineBytes] {
        self.lines.get(self.layout.first..).unwrap_or_default()
    }

    /// The steps of a lookup for a constant r. `holds` is the test of a line and `deeper` is [`Self::deeper`], compiled
    /// for the same machine.
    #[inline(always)]
    pub(super) fn lookup<const R: usize>(
        self,
        y: u64,
        holds: impl LineTest,
        deeper: impl Fn(u64) -> bool,
    ) -> bool {
        let place = Place::new(y, self.layout.first);
        // No first layer: no line of it.
        let Some(line) = self.first().get(place.line) else { return deeper(y) };
        if place.rank::<R>() < tau::<R>(line) {
            return deeper(next_layer(y));
        }
        holds(line, coefficients::<R>(y), place)
    }

    /// Looks `y`, the key for layer 1 (or for the tail, if it is alone), up in the layers after the first. `deepest` is
    /// [`Self::deepest`], compiled for the same machine.
    #[inline(always)]
    pub(super) fn deeper<const R: usize>(
        self,
        y: u64,
        holds: impl LineTest,
        deepest: impl Fn(u64) -> bool,
    ) -> bool {
        let place = Place::new(y, self.layout.second);
        if place.line >= self.layout.second {
            return deepest(y); // There is no such layer.
        }
        let Some(line) = self.rest().get(place.line) else { return true };
        if place.rank::<R>() < tau::<R>(line) {
            return deepest(next_layer(y));
        }
        holds(line, coefficients::<R>(y), place)
    }

    /// Looks `y` up in the layers after the second.
    #[inline(always)]
    pub(super) fn deepest<const R: usize>(self, mut y: u64, holds: impl LineTest) -> bool {
        let mut start = self.layout.second;
        for &lines in self.layout.directory.between().iter().skip(1) {
            let place = Place::new(y, lines);
            let Some(line) = self.rest().get(start + place.line) else { return true };
            if place.rank::<R>() >= tau::<R>(line) {
                return holds(line, coefficients::<R>(y), place);
            }
            start += lines;
            y = next_layer(y);
        }
        let Some(tail) = self.rest().last() else { return true };
        let place = Place::new(y, 1);
        let [low, high] = coefficients::<R>(y);
        let [low_mask, high_mask] = self.layout.tail_mask;
        place.rank::<R>() < tau::<R>(tail) || holds(tail, [low & low_mask, high & high_mask], place)
    }

    #[inline(always)]
    pub(super) fn batch<const R: usize>(
        self,
        hashes: &[KeyHash],
        answers: &mut [bool],
        holds: impl LineTest,
        deeper: impl Fn(u64) -> bool,
    ) {
        if self.layout.first == 0 {
            for (hash, answer) in hashes.iter().zip(answers) {
                *answer = deeper(hash.get());
            }
            return;
        }
        // Lines come while the batch before theirs is tested. Asking and testing take turns at a few keys each: all
        // lines of a batch at once overflow what a core can have on its way, and it then waits with nothing on its
        // way; turn by turn for single keys, there is more in hand than there are registers.
        let (mut places, mut next_places) = (&mut [Place::new(0, 1); BATCH], &mut [Place::new(0, 1); BATCH]);
        let mut bumped = Bumped { keys: [(0, 0); BUMPED], len: 0, asked: 0 };
        let mut batches = hashes.chunks(BATCH).zip((0..).step_by(BATCH)).peekable();
        self.fetch_first(hashes.get(..BATCH).unwrap_or(hashes), places);
        while let Some((batch, start)) = batches.next() {
            let mut next = batches.peek().map_or(&[][..], |(batch, _)| batch).chunks(TURN);
            let turns = batch.chunks(TURN).zip((start..).step_by(TURN));
            for ((hashes, start), (places, next_places)) in
                turns.zip(places.chunks(TURN).zip(next_places.chunks_mut(TURN)))
            {
                self.fetch_first(next.next().unwrap_or_default(), next_places);
                self.test_first::<R>(hashes, places, answers, start, &mut bumped, &holds);
            }
            std::mem::swap(&mut places, &mut next_places);
            self.test_second::<R>(&mut bumped, answers, &holds, &deeper);
            if bumped.len >= GROUP {
                self.fetch_second(&mut bumped);
            }
        }
        self.fetch_second(&mut bumped);
        self.test_second::<R>(&mut bumped, answers, &holds, &deeper);
    }

    /// Places keys in the first layer and asks for their lines.
    #[inline(always)]
    fn fetch_first(self, hashes: &[KeyHash], places: &mut [Place]) {
        for (hash, place) in hashes.iter().zip(places) {
            *place = Place::new(hash.get(), self.layout.first);
            prefetch(self.first(), place.line);
        }
    }

    /// Tests keys in the first layer, of which the first is number `start` of all. Adds those that were bumped to
    /// `bumped`; their answers are to be overwritten.
    #[inline(always)]
    fn test_first<const R: usize>(
        self,
        hashes: &[KeyHash],
        places: &[Place],
        answers: &mut [bool],
        start: usize,
        bumped: &mut Bumped,
        holds: impl LineTest,
    ) {
        let answers = answers.get_mut(start..).unwrap_or_default();
        for (i, ((hash, &place), answer)) in hashes.iter().zip(places).zip(answers).enumerate() {
            let Some(line) = self.first().get(place.line) else { continue };
            // Whether a key was bumped is the one thing that no branch predictor can know: written at every step
            // and kept where it was, without a branch.
            bumped.keys[bumped.len % BUMPED] = (start + i, hash.get());
            bumped.len += usize::from(place.rank::<R>() < tau::<R>(line));
            *answer = holds(line, coefficients::<R>(hash.get()), place);
        }
    }

    /// Takes bumped keys on to the second layer and asks for their lines.
    #[inline(always)]
    fn fetch_second(self, bumped: &mut Bumped) {
        let second = self.layout.second.max(1);
        for (_, y) in bumped.keys.iter_mut().take(bumped.len).skip(bumped.asked) {
            *y = next_layer(*y);
            prefetch(self.rest(), Place::new(*y, second).line);
        }
        bumped.asked = bumped.len;
    }

    /// Overwrites the answers of the keys whose lines were asked for, and takes these keys out.
    #[inline(always)]
    fn test_second<const R: usize>(
        self,
        bumped: &mut Bumped,
        answers: &mut [bool],
        holds: impl LineTest,
        deeper: impl Fn(u64) -> bool,
    ) {
        let lines = self.rest().get(..self.layout.second).unwrap_or_default();
        // As in the first layer, without a branch on whether a key was bumped: those that were come to the front.
        let mut again = 0;
        for k in 0..bumped.asked.min(BUMPED) {
            let (i, y) = bumped.keys[k];
            let place = Place::new(y, lines.len());
            bumped.keys[again] = (i, y);
            let Some(line) = lines.get(place.line) else {
                again += 1;
                continue;
            };
            again += usize::from(place.rank::<R>() < tau::<R>(line));
            if let Some(answer) = answers.get_mut(i) {
                *answer = holds(line, coefficients::<R>(y), place);
            }
        }
        for &(i, y) in &bumped.keys[..again] {
            if let Some(answer) = answers.get_mut(i) {
                *answer = deeper(y);
            }
        }
        bumped.keys.copy_within(bumped.asked..bumped.len, 0);
        bumped.len -= bumped.asked;
        bumped.asked = 0;
    }
}

/// Keys that the first layer bumped, each with its number: of those `asked`, the lines are on their way.
struct Bumped {
    keys: [(usize, u64); BUMPED],
    len: usize,
    asked: usize,
}
