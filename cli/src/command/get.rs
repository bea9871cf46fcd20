//! `bloomline get`: the values of keys in a table.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::container::{self, CheckArgs};
use crate::exit::{Failure, Outcome};
use crate::hashers::KeyFileArgs;
use crate::input::{Chunk, LineArgs, Source};
use crate::output::{Output, Pair};

/// Print the values of keys in a table file
///
/// For each key that the table holds, the key, TAB and its value are printed, in the order of the input; nothing
/// is printed for the others. The filter is asked first, so that an absent key costs no read of a data block but
/// at the filter's false-positive rate.
///
/// Exit code 0 when at least one key was found, 1 when none was.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline get pairs.blt keys.txt\n  \
    printf 'apple\\npear\\n' | bloomline get pairs.blt - --json\n  \
    bloomline get pairs.blt keys.txt --stats\n\n\
    JSON: for each key found {\"key\",\"value\"}, where bytes that are not UTF-8 come as \"key_hex\" and \
    \"value_hex\"; with --stats one object, \
    {\"queried\",\"found\",\"filter_negatives\",\"false_positives\",\"block_reads\"}.")]
pub(super) struct Get {
    /// The table file
    file: PathBuf,
    /// The keys to look up, one a line; - is standard input
    keys: Source,
    /// Print what the lookups cost instead of the pairs
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    secret: KeyFileArgs,
    #[command(flatten)]
    lines: LineArgs,
    /// Print JSON objects, one a line
    #[arg(long)]
    json: bool,
}

/// What `--stats` prints.
#[derive(Serialize)]
struct Stats {
    queried: u64,
    found: u64,
    filter_negatives: u64,
    false_positives: u64,
    block_reads: u64,
}

impl Get {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let table = container::open(&self.file, &self.secret.hashers()?, self.check)?;
        if table.is_filter_only() {
            let problem = "a filter file, expected a table file (see `query`)";
            return Err(Failure::input(self.file.display(), problem));
        }
        let mut lines = self.keys.open("looking up keys")?;
        let (mut chunk, mut out) = (Chunk::default(), Output::new());
        let (mut queried, mut found) = (0, 0);
        while lines.read(&mut chunk)? {
            chunk.batches(self.lines.ends(), |keys| {
                let values = table.multi_get(keys).map_err(container::failure)?;
                queried += keys.len() as u64;
                for (&key, value) in keys.iter().zip(&values) {
                    let Some(value) = value else { continue };
                    found += 1;
                    match (self.stats, self.json) {
                        (true, _) => {}
                        (false, true) => out.json(&Pair { key, value })?,
                        (false, false) => out.parts(&[key, b"\t", value])?,
                    }
                }
                Ok(())
            })?;
            if lines.is_interactive() {
                out.flush()?;
            }
        }
        if self.stats {
            let read = table.stats();
            Stats {
                queried,
                found,
                filter_negatives: read.filter_negatives,
                false_positives: read.false_positives,
                block_reads: read.block_reads,
            }
            .print(&mut out, self.json)?;
        }
        out.flush()?;
        Ok(Outcome::of_matches(found))
    }
}

impl Stats {
    fn print(&self, out: &mut Output, json: bool) -> Result<(), Failure> {
        if json {
            return out.json(self);
        }
        let lines = [
            ("keys looked up", self.queried),
            ("found", self.found),
            ("answered \"absent\" by the filter", self.filter_negatives),
            ("let through by the filter and absent", self.false_positives),
            ("data blocks read", self.block_reads),
        ];
        lines.iter().try_for_each(|(name, number)| {
            out.text(format_args!("{name:<37} {:>14}", crate::output::count(*number).to_string()))
        })
    }
}
