//! `bloomline merge`: one filter file of several.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bloomline::format::Kind;
use bloomline::hash::Hashers;
use bloomline::mmap::FileSlice;
use bloomline::{FilterReader, Merger, TableReader};
use clap::Args;
use serde::Serialize;

use crate::container;
use crate::exit::{Failure, Outcome};
use crate::hashers::KeyFileArgs;
use crate::input::Source;
use crate::interrupt;
use crate::output::{bytes, count, percent, print_report};
use crate::progress::Progress;

/// Merge filter files into one
///
/// The new filter answers "maybe" for every key that one of the files does: it is, bit for bit, the one that all
/// keys together would have made. That takes filters of one kind, size and hasher, such as `build --capacity`
/// makes. Scalable filters also need as many layers each, and their layers may then hold more keys than they are
/// sized for, at a higher rate. Compact filters can't be merged. Every file is verified first. Memory: one filter,
/// however many files there are.
///
/// How many keys the files have in common can't be told from their bits. The number of keys of the new filter is
/// estimated from how full it is.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline merge monday.blf tuesday.blf -o week.blf\n  \
    bloomline merge shard-*.blf -o all.blf --json\n\n\
    JSON: {\"files\",\"keys\",\"bytes\",\"expected_fpp\",\"seconds\"}; `files` is how many were merged, `keys` an \
    estimate, `bytes` the size of the new file, `expected_fpp` the rate by the bits that are set.")]
pub(super) struct Merge {
    /// The filter files to merge
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The filter file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    secret: KeyFileArgs,
    /// Print one JSON object in place of a sentence
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    files: usize,
    keys: u64,
    bytes: u64,
    expected_fpp: f64,
    seconds: f64,
}

impl Merge {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let inputs = self.files.iter().cloned().map(Source::File);
        container::check_output(&self.output, inputs, &self.secret)?;
        let merged = self.merge(&self.secret.hashers()?)?;
        let Some(merged) = merged.finish() else { unreachable!("clap requires a file") };
        let merged = merged.membership();
        let file_bytes = container::write_filter(&self.output, merged)?;
        let report = Report {
            files: self.files.len(),
            keys: merged.count(),
            bytes: file_bytes,
            expected_fpp: merged.expected_fpp_from_fill(),
            seconds: started.elapsed().as_secs_f64(),
        };
        print_report(self.json, &report, |report, out| out.text(self.sentence(report)))?;
        Ok(Outcome::Success)
    }

    fn merge(&self, hashers: &Hashers) -> Result<Merger, Failure> {
        // Each file is read twice: verified, then merged.
        let sizes = self.files.iter().map(|file| file.metadata().map_or(0, |metadata| metadata.len()));
        let mut progress = Progress::new("merging", Some(sizes.sum::<u64>() * 2));
        let mut merger = Merger::new();
        // The file that a further one must agree with: the first that has keys, and so a size.
        let mut model: Option<(&Path, bool)> = None;
        for file in &self.files {
            interrupt::check()?;
            let table = TableReader::open(file, hashers).map_err(container::failure)?;
            progress.advance(table.file_bytes());
            let filter = mergeable(&table)?;
            merger.add(filter).map_err(|error| match model {
                Some((model, _)) => {
                    Failure::input(format_args!("{} and {}", model.display(), file.display()), error)
                }
                None => Failure::input(file.display(), error),
            })?;
            progress.advance(table.file_bytes());
            let has_size = filter.header().bits > 0;
            if model.is_none_or(|(_, model_has_size)| has_size && !model_has_size) {
                model = Some((file, has_size));
            }
        }
        Ok(merger)
    }

    fn sentence(&self, report: &Report) -> String {
        format!(
            "{}: {} {}, about {} keys, {}, expected false-positive rate {}, {:.2} s",
            self.output.display(),
            count(report.files as u64),
            if report.files == 1 { "file" } else { "files" },
            count(report.keys),
            bytes(report.bytes),
            percent(report.expected_fpp),
            report.seconds
        )
    }
}

/// The filter of a filter file, where it is of a kind that can be merged.
fn mergeable(table: &TableReader) -> Result<&FilterReader<FileSlice>, Failure> {
    let refuse = |problem| Err(Failure::input(table.path().display(), problem));
    if !table.is_filter_only() {
        return refuse("a table file, expected filter files: the filter of a table is sized for its entries");
    }
    let filter = container::filter_of(table)?;
    match filter.kind() {
        Kind::Compact => refuse("a compact filter can't be merged: build one from all keys instead"),
        _ => Ok(filter),
    }
}
