//! Kernels: the innermost loops of the blocked schema, one small file per instruction set.
//!
//! The scalar kernel is the definition; every other kernel is tested against it for each number of probes and each
//! alignment. A [`Backend`] names a kernel and is the proof that this CPU can run it: only detection makes one.

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "calls into functions compiled for CPU features that detection has shown")]
mod avx2;
mod scalar;

use std::fmt;

pub(super) use scalar::add_shared;

use super::batch::{answer_ahead, fetch_ahead};
use super::blocked::{line_index, probe_seed};
use crate::hash::KeyHash;
use crate::line::{LineBytes, ReadLine, prefetch};

/// A set of kernels that this CPU can run.
///
/// All backends set the same bits and give the same answers; they differ in speed only. Filters choose one by
/// [`detect`](Self::detect) when they are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backend(Isa);

/// The instruction sets that code is compiled for, here and in the compact filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
}

impl Backend {
    /// The fastest backend of this CPU.
    #[must_use]
    pub fn detect() -> Self {
        Self::avx2().unwrap_or(Self::scalar())
    }

    /// The portable backend, which runs everywhere and defines what the others must do.
    #[must_use]
    pub const fn scalar() -> Self {
        Self(Isa::Scalar)
    }

    /// The AVX2 backend, where this CPU has AVX2 and the bit-counting and bit-moving instructions that came with
    /// it (BMI1, BMI2, POPCNT).
    #[must_use]
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return avx2::Avx2::detect().map(|proof| Self(Isa::Avx2(proof)));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Every backend that this CPU can run, the portable one first.
    pub fn all() -> impl Iterator<Item = Self> {
        [Some(Self::scalar()), Self::avx2()].into_iter().flatten()
    }

