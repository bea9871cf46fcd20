//! `bloomline demo`: the main job on real data, measured and checked.

mod sharing;
mod words;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bloomline::hash::Hashers;
use bloomline::{FilterOptions, TableOptions, TableReader, TableWriter};
use clap::Args;
use serde::Serialize;

use crate::container::failure;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use crate::output::{Output, bytes, count, percent, print_report};
use sharing::Mapped;

/// Show on real data what a filter saves
///
/// A table of 104,334 English words, and a million lookups of keys that are no words, with the filter and without.
/// The table is built in a temporary folder. Every word is looked up and must be found with its value; the absent
/// keys are words with one letter put in, checked to be no words. Three more processes then read the same file,
/// and on Linux the demo shows from /proc/PID/smaps that all of them share its pages.
///
/// The demo fails, with exit code 3, when a word is not found, when the measured false-positive rate is not the
/// expected one within five standard deviations, or when pages are not shared.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline demo\n  \
    bloomline demo --absent-keys 5000000\n  \
    bloomline demo --json\n\n\
    JSON: {\"words\",\"absent_keys\",\"table_bytes\",\"filter_bytes\",\"bits_per_key\",\"expected_fpp\",\
    \"measured_fpp\",\"lookups\",\"processes\"}; each of `lookups` is {\"keys\",\"filter\",\"lookups\",\"found\",\
    \"block_reads\",\"false_positives\",\"seconds\"}, each of `processes` {\"pid\",\"rss\",\"pss\"}, null where the system doesn't tell.")]
pub(super) struct Demo {
    /// How many absent keys to look up
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u32).range(10_000..=20_000_000))]
    absent_keys: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A process that the demo starts: looks up every word, says how many it found, waits for the end of its standard
/// input.
#[derive(Debug, Args)]
pub(super) struct Reader {
    file: PathBuf,
}

/// Processes that read the file at the same time, this one included.
const PROCESSES: usize = 4;

#[derive(Serialize)]
struct Report {
    words: u64,
    absent_keys: u64,
    table_bytes: u64,
    filter_bytes: u64,
    bits_per_key: f64,
    expected_fpp: f64,
    measured_fpp: f64,
    lookups: Vec<Lookups>,
    processes: Option<Vec<Mapped>>,
}

/// How the lookups of one set of keys went.
#[derive(Serialize)]
struct Lookups {
    keys: &'static str,
    filter: bool,
    lookups: u64,
    found: u64,
    block_reads: u64,
    false_positives: u64,
    seconds: f64,
}

impl Demo {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let _guard = interrupt::Guard::new();
        let folder = tempfile::tempdir().map_err(|error| Failure::file(&std::env::temp_dir(), &error))?;
        // As /proc will name it.
        let folder = folder.path().canonicalize().map(|path| (path, folder));
        let (path, _folder) = folder.map_err(|error| Failure::file(&std::env::temp_dir(), &error))?;
        let report = self.measure(&path.join("words.blt"))?;
        report.check()?;
        print_report(self.json, &report, Report::print)?;
        Ok(Outcome::Success)
    }

    fn measure(&self, file: &Path) -> Result<Report, Failure> {
        let words = words::words();
        let absent = words::absent_keys(&words, self.absent_keys as usize);
        let filter_bytes = build(file, &words)?;
        let mut lookups = Vec::new();
        for filter in [true, false] {
            lookups.push(look_up(file, "words", &words, filter)?);
        }
        for filter in [true, false] {
            lookups.push(look_up(file, "absent keys", &absent, filter)?);
        }
        // This process is one of those that read the file.
        let table = open(file)?;
        find_words(&table, &words)?;
        let processes = sharing::share(file, words.len(), PROCESSES - 1)?;
        let filter =
            table.filter().ok_or_else(|| Failure::Damaged("demo: the table has no filter".to_owned()))?;
        let let_through: u64 = lookups.iter().map(|lookups| lookups.false_positives).sum();
        Ok(Report {
            words: words.len() as u64,
            absent_keys: absent.len() as u64,
            table_bytes: table.file_bytes(),
            filter_bytes,
            bits_per_key: filter.header().bits as f64 / words.len() as f64,
            expected_fpp: filter.expected_fpp_from_fill(),
            measured_fpp: let_through as f64 / absent.len() as f64,
            lookups,
            processes,
        })
    }
}

impl Reader {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let table = open(&self.file)?;
        let words = words::words();
        find_words(&table, &words)?;
        let mut out = Output::new();
        out.text(words.len())?;
        out.flush()?;
        // The mapping is to live until the demo has looked at it.
        std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())
            .map_err(|error| Failure::input("standard input", error))?;
        Ok(Outcome::Success)
    }
}

fn open(file: &Path) -> Result<TableReader, Failure> {
    TableReader::open(file, &Hashers::new()).map_err(failure)
}

/// The value that a word has in the table: where it stands in the list.
fn value(index: usize) -> String {
    format!("line {}", index + 1)
}

