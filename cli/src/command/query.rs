//! `bloomline query`: which keys may be in a filter.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::container::{self, CheckArgs};
use crate::exit::{Failure, Outcome};
use crate::hashers::KeyFileArgs;
use crate::input::{BATCH, Chunk, LineArgs, Source};
use crate::output::{Answer, Output};

/// Print the keys that may be in a filter
///
/// With --absent, those that certainly are not. Each key is printed as it was read, in the order of the input, followed by LF. FILE is a filter file or a
/// table file that has a filter; of a table only the filter is asked.
///
/// Exit code 0 when at least one key was printed (or, with --count, would have been), 1 when none was.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline query keys.blf candidates.txt\n  \
    bloomline query keys.blf - --absent < new.txt > certainly-new.txt\n  \
    bloomline query keys.blf candidates.txt --count --json\n  \
    printf 'apple\\n' | bloomline query keys.blf - > /dev/null && echo perhaps\n\n\
    JSON: for each key that would be printed {\"key\",\"maybe\"}, where a key that is not UTF-8 comes as \
    \"key_hex\"; with --count one object, {\"queried\",\"maybe\",\"absent\"}.")]
pub(super) struct Query {
    /// The filter file
    file: PathBuf,
    /// The keys to look up, one a line; - is standard input
    keys: Source,
    /// Print the keys that are certainly absent instead
    #[arg(long)]
    absent: bool,
    /// Print the number of keys instead of the keys
    #[arg(long)]
    count: bool,
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

/// What `--count --json` prints.
#[derive(Default, Serialize)]
struct Counts {
    queried: u64,
    maybe: u64,
    absent: u64,
}

impl Query {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let table = container::open(&self.file, &self.secret.hashers()?, self.check)?;
        let filter = container::filter_of(&table)?;
        let mut lines = self.keys.open("looking up keys")?;
        let (mut chunk, mut out, mut counts) = (Chunk::default(), Output::new(), Counts::default());
        let mut hashes = Vec::with_capacity(BATCH);
        let mut answers = [false; BATCH];
        while lines.read(&mut chunk)? {
            chunk.batches(self.lines.ends(), |keys| {
                hashes.clear();
                hashes.extend(keys.iter().map(|key| filter.hasher().hash(key)));
                let answers = &mut answers[..keys.len()];
                filter.might_contain_hashes(&hashes, answers);
                counts.queried += keys.len() as u64;
                counts.maybe += answers.iter().filter(|&&maybe| maybe).count() as u64;
                if self.count { Ok(()) } else { self.print(&mut out, keys, answers) }
            })?;
            if lines.is_interactive() {
                out.flush()?;
            }
        }
        counts.absent = counts.queried - counts.maybe;
        let selected = if self.absent { counts.absent } else { counts.maybe };
        match (self.count, self.json) {
            (true, true) => out.json(&counts)?,
            (true, false) => out.text(selected)?,
            (false, _) => {}
        }
        out.flush()?;
        Ok(Outcome::of_matches(selected))
    }

    fn print(&self, out: &mut Output, keys: &[&[u8]], answers: &[bool]) -> Result<(), Failure> {
        let selected = keys.iter().zip(answers).filter(|&(_, &maybe)| maybe != self.absent);
        for (&key, &maybe) in selected {
            if self.json { out.json(&Answer { key, maybe })? } else { out.line(key)? }
        }
        Ok(())
    }
}
