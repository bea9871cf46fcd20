//! `bloomline build`: a filter file from a file of keys.

use std::path::PathBuf;
use std::time::Instant;

use bloomline::hash::{Hasher, KeyHash};
use clap::Args;
use serde::Serialize;

use crate::container;
use crate::exit::{Failure, Outcome};
use crate::input::{LineArgs, Source};
use crate::output::{bytes, count, percent, print_report};
use crate::pipeline::hash_lines;
use crate::sizing::{AnyFilter, FilterArgs};

/// Build a filter file from a file of keys
///
/// A regular file is read twice, once to count the keys and once to add them, in the memory of the filter and
/// a few buffers. Standard input and pipes are read once, and take 8 more bytes for each key. The output appears
/// whole or not at all, and is the same whatever the number of threads.
///
/// A file without keys gives a filter that calls every key absent. A key that comes twice is counted twice when
/// the filter is sized.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline build keys.txt -o keys.blf\n  \
    bloomline build keys.txt -o keys.blf --fpp 0.001 --threads 2\n  \
    cut -f1 table.tsv | bloomline build - -o keys.blf --bits-per-key 12.5\n  \
    head -c 16 /dev/urandom > secret\n  \
    bloomline build keys.txt -o keyed.blf --hasher siphash-2-4 --key-file secret\n\n\
    JSON: {\"kind\",\"keys\",\"bits_per_key\",\"bytes\",\"expected_fpp\",\"seconds\"}; `keys` are the lines read, \
    `bits_per_key` the filter's bits for each of them, `bytes` the size of the file, `expected_fpp` the rate by \
    the bits that are set.")]
pub(super) struct Build {
    /// The keys, one a line; - is standard input
    keys: Source,
    /// The filter file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
    /// Threads: one adds, the others read and hash
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    #[command(flatten)]
    lines: LineArgs,
    /// Print one JSON object in place of a sentence
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    kind: &'static str,
    keys: u64,
    bits_per_key: f64,
    bytes: u64,
    expected_fpp: f64,
    seconds: f64,
}

impl Build {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let hasher = self.filter.hasher()?;
        container::check_output(&self.output)?;
        self.keys.refuse_as_output(&self.output)?;
        let (filter, keys) =
            if self.keys.is_regular_file() { self.in_two_passes(hasher)? } else { self.in_one_pass(hasher)? };
        let file_bytes = container::write_filter(&self.output, &filter)?;
        let report = Report {
            kind: self.filter.kind.kind().name(),
            keys,
            bits_per_key: if keys == 0 { 0.0 } else { filter.bits() as f64 / keys as f64 },
            bytes: file_bytes,
            expected_fpp: filter.expected_fpp(),
            seconds: started.elapsed().as_secs_f64(),
        };
        print_report(self.json, &report, |report, out| out.text(self.sentence(report)))?;
        Ok(Outcome::Success)
    }

    /// Counts, makes a filter that fits, adds.
    fn in_two_passes(&self, hasher: Hasher) -> Result<(AnyFilter, u64), Failure> {
        let keys = self.keys.open("counting keys")?.count()?;
        let mut filter = self.filter.filter(keys, hasher.clone())?;
        let added = self.hash_all("adding keys", &hasher, |hashes| {
            filter.add_hashes(hashes);
            Ok(())
        })?;
        if added != keys {
            let problem = format!("changed while it was read: {keys} keys at first, then {added}");
            return Err(Failure::input(&self.keys, problem));
        }
        Ok((filter, keys))
    }

    /// Collects hashes until the number of keys is known.
    fn in_one_pass(&self, hasher: Hasher) -> Result<(AnyFilter, u64), Failure> {
        let mut hashes: Vec<KeyHash> = Vec::new();
        let keys = self.hash_all("reading keys", &hasher, |more| {
            hashes
                .try_reserve(more.len())
                .map_err(|_| Failure::input(&self.keys, "no memory for the hashes of so many keys"))?;
            hashes.extend_from_slice(more);
            Ok(())
        })?;
        let mut filter = self.filter.filter(keys, hasher)?;
        filter.add_hashes(&hashes);
        Ok((filter, keys))
    }

    fn hash_all(
        &self,
        label: &'static str,
        hasher: &Hasher,
        use_hashes: impl FnMut(&[KeyHash]) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let lines = self.keys.open(label)?;
        hash_lines(lines, self.lines.ends(), hasher, self.threads.into(), use_hashes)
    }

    fn sentence(&self, report: &Report) -> String {
        format!(
            "{}: {} keys, {:.2} bits per key, {}, expected false-positive rate {}, {:.2} s",
            self.output.display(),
            count(report.keys),
            report.bits_per_key,
            bytes(report.bytes),
            percent(report.expected_fpp),
            report.seconds
        )
    }
}
