//! Opening and writing filter and table files, with the library's errors turned into exit codes.

use std::io;
use std::path::Path;

use bloomline::error::{FormatError, HasherError, TableError, TableFault};
use bloomline::hash::Hashers;
use bloomline::mmap::FileSlice;
use bloomline::{FilterReader, Membership, TableReader};
use clap::Args;

use crate::exit::Failure;
use crate::file_id::FileId;
use crate::hashers::KeyFileArgs;
use crate::input::Source;
use crate::interrupt;

/// The flag of every command that answers from a file.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CheckArgs {
    /// Check only the header of FILE before use, not all of its checksums: opens a file of any size at once, but
    /// a damaged filter then gives wrong answers
    #[arg(long)]
    no_verify: bool,
}

impl CheckArgs {
    /// The header only, of a file that has been verified already.
    pub(crate) const HEADER: Self = Self { no_verify: true };
}

/// Refuses `-` as a file's name: elsewhere it means standard input, and files must be mapped or renamed.
pub(crate) fn refuse_dash(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(Failure::input("-", "expected a file (./- for one of that name)"));
    }
    Ok(())
}

/// Opens a file to answer from it.
pub(crate) fn open(path: &Path, hashers: &Hashers, check: CheckArgs) -> Result<TableReader, Failure> {
    refuse_dash(path)?;
    let open = if check.no_verify { TableReader::open_unverified } else { TableReader::open };
    open(path, hashers).map_err(failure)
}

/// Opens a file to look at it. That takes no hasher, so that one that is missing is no failure; a secret key that
/// was given and is not the right one is.
pub(crate) fn open_to_inspect(
    path: &Path,
    hashers: &Hashers,
    check: CheckArgs,
) -> Result<TableReader, Failure> {
    refuse_dash(path)?;
    let table = TableReader::open_to_inspect(path, hashers).map_err(failure)?;
    if !check.no_verify {
        table.verify_unasked().map_err(failure)?;
    }
    match table.filter_block() {
        Ok(Some(block)) => match block.clone().with_hasher(hashers) {
            Err(fault) if !is_missing_hasher(&fault) => Err(filter_failure(&table, fault)),
            _ => Ok(table),
        },
        Err(fault) if table.is_filter_only() => Err(filter_failure(&table, fault.clone())),
        _ => Ok(table),
    }
}

fn is_missing_hasher(fault: &FormatError) -> bool {
    matches!(
        fault,
        FormatError::Hasher(
            HasherError::SecretKeyNeeded { .. }
                | HasherError::ApplicationHasherNeeded { .. }
                | HasherError::EngineHasherNeeded { .. }
                | HasherError::UnknownHasher { .. }
        )
    )
}

/// The filter of a file that is to be asked about keys.
pub(crate) fn filter_of(table: &TableReader) -> Result<&FilterReader<FileSlice>, Failure> {
    table.filter().ok_or_else(|| match table.filter_block() {
        Err(fault) => filter_failure(table, fault.clone()),
        Ok(_) => Failure::input(table.path().display(), "a table without a filter, expected one (see `get`)"),
    })
}

/// What is wrong with the filter of a file.
pub(crate) fn filter_failure(table: &TableReader, fault: FormatError) -> Failure {
    failure(TableError::File { path: table.path().to_owned(), source: fault.into() })
}

/// Exit code 3 for a damaged file, that of the signal for one that was given up on a signal, 2 for all else. The
/// message names the file already.
pub(crate) fn failure(error: TableError) -> Failure {
    match (&error, interrupt::check()) {
        (TableError::Interrupted { .. }, Err(interrupted)) => interrupted,
        (TableError::Io { path, source, .. }, _) if source.kind() == io::ErrorKind::NotFound => {
            Failure::file(path, source)
        }
        _ if error.is_damage() => Failure::Damaged(error.to_string()),
        _ => Failure::Input(error.to_string()),
    }
}

/// [`failure`] for `verify`, to which a file is not valid unless this program knows that it is: one of an unknown
/// version or kind is not, for a single flipped bit makes one.
pub(crate) fn failure_to_verify(error: TableError) -> Failure {
    match &error {
        TableError::File { source: TableFault::NotAFile { .. }, .. }
        | TableError::File { source: TableFault::Filter(FormatError::Hasher(_)), .. } => {
            Failure::Input(error.to_string())
        }
        TableError::File { .. } => Failure::Damaged(error.to_string()),
        _ => failure(error),
    }
}

/// Refuses, before any work is done, an output that can't be written when it is, or that would take the place of
/// something that the command reads: one of its inputs, or the file of the secret key.
pub(crate) fn check_output(
    path: &Path,
    inputs: impl IntoIterator<Item = Source>,
    secret: &KeyFileArgs,
) -> Result<(), Failure> {
    refuse_dash(path)?;
    // What can't be told apart is not written over.
    let id_of = |path: &Path| FileId::of_path(path).map_err(|error| Failure::file(path, &error));
    if let Some(output) = id_of(path)? {
        let refuse_to_overwrite = |what, id: Option<FileId>| match id {
            Some(id) if id == output => {
                Err(Failure::input(path.display(), format_args!("is {what}, and would be overwritten")))
            }
            _ => Ok(()),
        };
        for input in inputs {
            refuse_to_overwrite("the input", input.file_id()?)?;
        }
        if let Some(secret) = secret.path() {
            refuse_to_overwrite("the file of the secret key", id_of(secret)?)?;
        }
    }
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            Err(Failure::input(path.display(), "is a directory, expected the name of a file to write"))
        }
        Ok(found) if !found.is_file() => {
            Err(Failure::input(path.display(), "is not a regular file, expected one or a new name"))
        }
        Err(_) if !folder_of(path).is_dir() => {
            let folder = folder_of(path).display();
            Err(Failure::input(path.display(), format_args!("there is no folder {folder} to write it to")))
        }
        _ => Ok(()),
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a filter to a file of its own, whole or not at all, and returns the bytes of the file.
pub(crate) fn write_filter(path: &Path, filter: &dyn Membership) -> Result<u64, Failure> {
    let _guard = interrupt::Guard::new();
    bloomline::table::write_filter_file_with(path, filter, &interrupt::cancel()).map_err(failure)
}
