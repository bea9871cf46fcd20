//! The `bloomline` command: build, query and inspect filter and table files.
//!
//! Every subcommand is one file of [`command`]: its arguments, its help and its `run`. What they share lives
//! beside it: reading keys ([`input`]), hashers and their secret keys ([`hashers`]), sizing flags ([`sizing`]),
//! opening files ([`container`]), progress ([`progress`]), what is printed ([`output`]) and how a command ends
//! ([`exit`]).
//!
//! A command streams: it holds a filter and a few buffers, never the whole of its input.

mod command;
mod container;
mod exit;
mod file_id;
mod hashers;
mod input;
mod interrupt;
mod output;
mod pipeline;
mod progress;
mod sizing;
mod sort;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use command::Cli;
use exit::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) if usage.use_stderr() => return exit::report_usage(&usage),
        // Help and version, which is output as any other.
        Err(help) => {
            return match help.print().and_then(|()| std::io::stdout().flush()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::stdout(&error).report(),
            };
        }
    };
    match interrupt::install().and_then(|()| cli.run()) {
        Ok(outcome) => outcome.code(),
        Err(failure) => failure.report(),
    }
}
