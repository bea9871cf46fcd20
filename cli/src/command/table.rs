//! `bloomline table`: a sorted table file from lines of keys and values.

use std::path::PathBuf;
use std::time::Instant;

use bloomline::error::{FilterError, TableError};
use bloomline::{TableOptions, TableWriter};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::container;
use crate::exit::{Failure, Outcome};
use crate::input::{Chunk, LineArgs, Source};
use crate::interrupt;
use crate::output::{bytes, count, percent, print_report, quoted};
use crate::progress::Progress;
use crate::sizing::{FilterArgs, SizedKind};
use crate::sort::{Record, Sorter};

/// Build a table file from lines of key, TAB, value
///
/// The lines may come in any order: they are sorted, by way of temporary files beside the output where they
/// don't fit the memory allowed. The value is all that follows the first TAB. The output appears whole or not at
/// all, never in place of the input or the file of the secret key. Memory: --memory, and 8 bytes for each key (16
/// for a compact filter), and the filter.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline table pairs.tsv -o pairs.blt\n  \
    bloomline table pairs.tsv -o pairs.blt --bits-per-key 16 --duplicates last\n  \
    bloomline table pairs.tsv -o pairs.blt --kind compact --fpp 0.001\n  \
    awk -v OFS='\\t' '{print $1, NR}' access.log | bloomline table - -o log.blt --duplicates last\n\n\
    JSON: {\"entries\",\"bytes\",\"filter_bytes\",\"bits_per_key\",\"expected_fpp\",\"seconds\"}; `bytes` is the \
    size of the file.")]
pub(super) struct Table {
    /// The pairs, one a line; - is standard input
    pairs: Source,
    /// The table file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kind of filter
    #[arg(long, value_enum, default_value = "blocked")]
    kind: SizedKind,
    #[command(flatten)]
    filter: FilterArgs,
    /// What to do with a key that comes twice
    #[arg(long, value_enum, default_value = "error")]
    duplicates: Duplicates,
    /// Memory for sorting, in MiB
    #[arg(long, value_name = "MIB", default_value = "256", value_parser = clap::value_parser!(u32).range(1..))]
    memory: u32,
    #[command(flatten)]
    lines: LineArgs,
    /// Print one JSON object in place of a sentence
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Duplicates {
    /// Refuse the input, naming the key and its lines
    Error,
    /// Keep the value of the last line
    Last,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    entries: u64,
    bytes: u64,
    filter_bytes: u64,
    bits_per_key: f64,
    expected_fpp: f64,
    seconds: f64,
}

impl Table {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let started = Instant::now();
        container::check_output(&self.output, [self.pairs.clone()], &self.filter.hasher.secret)?;
        let options = self.filter.options(self.kind.kind())?;
        let sorted = self.read()?;
        let _guard = interrupt::Guard::new();
        let options = TableOptions::default().filter(Some(options)).cancel(interrupt::cancel());
        let mut writer = TableWriter::create(&self.output, options).map_err(container::failure)?;
        let mut add = |key: &[u8], value: &[u8]| writer.add(key, value).map_err(container::failure);
        let mut unique = Unique { pairs: &self.pairs, duplicates: self.duplicates, pending: None };
        // Begun with the first record, when all runs are sorted.
        let (total, mut progress) = (sorted.total_bytes(), None);
        sorted.finish(|record| {
            interrupt::check()?;
            let progress = progress.get_or_insert_with(|| Progress::new("writing table", Some(total)));
            progress.advance((record.key.len() + record.value.len()) as u64);
            unique.take(record, &mut add)
        })?;
        drop(progress);
        unique.end(&mut add)?;
        let summary = writer.finish().map_err(|error| self.refuse(error))?;
        let filter_bits = summary.filter_bytes as f64 * 8.0;
        let report = Report {
            entries: summary.entries,
            bytes: summary.file_bytes,
            filter_bytes: summary.filter_bytes,
            bits_per_key: if summary.entries == 0 { 0.0 } else { filter_bits / summary.entries as f64 },
            expected_fpp: summary.expected_fpp,
            seconds: started.elapsed().as_secs_f64(),
        };
        print_report(self.json, &report, |report, out| out.text(self.sentence(report)))?;
        Ok(Outcome::Success)
    }

    /// A budget that can't be met for so many keys is the fault of its flag.
    fn refuse(&self, error: TableError) -> Failure {
        match error {
            TableError::Filter { source: FilterError::Sizing(error), .. } => self.filter.budget.refuse(error),
            other => container::failure(other),
        }
    }

    /// Reads all pairs into a sorter.
    fn read(&self) -> Result<Sorter, Failure> {
        let budget = usize::try_from(u64::from(self.memory) << 20).unwrap_or(usize::MAX);
        let folder = container::folder_of(&self.output).to_owned();
        let mut sorter = Sorter::new(budget, folder);
        let mut lines = self.pairs.open("reading pairs")?;
        let mut chunk = Chunk::default();
        let mut line = 0;
        while lines.read(&mut chunk)? {
            for text in chunk.lines(self.lines.ends()) {
                line += 1;
                let Some(tab) = memchr::memchr(b'\t', text) else {
                    let problem = format!("line {line} has no TAB, expected key, TAB, value");
                    return Err(Failure::input(&self.pairs, problem));
                };
                sorter.add(Record { key: &text[..tab], value: &text[tab + 1..], line })?;
            }
        }
        Ok(sorter)
    }

    fn sentence(&self, report: &Report) -> String {
        format!(
            "{}: {} entries, {}, of it {} filter, {:.2} bits per key, expected false-positive rate {}, {:.2} s",
            self.output.display(),
            count(report.entries),
            bytes(report.bytes),
            bytes(report.filter_bytes),
            report.bits_per_key,
            percent(report.expected_fpp),
            report.seconds
        )
    }
}

/// Lets one record of each key through. A record waits until the next key is known to be another.
struct Unique<'a> {
    pairs: &'a Source,
    duplicates: Duplicates,
    pending: Option<(Vec<u8>, Vec<u8>, u64)>,
}

impl Unique<'_> {
    /// Takes the next record in order of keys and lines; hands out the one before where its key is done.
    fn take(
        &mut self,
        record: Record<'_>,
        mut hand_out: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some((key, value, line)) = &mut self.pending else {
            self.pending = Some((record.key.to_vec(), record.value.to_vec(), record.line));
            return Ok(());
        };
        if key != record.key {
            hand_out(key, value)?;
            key.clear();
            key.extend_from_slice(record.key);
        } else if self.duplicates == Duplicates::Error {
            return Err(Failure::input(
                self.pairs,
                format_args!(
                    "the key {} is on line {line} and on line {}, expected each key once (or --duplicates last)",
                    quoted(key),
                    record.line
                ),
            ));
        }
        value.clear();
        value.extend_from_slice(record.value);
        *line = record.line;
        Ok(())
    }

    fn end(self, mut hand_out: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
        self.pending.map_or(Ok(()), |(key, value, _)| hand_out(&key, &value))
    }
}
