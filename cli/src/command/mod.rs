//! The subcommands, one file each.

mod build;
mod completions;
mod demo;
mod get;
mod inspect;
mod merge;
mod plan;
mod query;
#[cfg(feature = "rocksdb")]
mod sst;
mod table;
mod verify;

use clap::{Parser, Subcommand};

use crate::exit::{Failure, Outcome};
use crate::progress;

/// Answer "is this key definitely absent?" from a small file, before any disk is touched
#[derive(Debug, Parser)]
#[command(
    name = "bloomline",
    version,
    max_term_width = 100,
    long_about = "Answer \"is this key definitely absent?\" from a small file, before any disk is touched.\n\n\
        A Bloom filter of a set of keys takes about 10 bits for each key, however long the keys are. It never \
        calls a key that was added absent; a key that was not added it calls \"maybe\" at a small rate that you \
        choose. `build` makes a filter from a file of keys, `query` asks it. `table` makes a sorted table of \
        keys and values with a filter inside, `get` reads it. `merge` makes one filter of several.\n\n\
        Keys are lines, taken as bytes: any encoding, the line's LF is not part of the key, an empty line is \
        the empty key.",
    after_long_help = "Examples:\n  \
        bloomline build keys.txt -o keys.blf --fpp 0.001    a filter that errs once in 1,000\n  \
        bloomline query keys.blf candidates.txt             those that may be in keys.txt\n  \
        bloomline query keys.blf - --absent < new.txt       those that certainly are not\n  \
        bloomline plan --keys 1e9                           what a filter of a billion keys would cost\n  \
        bloomline demo                                      all of it, on a list of English words\n\n\
        Exit codes:\n  \
        0  something matched, or all is well\n  \
        1  nothing matched\n  \
        2  wrong usage, or input that can't be read or used\n  \
        3  a file that is not a whole, valid filter or table file\n\n\
        `bloomline help COMMAND` says more about each command."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Show no progress bars (they only ever appear on a terminal)
    #[arg(short, long, visible_alias = "no-progress", global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Build),
    Query(query::Query),
    Table(table::Table),
    Get(get::Get),
    Merge(merge::Merge),
    Inspect(inspect::Inspect),
    Verify(verify::Verify),
    #[cfg(feature = "rocksdb")]
    Sst(sst::Sst),
    Plan(plan::Plan),
    Demo(demo::Demo),
    Completions(completions::Completions),
    #[command(hide = true)]
    DemoReader(demo::Reader),
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        if self.quiet {
            progress::silence();
        }
        match self.command {
            Command::Build(build) => build.run(),
            Command::Query(query) => query.run(),
            Command::Table(table) => table.run(),
            Command::Get(get) => get.run(),
            Command::Merge(merge) => merge.run(),
            Command::Inspect(inspect) => inspect.run(),
            Command::Verify(verify) => verify.run(),
            #[cfg(feature = "rocksdb")]
            Command::Sst(sst) => sst.run(),
            Command::Plan(plan) => plan.run(),
            Command::Demo(demo) => demo.run(),
            Command::Completions(completions) => completions.run(),
            Command::DemoReader(reader) => reader.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_definition_is_sound_and_every_command_teaches() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        for subcommand in command.get_subcommands_mut() {
            let name = subcommand.get_name().to_owned();
            if !subcommand.is_hide_set() && name != "help" {
                let help = subcommand.render_long_help().to_string();
                assert!(help.contains("Examples:"), "{name} has no examples");
            }
        }
    }
}