/// Writes the table and returns the bytes of its filter.
fn build(file: &Path, words: &[&str]) -> Result<u64, Failure> {
    let mut sorted: Vec<_> = words.iter().enumerate().collect();
    sorted.sort_unstable_by_key(|(_, word)| word.as_bytes());
    let options = TableOptions::default().filter(Some(FilterOptions::default()));
    let mut writer = TableWriter::create(file, options).map_err(failure)?;
    for (index, word) in sorted {
        writer.add(word.as_bytes(), value(index).as_bytes()).map_err(failure)?;
    }
    Ok(writer.finish().map_err(failure)?.filter_bytes)
}

/// Looks every word up and compares its value.
fn find_words(table: &TableReader, words: &[&str]) -> Result<(), Failure> {
    for (index, word) in words.iter().enumerate() {
        if table.get(word.as_bytes()).map_err(failure)? != Some(value(index).as_bytes()) {
            return Err(Failure::Damaged(format!("demo: the word \"{word}\" was not found with its value")));
        }
    }
    Ok(())
}

/// Looks `keys` up in a newly opened table, with the filter or without.
fn look_up<K: AsRef<[u8]>>(
    file: &Path,
    name: &'static str,
    keys: &[K],
    filter: bool,
) -> Result<Lookups, Failure> {
    interrupt::check()?;
    let table = open(file)?;
    let started = Instant::now();
    let mut found = 0;
    for key in keys {
        let key = key.as_ref();
        let value = if filter { table.get(key) } else { table.get_without_filter(key) };
        found += u64::from(value.map_err(failure)?.is_some());
    }
    let seconds = started.elapsed().as_secs_f64();
    let stats = table.stats();
    Ok(Lookups {
        keys: name,
        filter,
        lookups: keys.len() as u64,
        found,
        block_reads: stats.block_reads,
        false_positives: stats.false_positives,
        seconds,
    })
}

impl Report {
    /// Fails where anything is not as promised.
    fn check(&self) -> Result<(), Failure> {
        let fail = |problem: String| Err(Failure::Damaged(format!("demo: {problem}")));
        for lookups in &self.lookups {
            let expected = if lookups.keys == "words" { self.words } else { 0 };
            if lookups.found != expected {
                return fail(format!("{} of {} found, expected {expected}", lookups.found, lookups.keys));
            }
        }
        let deviation = (self.expected_fpp * (1.0 - self.expected_fpp) / self.absent_keys as f64).sqrt();
        if (self.measured_fpp - self.expected_fpp).abs() > 5.0 * deviation {
            let (got, expected) = (percent(self.measured_fpp), percent(self.expected_fpp));
            return fail(format!("a false-positive rate of {got} was measured, expected {expected}"));
        }
        if let Some((total, largest)) = self.memory() {
            // Not shared it would be as many times the largest as there are processes.
            if total * 2 > largest * 3 {
                return fail(format!("the processes hold {total} bytes together, expected about {largest}"));
            }
        }
        Ok(())
    }

    /// What all processes hold together, and what the one that holds most has mapped.
    fn memory(&self) -> Option<(u64, u64)> {
        let processes = self.processes.as_ref()?;
        let largest = processes.iter().map(|process| process.rss).max()?;
        Some((processes.iter().map(|process| process.pss).sum(), largest))
    }

    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        out.text(format_args!(
            "A table of {} English words: {}, of it {} for the filter.",
            count(self.words),
            bytes(self.table_bytes),
            bytes(self.filter_bytes)
        ))?;
        out.text("")?;
        out.text(format_args!(
            "{:<13}{:<9}{:>10}{:>10}{:>13}{:>10}{:>13}",
            "keys", "filter", "looked up", "found", "block reads", "seconds", "ns per key"
        ))?;
        for row in &self.lookups {
            out.text(format_args!(
                "{:<13}{:<9}{:>10}{:>10}{:>13}{:>10.3}{:>13.0}",
                row.keys,
                if row.filter { "with" } else { "without" },
                count(row.lookups).to_string(),
                count(row.found).to_string(),
                count(row.block_reads).to_string(),
                row.seconds,
                row.seconds * 1e9 / row.lookups as f64
            ))?;
        }
        out.text("")?;
        out.text(format_args!("bits per key         {:.2}", self.bits_per_key))?;
        out.text(format_args!(
            "false-positive rate  expected {}, measured {} of {} absent keys",
            percent(self.expected_fpp),
            percent(self.measured_fpp),
            count(self.absent_keys)
        ))?;
        out.text("")?;
        match (&self.processes, self.memory()) {
            (Some(processes), Some((total, largest))) => {
                out.text(format_args!("{} processes read the same file:", processes.len()))?;
                out.text("")?;
                out.text(format_args!("{:<10}{:>13}{:>16}", "process", "mapped (Rss)", "its share (Pss)"))?;
                for process in processes {
                    let (rss, pss) = (bytes(process.rss).to_string(), bytes(process.pss).to_string());
                    out.text(format_args!("{:<10}{rss:>13}{pss:>16}", process.pid))?;
                }
                out.text("")?;
                out.text(format_args!(
                    "Together they hold {}; without sharing it would be {}.",
                    bytes(total),
                    bytes(largest * processes.len() as u64)
                ))
            }
            _ => out.text("Shared pages: not shown, for this system has no /proc/PID/smaps."),
        }
    }
}
