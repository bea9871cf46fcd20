//! `bloomline verify`: every checksum of a file.

use std::path::PathBuf;

use bloomline::table::verify_file;
use clap::Args;
use serde::Serialize;

use crate::container::{self, CheckArgs};
use crate::exit::{Failure, Outcome};
use crate::hashers::KeyFileArgs;
use crate::output::{bytes, print_report};

/// Check every checksum of a file
///
/// And that its parts agree: of a table, that the filter knows every key and that the index leads to each.
/// A filter made with a secret key can be checked without it, save for whether it knows each key of its table; a
/// wrong key is refused.
///
/// Exit code 0 when the file is whole and valid, 3 when it is damaged, truncated, of an unknown version or never
/// was such a file, 2 when it can't be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline verify keys.blf\n  \
    bloomline verify pairs.blt > /dev/null || echo 'make it again'\n\n\
    JSON: {\"file\",\"bytes\",\"valid\"}; printed for a valid file only.")]
pub(super) struct Verify {
    /// The filter or table file
    file: PathBuf,
    #[command(flatten)]
    secret: KeyFileArgs,
    /// Print one JSON object in place of a sentence
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    file: String,
    bytes: u64,
    valid: bool,
}

impl Verify {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        container::refuse_dash(&self.file)?;
        let hashers = self.secret.hashers()?;
        verify_file(&self.file, &hashers).map_err(container::failure_to_verify)?;
        if self.secret.path().is_some() {
            // The file is whole; the key that was given is one of its claims.
            container::open_to_inspect(&self.file, &hashers, CheckArgs::HEADER)?;
        }
        let file_bytes = self.file.metadata().map_err(|error| Failure::file(&self.file, &error))?.len();
        let report = Report { file: self.file.display().to_string(), bytes: file_bytes, valid: true };
        print_report(self.json, &report, |report, out| {
            out.text(format_args!("{}: valid, {}", report.file, bytes(report.bytes)))
        })?;
        Ok(Outcome::Success)
    }
}