    /// Runs `work`, compiled for this backend's processor.
    ///
    /// In a build for any x86-64 processor each single lookup calls a function that is compiled for AVX2: the
    /// compiler can't make it a part of a loop that must run without AVX2 too. In `work` it can, and a loop of blocked
    /// lookups by ready hash takes about a fifth less time there, as in a build for this very processor
    /// (`-C target-cpu=native`). Hashing keys takes the time that it takes, lookups in other kinds of filters are too
    /// long to become a part of a loop, and batches are compiled so anyway. Around one lookup `run` is the same call
    /// again.
    ///
    /// Only `work` and what is inlined into it is compiled for the processor; the rest is called as ever, with the same
    /// answers. So mark the closure `#[inline(always)]`, and write a `for` loop: an iterator's methods are functions
    /// that the compiler may keep apart. Count in a local variable that the closure returns.
    ///
    /// ```
    /// use bloomline::BlockedFilter;
    /// use bloomline::probe::Backend;
    /// use bloomline::sizing::BlockedParams;
    ///
    /// let mut filter = BlockedFilter::new(BlockedParams::for_fpp(1_000, 0.01)?)?;
    /// filter.add(b"apple");
    /// let hashes = [&b"pear"[..], b"apple", b"plum"].map(|key| filter.hasher().hash(key));
    /// let maybe = Backend::detect().run(
    ///     #[inline(always)]
    ///     || {
    ///         let mut maybe = 0;
    ///         for &hash in &hashes {
    ///             maybe += usize::from(filter.might_contain_hash(hash));
    ///         }
    ///         maybe
    ///     },
    /// );
    /// assert!(maybe >= 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self.0 {
            Isa::Scalar => work(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(proof) => proof.run(work),
        }
    }

    /// Which code to run.
    #[inline]
    pub(crate) const fn isa(self) -> Isa {
        self.0
    }

    /// The name of the instruction set: `"scalar"` or `"avx2"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Isa::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "avx2",
        }
    }

    /// True when all `probes` bits of the hash are set in its line, and where there is no line at all.
    #[inline]
    pub(super) fn might_contain<L: ReadLine>(self, lines: &[L], hash: KeyHash, probes: u8) -> bool {
        match self.0 {
            Isa::Scalar => lines
                .get(line_index(hash, lines.len()))
                .is_none_or(|line| scalar::might_contain(line, probe_seed(hash), probes)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(proof) => proof.might_contain(lines, hash, probes),
        }
    }

    /// Tests many hashes, each in its line.
    pub(super) fn might_contain_batch<L: ReadLine>(
        self,
        lines: &[L],
        hashes: &[KeyHash],
        probes: u8,
        answers: &mut [bool],
    ) {
        assert_eq!(hashes.len(), answers.len(), "as many answers as hashes");
        if lines.is_empty() {
            answers.fill(true);
            return;
        }
        match self.0 {
            Isa::Scalar => {
                test_batch(lines, hashes, answers, |line, seed| scalar::might_contain(line, seed, probes));
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(proof) => proof.might_contain_batch(lines, hashes, probes, answers),
        }
    }

    /// Sets the `probes` bits of the hash in its line; true when one of them was not set.
    #[inline]
    pub(super) fn add(self, lines: &mut [LineBytes], hash: KeyHash, probes: u8) -> bool {
        match self.0 {
            Isa::Scalar => {
                let index = line_index(hash, lines.len());
                scalar::add(&mut lines[index], probe_seed(hash), probes)
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(proof) => proof.add(lines, hash, probes),
        }
    }

    /// Adds many hashes, each to its line; returns how many set a bit.
    pub(super) fn add_batch(self, lines: &mut [LineBytes], hashes: &[KeyHash], probes: u8) -> u64 {
        let of = lines.len();
        self.add_to_part(Part { lines, start: 0, of }, hashes, probes)
    }

    /// Adds many hashes, each to its line in a part that has all these lines; returns how many set a bit.
    pub(super) fn add_to_part(self, part: Part<'_>, hashes: &[KeyHash], probes: u8) -> u64 {
        match self.0 {
            Isa::Scalar => set_batch(part, hashes, |line, seed| scalar::add(line, seed, probes)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(proof) => proof.add_batch(part, hashes, probes),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some consecutive lines of a filter.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) lines: &'a mut [LineBytes],
    /// The number in the filter of the first of them.
    pub(super) start: usize,
    /// The lines of the filter.
    pub(super) of: usize,
}

impl Part<'_> {
    /// The same part for a shorter time.
    pub(super) fn reborrow(&mut self) -> Part<'_> {
        Part { lines: self.lines, start: self.start, of: self.of }
    }

    /// True when the hash's line is in the part.
    #[inline(always)]
    pub(super) fn has(&self, hash: KeyHash) -> bool {
        self.index(&hash) < self.lines.len()
    }

    /// The place in the part of the hash's line; out of range where the line is in another part.
    #[inline(always)]
    fn index(&self, hash: &impl Halves) -> usize {
        hash.line(self.of).wrapping_sub(self.start)
    }
}

/// A hash, or its two halves apart: the lower names the line, the upper has the probes.
trait Halves {
    /// The hash's line among `lines`.
    fn line(&self, lines: usize) -> usize;
    /// Where its probes come from.
    fn seed(&self) -> u32;
}

impl Halves for KeyHash {
    #[inline(always)]
    fn line(&self, lines: usize) -> usize {
        line_index(*self, lines)
    }

    #[inline(always)]
    fn seed(&self) -> u32 {
        probe_seed(*self)
    }
}

impl Halves for [u32; 2] {
    #[inline(always)]
    fn line(&self, lines: usize) -> usize {
        line_index(KeyHash::new(self[0].into()), lines)
    }

    #[inline(always)]
    fn seed(&self) -> u32 {
        self[1]
    }
}

/// The loop of a batched test. Inlined, so that it is compiled with the CPU features of the kernel around it.
#[inline(always)]
fn test_batch<L: ReadLine, H: Halves>(
    lines: &[L],
    hashes: &[H],
    answers: &mut [bool],
    test: impl Fn(&L, u32) -> bool,
) {
    answer_ahead(
        hashes,
        answers,
        |hash| prefetch(lines, hash.line(lines.len())),
        |hash| test(&lines[hash.line(lines.len())], hash.seed()),
    );
}

/// The loop of a batched add; inlined as [`test_batch`] is.
#[inline(always)]
fn set_batch<H: Halves>(mut part: Part<'_>, hashes: &[H], set: impl Fn(&mut LineBytes, u32) -> bool) -> u64 {
    let mut new = 0;
    fetch_ahead(
        &mut part,
        hashes,
        |part, hash| prefetch(part.lines, part.index(hash)),
        |part, hash| {
            let index = part.index(hash);
            new += u64::from(set(&mut part.lines[index], hash.seed()));
        },
    );
    new
}
