//! Sorting pairs that may be larger than memory.
//!
//! Pairs are collected up to a budget, sorted and written out as a *run*; at the end all runs are merged. Where
//! everything fits, nothing is written. Runs are files without a name, so that not even a killed process leaves
//! one behind.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

use crate::exit::Failure;

/// Runs merged at a time. More are first merged into one, so that neither open files nor buffers grow without
/// limit.
const MAX_RUNS: usize = 64;

/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 128 * 1024;

/// A pair and the number of the line that it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) line: u64,
}

/// Sorts pairs by key, and pairs with equal keys by line. Call order: `add* finish`.
#[derive(Debug)]
pub(crate) struct Sorter {
    budget: usize,
    /// Where runs are written.
    folder: PathBuf,
    /// The bytes of the pairs in memory, key then value.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    runs: Vec<Run>,
    total_bytes: u64,
}

/// A pair in [`Sorter::bytes`].
#[derive(Debug)]
struct Entry {
    /// The first eight bytes of the key, so that most comparisons need not fetch it.
    prefix: u64,
    start: usize,
    key_len: u32,
    value_len: u32,
    line: u64,
}

impl Entry {
    fn record<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        let (key, rest) = bytes[self.start..].split_at(self.key_len as usize);
        Record { key, value: &rest[..self.value_len as usize], line: self.line }
    }

    fn cmp(&self, other: &Self, bytes: &[u8]) -> Ordering {
        self.prefix
            .cmp(&other.prefix)
            .then_with(|| self.record(bytes).key.cmp(other.record(bytes).key))
            .then(self.line.cmp(&other.line))
    }
}

/// The first eight bytes as a number that orders as the bytes do; shorter keys are filled up with zeros.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let shown = key.len().min(8);
    bytes[..shown].copy_from_slice(&key[..shown]);
    u64::from_be_bytes(bytes)
}

impl Sorter {
    /// A sorter that holds about `budget` bytes of pairs in memory, and writes more than that to `folder`.
    pub(crate) fn new(budget: usize, folder: PathBuf) -> Self {
        Self { budget, folder, bytes: Vec::new(), entries: Vec::new(), runs: Vec::new(), total_bytes: 0 }
    }

    /// Takes a pair. Neither part is longer than a line can be.
    pub(crate) fn add(&mut self, record: Record<'_>) -> Result<(), Failure> {
        let length = record.key.len() + record.value.len();
        let in_memory = self.bytes.len() + self.entries.len() * size_of::<Entry>();
        if in_memory + length > self.budget && !self.entries.is_empty() {
            self.spill().map_err(|error| self.failed(&error))?;
        }
        let too_long = |_| Failure::input("line", format_args!("{} is too long", record.line));
        self.entries.push(Entry {
            prefix: prefix(record.key),
            start: self.bytes.len(),
            key_len: u32::try_from(record.key.len()).map_err(too_long)?,
            value_len: u32::try_from(record.value.len()).map_err(too_long)?,
            line: record.line,
        });
        self.bytes.extend_from_slice(record.key);
        self.bytes.extend_from_slice(record.value);
        self.total_bytes += length as u64;
        Ok(())
    }

    /// Bytes of all keys and values.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Hands out all pairs in order.
    pub(crate) fn finish(
        mut self,
        mut use_record: impl FnMut(Record<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.runs.is_empty() {
            self.sort();
            return self.entries.iter().try_for_each(|entry| use_record(entry.record(&self.bytes)));
        }
        let merged = self.spill().and_then(|()| Merge::new(std::mem::take(&mut self.runs)));
        let mut merge = merged.map_err(|error| self.failed(&error))?;
        // The memory of the last run is not needed while the runs are merged.
        (self.bytes, self.entries) = (Vec::new(), Vec::new());
        while let Some(head) = merge.next().map_err(|error| self.failed(&error))? {
            use_record(head.record())?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| a.cmp(b, bytes));
    }

    /// Writes what is in memory out as a run.
    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut run = RunWriter::new(&self.folder)?;
        for entry in &self.entries {
            run.write(entry.record(&self.bytes))?;
        }
        self.runs.push(run.finish()?);
        self.bytes.clear();
        self.entries.clear();
        if self.runs.len() == MAX_RUNS {
            let mut merge = Merge::new(std::mem::take(&mut self.runs))?;
            let mut run = RunWriter::new(&self.folder)?;
            while let Some(head) = merge.next()? {
                run.write(head.record())?;
            }
            self.runs.push(run.finish()?);
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let problem = format!("can't sort by way of a temporary file here: {}", crate::exit::io_text(error));
        Failure::input(self.folder.display(), problem)
    }
}

/// Sorted pairs in a file without a name: for each line number, length of the key and of the value, key, value.
#[derive(Debug)]
struct Run {
    file: File,
    pairs: u64,
}

struct RunWriter {
    file: BufWriter<File>,
    pairs: u64,
}

impl RunWriter {
    fn new(folder: &std::path::Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile_in(folder)?);
        Ok(Self { file, pairs: 0 })
    }

