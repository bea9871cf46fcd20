//! `bloomline sst`: the filters in RocksDB's table files. Only with the cargo feature `rocksdb`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bloomline_rocksdb::inspect::{self, Table};
use bloomline_rocksdb::{Error, Kind};
use clap::Args;
use serde::Serialize;

use crate::container;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, bytes, count, percent, print_report};

/// Show the filters in the table files of a RocksDB database
///
/// For each .sst file: the keys of its filter (keys and prefixes, as RocksDB counts them), bits for each key, the
/// share of bits that are set, the false-positive rate to expect of absent keys, bytes, and the kind: blocked and
/// compact ones of Bloomline, RocksDB's Bloom (which is blocked), Ribbon and legacy ones. Files are only read, and the
/// database may be open. Each filter's checksums are verified.
///
/// A rate by fill far above the one that the policy was asked for means a filter of more keys than it was made for.
/// An unknown filter, damaged or of a later version, lets every key through.
///
/// Exit code 3 when a file is damaged or no table file, 2 when one can't be read; the others are still shown.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline sst db\n  \
    bloomline sst db/*.sst\n  \
    bloomline sst db --json | jq '.files[] | select(.filter.expected_fpp > 0.02) | .file'\n\n\
    JSON: {\"files\":[{\"file\",\"entries\",\"policy\",\"filter\",\"error\"}, ...]}; `entries` are those of the file, \
    deletes and merges included, `policy` names what wrote the filter; `filter` (null where there is none) is \
    {\"partitioned\",\"kinds\":[{\"kind\",\"probes\",\"fingerprint_bits\",\"blocks\"}, ...],\"keys\",\"bytes\",\
    \"bits_per_key\",\"fill\",\"expected_fpp\"}, with null for what a kind does not have or the file does not tell; \
    `kinds` has more than one entry where partitions differ, that of most blocks first; `bytes` are with the index \
    of a partitioned filter. A file that can't be read has its `error`, and null for the rest.")]
pub(super) struct Sst {
    /// Table files, and folders of databases
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    files: Vec<FileReport>,
}

#[derive(Serialize)]
struct FileReport {
    file: String,
    entries: Option<u64>,
    policy: Option<String>,
    filter: Option<FilterReport>,
    error: Option<String>,
}

#[derive(Serialize)]
struct FilterReport {
    partitioned: bool,
    kinds: Vec<KindReport>,
    keys: Option<u64>,
    bytes: u64,
    bits_per_key: Option<f64>,
    fill: Option<f64>,
    expected_fpp: Option<f64>,
}

#[derive(Default, Serialize)]
struct KindReport {
    kind: &'static str,
    probes: Option<u8>,
    /// The mean over the blocks: Ribbon's may differ.
    fingerprint_bits: Option<f64>,
    blocks: u64,
}

impl Sst {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let mut files = Vec::new();
        // Damage weighs more than what can't be read.
        let (mut damaged, mut unread) = (None, None);
        for path in &self.paths {
            for file in table_files(path)? {
                let read = inspect::table(&file);
                if read.is_err() && file != *path && !file.exists() {
                    // A compaction has removed it since the folder was listed.
                    continue;
                }
                if let Err(error) = &read {
                    let first = if error.is_damage() { &mut damaged } else { &mut unread };
                    first.get_or_insert_with(|| format!("{}: {}", file.display(), reason(error)));
                }
                files.push(FileReport::of(&file, read));
            }
        }
        print_report(self.json, &Report { files }, Report::print)?;
        match (damaged, unread) {
            (Some(message), _) => Err(Failure::Damaged(message)),
            (None, Some(message)) => Err(Failure::Input(message)),
            (None, None) => Ok(Outcome::Success),
        }
    }
}

/// The table files that a path names.
fn table_files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    container::refuse_dash(path)?;
    let found = path.metadata().map_err(|error| Failure::file(path, &error))?;
    if found.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !found.is_dir() {
        return Err(Failure::input(path.display(), "is neither a regular file nor a folder"));
    }
    let files = inspect::files(path).map_err(|error| Failure::input(path.display(), reason(&error)))?;
    if files.is_empty() {
        return Err(Failure::input(path.display(), "there are no .sst files in this folder"));
    }
    Ok(files)
}

/// An error less the name of the file, which is printed before it.
fn reason(error: &Error) -> String {
    match error {
        Error::Inspect { reason, .. } | Error::Damaged { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

impl FileReport {
    fn of(file: &Path, read: Result<Table, Error>) -> Self {
        let file = file.display().to_string();
        match read {
            Ok(table) => Self {
                file,
                entries: Some(table.entries),
                filter: (!table.blocks.is_empty()).then(|| FilterReport::of(&table)),
                policy: Some(table.policy_name),
                error: None,
            },
            Err(error) => {
                Self { file, entries: None, policy: None, filter: None, error: Some(reason(&error)) }
            }
        }
    }

    /// The cells of a line.
    fn cells(&self) -> [String; COLUMNS] {
        let none = || "-".to_owned();
        let Some(filter) = &self.filter else {
            let what =
                self.error.as_ref().map_or_else(|| "none".to_owned(), |error| format!("error: {error}"));
            return [self.file.clone(), none(), none(), none(), none(), none(), what];
        };
        [
            self.file.clone(),
            filter.keys.map_or_else(none, |keys| count(keys).to_string()),
            filter.bits_per_key.map_or_else(none, |bits| format!("{bits:.2}")),
            filter.fill.map_or_else(none, percent),
            filter.expected_fpp.map_or_else(none, percent),
            bytes(filter.bytes).to_string(),
            filter.describe(),
        ]
    }
}

impl FilterReport {
    fn of(table: &Table) -> Self {
        Self {
            partitioned: table.partitioned,
            kinds: KindReport::of(table),
            keys: (table.filter_entries > 0).then_some(table.filter_entries),
            bytes: table.filter_bytes,
            bits_per_key: table.bits_per_key(),
            fill: table.fill(),
            expected_fpp: table.rate(),
        }
    }

    /// `blocked, 6 probes, full` or `compact, 7 bits, 31 partitions + blocked, 9 probes, 1 partition`.
    fn describe(&self) -> String {
        let kinds = self.kinds.iter().map(|kind| match (self.partitioned, kind.blocks) {
            (false, _) => format!("{}, full", kind.describe()),
            (true, 1) => format!("{}, 1 partition", kind.describe()),
            (true, blocks) => format!("{}, {} partitions", kind.describe(), count(blocks)),
        });
        kinds.collect::<Vec<_>>().join(" + ")
    }
}

impl KindReport {
    /// The kinds of a file's blocks, that of most blocks first.
    fn of(table: &Table) -> Vec<Self> {
        let mut kinds = BTreeMap::new();
        for block in &table.blocks {
            let (parameter, probes, bits) = match block.kind {
                Kind::Blocked { probes, .. } | Kind::Legacy { probes } => (probes, Some(probes), None),
                Kind::Compact { fingerprint_bits, .. } => {
                    (fingerprint_bits, None, Some(f64::from(fingerprint_bits)))
                }
                Kind::Ribbon { columns, .. } => (0, None, Some(columns)),
                _ => (0, None, None),
            };
            let kind = kinds.entry((block.kind.name(), parameter)).or_insert_with(Self::default);
            kind.kind = block.kind.name();
            kind.probes = probes;
            // A sum, until all blocks are counted.
            kind.fingerprint_bits = bits.map(|bits| kind.fingerprint_bits.unwrap_or(0.0) + bits);
            kind.blocks += 1;
        }
        let mut kinds: Vec<_> = kinds.into_values().collect();
        for kind in &mut kinds {
            kind.fingerprint_bits = kind.fingerprint_bits.map(|sum| sum / kind.blocks as f64);
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.blocks));
        kinds
    }

    fn describe(&self) -> String {
        match (self.probes, self.fingerprint_bits) {
            (Some(probes), _) => format!("{}, {probes} probes", self.kind),
            (_, Some(bits)) => {
                let text = format!("{bits:.2}");
                format!("{}, {} bits", self.kind, text.trim_end_matches('0').trim_end_matches('.'))
            }
            (None, None) => format!("{}, lets every key through", self.kind),
        }
    }
}

const COLUMNS: usize = 7;
const HEADINGS: [&str; COLUMNS] = ["file", "keys", "bits/key", "fill", "rate", "size", "filter"];

impl Report {
    /// A line for each file, the first column and the last to the left.
    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        lines.extend(self.files.iter().map(FileReport::cells));
        let widths: [usize; COLUMNS] =
            std::array::from_fn(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0));
        for line in &lines {
            let [file, figures @ .., filter] = line;
            let mut text = format!("{file:<0$}", widths[0]);
            for (figure, width) in figures.iter().zip(&widths[1..]) {
                text.push_str(&format!("  {figure:>width$}"));
            }
            out.text(format_args!("{text}  {filter}"))?;
        }
        Ok(())
    }
}
