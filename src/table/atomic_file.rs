//! A file that appears under its name whole, or not at all.
//!
//! The bytes go to a temporary file in the same folder. [`AtomicFile::commit`] puts them on the disk (fsync),
//! renames the file to its name, and puts the name on the disk (fsync of the folder). Whatever ends the process
//! before the rename leaves the old file; dropping without `commit` removes the temporary file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::cancel::Cancel;
use crate::error::{TableError, TableFault};

/// A file on its way. Call order: `write* commit`.
#[derive(Debug)]
pub(super) struct AtomicFile {
    temporary: BufWriter<NamedTempFile>,
    /// As the caller named it, for messages.
    path: PathBuf,
    /// Where the file goes: `path`, or what it links to.
    target: PathBuf,
    /// Bytes written.
    bytes: u64,
    cancel: Cancel,
    /// Bytes that may be written before `cancel` is asked again.
    unasked: usize,
}

impl AtomicFile {
    /// Bytes that gather before they are written.
    const BUFFER_BYTES: usize = 256 << 10;

    /// Bytes that are written from one question whether to stop to the next.
    const ASK_EVERY: usize = 8 << 20;

    /// Begins a file that will replace whatever regular file is at `path`. A symbolic link stays, and the file
    /// that it leads to is replaced. Devices and folders are refused.
    pub(super) fn create(path: &Path, cancel: Cancel) -> Result<Self, TableError> {
        let (target, permissions) = match fs::metadata(path) {
            Ok(old) => {
                if let Some(fault) = not_a_file(&old) {
                    return Err(TableError::File { path: path.to_owned(), source: fault });
                }
                let target = fs::canonicalize(path).map_err(failed(path, "resolve its path"))?;
                (target, Some(old.permissions()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(failed(path, "look at it")(error)),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".bloomline-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As for any new file; the process's umask takes its share off.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder(&target)).map_err(failed(path, "create it"))?;
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions).map_err(failed(path, "set its permissions"))?;
        }
        let temporary = BufWriter::with_capacity(Self::BUFFER_BYTES, temporary);
        Ok(Self { temporary, path: path.to_owned(), target, bytes: 0, cancel, unasked: 0 })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), TableError> {
        self.write_by(|out| out.write_all(bytes))
    }

    /// Appends what `write` writes.
    pub(super) fn write_by(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), TableError> {
        let mut counted = Counted { file: self, stopped: false };
        let written = write(&mut counted);
        if counted.stopped {
            return Err(TableError::Interrupted { path: self.path.clone() });
        }
        written.map_err(failed(&self.path, "write it"))
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The path as the caller gave it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Publishes the file, durably. On an error the old file, if any, is still in place, except where only the
    /// sync of the folder failed: then the new file is, and may be gone after a power failure.
    pub(super) fn commit(self) -> Result<u64, TableError> {
        let Self { temporary, path, target, bytes, cancel, .. } = self;
        let temporary =
            temporary.into_inner().map_err(|error| failed(&path, "write it")(error.into_error()))?;
        temporary.as_file().sync_all().map_err(failed(&path, "sync it"))?;
        if cancel.should_stop() {
            return Err(TableError::Interrupted { path });
        }
        temporary.persist(&target).map_err(|error| failed(&path, "rename it into place")(error.error))?;
        sync_folder(folder(&target)).map_err(failed(&path, "sync its folder"))?;
        Ok(bytes)
    }
}

/// Counts the bytes that go through, and asks now and then whether to stop.
struct Counted<'a> {
    file: &'a mut AtomicFile,
    stopped: bool,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = &mut *self.file;
        if file.unasked == 0 {
            if file.cancel.should_stop() {
                self.stopped = true;
                // Not of the kind `Interrupted`, after which `write_all` would try again.
                return Err(io::Error::other("cancelled"));
            }
            file.unasked = AtomicFile::ASK_EVERY;
        }
        let written = file.temporary.write(&bytes[..bytes.len().min(file.unasked)])?;
        file.unasked -= written;
        file.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.temporary.flush()
    }
}

/// The folder of a path that names a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    // Folders can't be opened as files there; the rename is journalled.
    Ok(())
}

/// What a path leads to, where it is not a regular file.
pub(super) fn not_a_file(metadata: &fs::Metadata) -> Option<TableFault> {
    if metadata.is_file() {
        return None;
    }
    let got = if metadata.is_dir() { "a directory" } else { "a device, pipe or socket" };
    Some(TableFault::NotAFile { got })
}

/// Wraps what the system said.
pub(super) fn failed(path: &Path, operation: &'static str) -> impl FnOnce(io::Error) -> TableError {
    let path = path.to_owned();
    move |source| TableError::Io { path, operation, source }
}
