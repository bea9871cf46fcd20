//! Whether two names lead to one file.
//!
//! Names don't tell: one file has many, by way of links, and standard input has none.

use std::path::Path;

/// A regular file, whatever it was reached by: its device and its number there.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

#[cfg(unix)]
impl FileId {
    /// The file that a path leads to; `None` where there is none, or one that isn't regular.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Self::of(&path.metadata().ok()?)
    }

    /// The file that standard input was redirected from.
    pub(crate) fn of_stdin() -> Option<Self> {
        use std::os::fd::AsFd;

        let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        Self::of(&std::fs::File::from(stdin).metadata().ok()?)
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
    /// The file that a path leads to; `None` where there is none, or one that isn't regular.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        path.is_file().then(|| path.canonicalize().ok().map(Self))?
    }

    /// Nothing.
    pub(crate) fn of_stdin() -> Option<Self> {
        None
    }
}