    fn write(&mut self, record: Record<'_>) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let key_len = u32::try_from(record.key.len()).map_err(too_long)?;
        let value_len = u32::try_from(record.value.len()).map_err(too_long)?;
        self.pairs += 1;
        self.file.write_all(&record.line.to_le_bytes())?;
        self.file.write_all(&key_len.to_le_bytes())?;
        self.file.write_all(&value_len.to_le_bytes())?;
        self.file.write_all(record.key)?;
        self.file.write_all(record.value)
    }

    fn finish(self) -> io::Result<Run> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Run { file, pairs: self.pairs })
    }
}

/// The next pair of a run, with the rest of the run behind it. Ordered by key, then line.
struct Head {
    key: Vec<u8>,
    value: Vec<u8>,
    line: u64,
    rest: BufReader<File>,
    /// Pairs in the rest.
    left: u64,
}

impl Head {
    fn record(&self) -> Record<'_> {
        Record { key: &self.key, value: &self.value, line: self.line }
    }

    /// Reads the next pair; false at the end of the run.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(false) };
        self.left = left;
        let (mut line, mut key_len, mut value_len) = ([0; 8], [0; 4], [0; 4]);
        self.rest.read_exact(&mut line)?;
        self.rest.read_exact(&mut key_len)?;
        self.rest.read_exact(&mut value_len)?;
        self.line = u64::from_le_bytes(line);
        self.key.resize(u32::from_le_bytes(key_len) as usize, 0);
        self.value.resize(u32::from_le_bytes(value_len) as usize, 0);
        self.rest.read_exact(&mut self.key)?;
        self.rest.read_exact(&mut self.value).map(|()| true)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(self.line.cmp(&other.line))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// The pairs of several runs, in order.
struct Merge {
    heads: BinaryHeap<Reverse<Head>>,
    /// The head of the heap has been given out, and its successor is to be read.
    given: bool,
}

impl Merge {
    fn new(runs: Vec<Run>) -> io::Result<Self> {
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for Run { file, pairs } in runs {
            let rest = BufReader::with_capacity(BUFFER_BYTES, file);
            let mut head = Head { key: Vec::new(), value: Vec::new(), line: 0, rest, left: pairs };
            if head.advance()? {
                heads.push(Reverse(head));
            }
        }
        Ok(Self { heads, given: false })
    }

    fn next(&mut self) -> io::Result<Option<&Head>> {
        if self.given {
            if let Some(mut first) = self.heads.peek_mut() {
                if !first.0.advance()? {
                    std::collections::binary_heap::PeekMut::pop(first);
                }
            }
        }
        self.given = true;
        Ok(self.heads.peek().map(|head| &head.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Vec<u8>, Vec<u8>, u64);

    fn sorted(pairs: &[Pair], budget: usize) -> (Vec<Pair>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(budget, folder.path().to_owned());
        for (key, value, line) in pairs {
            sorter.add(Record { key, value, line: *line }).unwrap();
        }
        let spilled = !sorter.runs.is_empty();
        let mut got = Vec::new();
        sorter
            .finish(|record| {
                got.push((record.key.to_vec(), record.value.to_vec(), record.line));
                Ok(())
            })
            .unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "a run has a name");
        (got, spilled)
    }

    /// Keys of 0 to 11 bytes from a few values, so that there are equal ones, prefixes of others, and zeros that
    /// the filled-up prefix could mistake for the end.
    fn pairs(count: u64) -> Vec<Pair> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 33
        };
        (1..=count)
            .map(|line| {
                let key = (0..random() % 12).map(|_| [0, b'a', 0xFF][(random() % 3) as usize]).collect();
                (key, vec![b'v'; (random() % 20) as usize], line)
            })
            .collect()
    }

    #[test]
    fn pairs_come_sorted_with_and_without_runs() {
        let pairs = pairs(3000);
        let mut expected = pairs.clone();
        expected.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
        // The smallest budget writes every pair as a run of its own, and so merges runs of runs.
        for (budget, spills) in [(usize::MAX, false), (50_000, true), (1000, true), (0, true)] {
            let (got, spilled) = sorted(&pairs, budget);
            assert_eq!(spilled, spills);
            assert!(got == expected, "out of order at a budget of {budget}");
        }
    }

    #[test]
    fn nothing_sorts_to_nothing() {
        assert_eq!(sorted(&[], 100).0, []);
    }

    #[test]
    fn a_failure_of_the_user_stops_the_merge() {
        let mut sorter = Sorter::new(0, tempfile::tempdir().unwrap().path().parent().unwrap().to_owned());
        for line in 1..=3 {
            sorter.add(Record { key: b"k", value: b"v", line }).unwrap();
        }
        let mut calls = 0;
        let stopped = sorter.finish(|_| {
            calls += 1;
            Err(Failure::Interrupted { signal: 2 })
        });
        assert!(matches!(stopped, Err(Failure::Interrupted { .. })) && calls == 1);
    }
}
