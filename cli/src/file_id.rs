//! Whether two names lead to one file.
//!
//! Names don't tell: one file has many, by way of links, and standard input has none.

use std::io;
use std::path::Path;

/// A regular file, whatever it was reached by: its device and its number there.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

#[cfg(unix)]
impl FileId {
    /// The file that a path leads to; `None` where there is none, or one that isn't regular. An error is neither.
    pub(crate) fn of_path(path: &Path) -> io::Result<Option<Self>> {
        match path.metadata() {
            Ok(metadata) => Ok(Self::of(&metadata)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file that standard input was redirected from.
    pub(crate) fn of_stdin() -> io::Result<Option<Self>> {
        use std::os::fd::AsFd;

        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::of(&std::fs::File::from(stdin).metadata()?))
    }

    fn of(metadata: &std::fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        metadata.is_file().then(|| Self(metadata.dev(), metadata.ino()))
    }
}

/// A regular file: its path without links. What standard input is read from can't be told here; an open file
/// can't be replaced there either.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileId(std::path::PathBuf);

#[cfg(not(unix))]
impl FileId {
    /// The file that a path leads to; `None` where there is none, or one that isn't regular. An error is neither.
    pub(crate) fn of_path(path: &Path) -> io::Result<Option<Self>> {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => path.canonicalize().map(Self).map(Some),
            Err(error) if !is_absence(&error) => Err(error),
            _ => Ok(None),
        }
    }

    /// Nothing.
    pub(crate) fn of_stdin() -> io::Result<Option<Self>> {
        Ok(None)
    }
}

/// Whether an error says that there is no file of a name.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
