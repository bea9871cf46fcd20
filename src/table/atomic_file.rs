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
use crate::mmap::FileMap;

/// A file on its way. Call order: `write* commit`.
#[derive(Debug)]
pub(super) struct AtomicFile {
    temporary: BufWriter<NamedTempFile>,
    /// As the caller named it, for messages.
    path: PathBuf,
    /// Where the file goes: `path`, or what it links to. Absolute.
    target: PathBuf,
    /// The folder of `target`.
    folder: Folder,
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

    /// Begins a file that will replace whatever regular file is at `path`, as the working directory is now. A
    /// symbolic link stays, and the file that it leads to is replaced, or made if its folder exists. Devices and
    /// folders are refused.
    ///
    /// The file that replaces another has its permissions, and its owner and group where the system lets the
    /// process give files away. Where the group can't be kept, the new one may do no more than everybody.
    pub(super) fn create(path: &Path, cancel: Cancel) -> Result<Self, TableError> {
        let (target, old) = match fs::metadata(path) {
            Ok(old) => {
                if let Some(fault) = not_a_file(&old) {
                    return Err(TableError::File { path: path.to_owned(), source: fault });
                }
                (fs::canonicalize(path).map_err(failed(path, "resolve its path"))?, Some(old))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (end_of_links(path).map_err(failed(path, "resolve its path"))?, None)
            }
            Err(error) => return Err(failed(path, "look at it")(error)),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".bloomline-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As for any new file, or for its owner only until the owner is the right one. The process's umask
            // takes its share off.
            let mode = if old.is_some() { 0o600 } else { 0o666 };
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let temporary = builder.tempfile_in(folder(&target)).map_err(failed(path, "create it"))?;
        if let Some(old) = old {
            take_after(temporary.as_file(), &old).map_err(failed(path, "set its permissions"))?;
        }
        let folder = Folder::open(folder(&target)).map_err(failed(path, "open its folder"))?;
        let temporary = BufWriter::with_capacity(Self::BUFFER_BYTES, temporary);
        Ok(Self { temporary, path: path.to_owned(), target, folder, bytes: 0, cancel, unasked: 0 })
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

    /// What was written so far, mapped to be read back.
    pub(super) fn map(&mut self) -> Result<FileMap, TableError> {
        self.temporary.flush().map_err(failed(&self.path, "write it"))?;
        FileMap::new(self.temporary.get_ref().as_file()).map_err(failed(&self.path, "map it"))
    }

    /// Publishes the file, durably. On an error the old file, if any, is still in place, except where only the
    /// sync of the folder failed: then the new file is, and may be gone after a power failure.
    pub(super) fn commit(self) -> Result<u64, TableError> {
        let Self { temporary, path, target, folder, bytes, cancel, .. } = self;
        let temporary =
            temporary.into_inner().map_err(|error| failed(&path, "write it")(error.into_error()))?;
        temporary.as_file().sync_all().map_err(failed(&path, "sync it"))?;
        if cancel.should_stop() {
            return Err(TableError::Interrupted { path });
        }
        temporary.persist(&target).map_err(|error| failed(&path, "rename it into place")(error.error))?;
        folder.sync().map_err(failed(&path, "sync its folder"))?;
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

/// Where a file that is not there yet would be made: `path`, or the end of the links that begin there. Absolute,
/// so that it stays the same place when the working directory changes.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MAX_LINKS: usize = 40;
    let mut target = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => target = folder(&target).join(fs::read_link(&target)?),
            _ => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Gives a file, of which nothing is written yet, the owner, group and permissions of the one that it replaces.
#[cfg(unix)]
fn take_after(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid())
        && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // Only root gives files away; others may still choose among their groups. What is refused is seen below.
        let _ = fchown(file, None, Some(old.gid()));
    }
    let same_group = file.metadata()?.gid() == old.gid();
    file.set_permissions(fs::Permissions::from_mode(mode_after(old.mode(), same_group)))
}

/// The permissions of a file that replaces one of `mode`. Those of a group are for no other group.
#[cfg(unix)]
fn mode_after(mode: u32, same_group: bool) -> u32 {
    let for_others = mode & 0o007;
    if same_group { mode & 0o777 } else { mode & 0o700 | (mode & (for_others << 3)) | for_others }
}

#[cfg(not(unix))]
fn take_after(file: &File, old: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// The folder of a path that names a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// An open folder, whose names can be put on the disk. Opened before anything is written: one that its user may
/// write to and not open would otherwise show only when the file is in place.
#[derive(Debug)]
struct Folder(#[cfg(unix)] File);

#[cfg(unix)]
impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // A file system that has no sync of folders says so in this way. There the rename is all there is.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
impl Folder {
    /// Folders can't be opened as files there; the rename is journalled.
    fn open(_path: &Path) -> io::Result<Self> {
        Ok(Self())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
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

#[cfg(all(test, unix))]
mod tests {
    use super::mode_after;

    /// A file that only its group could read was replaced by a process of another group, whose members then could.
    #[test]
    fn another_group_gets_no_more_than_everybody() {
        for (mode, expected) in
            [(0o640, 0o600), (0o664, 0o644), (0o660, 0o600), (0o604, 0o604), (0o777, 0o777)]
        {
            assert_eq!(mode_after(mode, false), expected, "{mode:o}");
            assert_eq!(mode_after(mode, true), mode, "{mode:o}");
        }
        assert_eq!(mode_after(0o10_4755, true), 0o755, "no rights of the owner's go to who runs the file");
    }
}
