//! How a command ends: its exit code, and on failure one line on standard error.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::output::printable;

/// What a command that did its work has to say with its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Something matched, or all is well: 0.
    Success,
    /// Nothing matched: 1, as `grep` has it.
    NothingMatched,
}

impl Outcome {
    /// [`Success`](Self::Success) where `matched` isn't 0.
    pub(crate) fn of_matches(matched: u64) -> Self {
        if matched > 0 { Self::Success } else { Self::NothingMatched }
    }

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::NothingMatched => 1,
        })
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage, or input that can't be had or used: 2.
    Input(String),
    /// A file that is not a whole, valid filter or table file: 3.
    Damaged(String),
    /// Whoever read the output has seen enough. No failure to the user, so 0 and not a word.
    ClosedPipe,
    /// Stopped by a signal, after tidying up: 128 and the number of the signal, as a shell reports it.
    Interrupted {
        /// The number of the signal.
        signal: u8,
    },
}

impl Failure {
    /// Wrong usage or input: `subject` is the file or option at fault.
    pub(crate) fn input(subject: impl Display, problem: impl Display) -> Self {
        Self::Input(format!("{subject}: {problem}"))
    }

    /// A file that can't be read or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::input(path.display(), io_text(error))
    }

    /// What went wrong on standard output.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::input("standard output", io_text(error))
        }
    }

    /// Prints the line and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (code, message) = match self {
            Self::Input(message) => (2, Some(message)),
            Self::Damaged(message) => (3, Some(message)),
            Self::ClosedPipe => (0, None),
            Self::Interrupted { signal } => (signal.saturating_add(128), None),
        };
        if let Some(message) = message {
            eprintln!("bloomline: {}", printable(&message));
        }
        ExitCode::from(code)
    }
}

/// Prints what is wrong with the arguments, and gives the exit code. Arguments are quoted there as they are, and may
/// be names of files, which hold anything.
pub(crate) fn report_usage(usage: &clap::Error) -> ExitCode {
    for line in usage.render().to_string().lines() {
        eprintln!("{}", printable(line));
    }
    ExitCode::from(2)
}

/// An operating system's error without the number that Rust puts after it.
pub(crate) fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory, expected a file".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}
