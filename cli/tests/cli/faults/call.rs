//! System calls that read or change files, and which files those are.

use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::libc::{self, c_long, user_regs_struct};
use nix::unistd::Pid;

/// A call that was seen.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    /// The files that it is about, in the order of its arguments.
    pub(super) paths: Vec<PathBuf>,
    /// Whether it can change a file or a name.
    pub(super) changes: bool,
    /// Whether its third argument says how many bytes are to be moved, which may be made less.
    pub(super) moves_bytes: bool,
    /// What came back: less than 0 for an error, `None` where it never did.
    pub(super) result: Option<i64>,
}

/// How a call names a file.
#[derive(Clone, Copy)]
enum Subject {
    /// By an open file, in the argument of this number.
    Open(usize),
    /// By the path in the argument of this number.
    Path(usize),
    /// By a path that is relative to an open folder.
    PathIn(usize, usize),
}
use Subject::{Open, Path as Named, PathIn};

/// What a call does to files.
#[derive(Clone, Copy)]
enum Effect {
    Reads,
    Changes,
    /// Changes where the flags in the argument of this number say that a file may be made or written.
    AsOpened(usize),
}
use Effect::{AsOpened, Changes, Reads};

/// Every call by which a Rust program touches a file. `close` is not among them: its errors are told to no one.
#[rustfmt::skip]
const CALLS: &[(c_long, &str, Effect, &[Subject])] = &[
    (libc::SYS_open, "open", AsOpened(1), &[Named(0)]),
    (libc::SYS_creat, "creat", Changes, &[Named(0)]),
    (libc::SYS_openat, "openat", AsOpened(2), &[PathIn(0, 1)]),
    (libc::SYS_openat2, "openat2", Changes, &[PathIn(0, 1)]),
    (libc::SYS_stat, "stat", Reads, &[Named(0)]),
    (libc::SYS_lstat, "lstat", Reads, &[Named(0)]),
    (libc::SYS_newfstatat, "newfstatat", Reads, &[PathIn(0, 1)]),
    (libc::SYS_statx, "statx", Reads, &[PathIn(0, 1)]),
    (libc::SYS_fstat, "fstat", Reads, &[Open(0)]),
    (libc::SYS_access, "access", Reads, &[Named(0)]),
    (libc::SYS_faccessat, "faccessat", Reads, &[PathIn(0, 1)]),
    (libc::SYS_faccessat2, "faccessat2", Reads, &[PathIn(0, 1)]),
    (libc::SYS_readlink, "readlink", Reads, &[Named(0)]),
    (libc::SYS_readlinkat, "readlinkat", Reads, &[PathIn(0, 1)]),
    (libc::SYS_getdents64, "getdents64", Reads, &[Open(0)]),
    (libc::SYS_lseek, "lseek", Reads, &[Open(0)]),
    (libc::SYS_read, "read", Reads, &[Open(0)]),
    (libc::SYS_pread64, "pread64", Reads, &[Open(0)]),
    (libc::SYS_readv, "readv", Reads, &[Open(0)]),
    (libc::SYS_preadv, "preadv", Reads, &[Open(0)]),
    (libc::SYS_mmap, "mmap", Reads, &[Open(4)]),
    (libc::SYS_write, "write", Changes, &[Open(0)]),
    (libc::SYS_pwrite64, "pwrite64", Changes, &[Open(0)]),
    (libc::SYS_writev, "writev", Changes, &[Open(0)]),
    (libc::SYS_pwritev, "pwritev", Changes, &[Open(0)]),
    (libc::SYS_pwritev2, "pwritev2", Changes, &[Open(0)]),
    (libc::SYS_sendfile, "sendfile", Changes, &[Open(0), Open(1)]),
    (libc::SYS_copy_file_range, "copy_file_range", Changes, &[Open(0), Open(2)]),
    (libc::SYS_ftruncate, "ftruncate", Changes, &[Open(0)]),
    (libc::SYS_fallocate, "fallocate", Changes, &[Open(0)]),
    (libc::SYS_sync_file_range, "sync_file_range", Changes, &[Open(0)]),
    (libc::SYS_fsync, "fsync", Changes, &[Open(0)]),
    (libc::SYS_fdatasync, "fdatasync", Changes, &[Open(0)]),
    (libc::SYS_fchmod, "fchmod", Changes, &[Open(0)]),
    (libc::SYS_fchown, "fchown", Changes, &[Open(0)]),
    (libc::SYS_truncate, "truncate", Changes, &[Named(0)]),
    (libc::SYS_chmod, "chmod", Changes, &[Named(0)]),
    (libc::SYS_fchmodat, "fchmodat", Changes, &[PathIn(0, 1)]),
    (libc::SYS_chown, "chown", Changes, &[Named(0)]),
    (libc::SYS_fchownat, "fchownat", Changes, &[PathIn(0, 1)]),
    (libc::SYS_utimensat, "utimensat", Changes, &[PathIn(0, 1)]),
    (libc::SYS_mkdir, "mkdir", Changes, &[Named(0)]),
    (libc::SYS_mkdirat, "mkdirat", Changes, &[PathIn(0, 1)]),
    (libc::SYS_rmdir, "rmdir", Changes, &[Named(0)]),
    (libc::SYS_unlink, "unlink", Changes, &[Named(0)]),
    (libc::SYS_unlinkat, "unlinkat", Changes, &[PathIn(0, 1)]),
    (libc::SYS_rename, "rename", Changes, &[Named(0), Named(1)]),
    (libc::SYS_renameat, "renameat", Changes, &[PathIn(0, 1), PathIn(2, 3)]),
    (libc::SYS_renameat2, "renameat2", Changes, &[PathIn(0, 1), PathIn(2, 3)]),
    (libc::SYS_link, "link", Changes, &[Named(0), Named(1)]),
    (libc::SYS_linkat, "linkat", Changes, &[PathIn(0, 1), PathIn(2, 3)]),
    (libc::SYS_symlink, "symlink", Changes, &[Named(1)]),
    (libc::SYS_symlinkat, "symlinkat", Changes, &[PathIn(1, 2)]),
];

impl Call {
    /// The call that a stopped thread is about to make, where it is about a file in `folder` or below.
    pub(super) fn of(thread: Pid, regs: &user_regs_struct, folder: &Path) -> Option<Self> {
        let number = c_long::try_from(regs.orig_rax).ok()?;
        let &(_, name, effect, subjects) = CALLS.iter().find(|(known, ..)| *known == number)?;
        let paths: Vec<_> = subjects.iter().filter_map(|subject| subject.path(thread, regs)).collect();
        if !paths.iter().any(|path| path.starts_with(folder)) {
            return None;
        }
        let changes = match effect {
            Reads => false,
            Changes => true,
            AsOpened(flags) => {
                let writing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
                argument(regs, flags) & u64::from(writing.unsigned_abs()) != 0
            }
        };
        let moves_bytes = matches!(name, "read" | "pread64" | "write" | "pwrite64");
        Some(Self { name, paths, changes, moves_bytes, result: None })
    }

    pub(super) fn succeeded(&self) -> bool {
        self.result.is_some_and(|result| result >= 0)
    }

    /// The names before and after, of a call that gives a file another name.
    pub(super) fn renames(&self) -> Option<(&Path, &Path)> {
        match (self.name, &self.paths[..]) {
            ("rename" | "renameat" | "renameat2", [from, to]) => Some((from, to)),
            _ => None,
        }
    }
}

impl Subject {
    fn path(self, thread: Pid, regs: &user_regs_struct) -> Option<PathBuf> {
        match self {
            Open(file) => path_of_open(thread, argument(regs, file)),
            Named(path) => Some(working_folder(thread)?.join(text(thread, argument(regs, path))?)),
            PathIn(folder, path) => {
                let folder = match argument(regs, folder) {
                    number if is_working_folder(number) => working_folder(thread)?,
                    number => path_of_open(thread, number)?,
                };
                let path = text(thread, argument(regs, path))?;
                // An empty path is the open file itself.
                Some(if path.as_os_str().is_empty() { folder } else { folder.join(path) })
            }
        }
    }
}

/// An argument of the call, by its number.
fn argument(regs: &user_regs_struct, number: usize) -> u64 {
    [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9][number]
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel takes 32 bits of it")]
fn is_working_folder(number: u64) -> bool {
    number as i32 == libc::AT_FDCWD
}

fn working_folder(thread: Pid) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{thread}/cwd")).ok()
}

/// Where an open file lies; none for a number that is no open file.
fn path_of_open(thread: Pid, number: u64) -> Option<PathBuf> {
    let number = u32::try_from(number & 0xFFFF_FFFF).ok()?;
    std::fs::read_link(format!("/proc/{thread}/fd/{number}")).ok()
}

/// The bytes before the first zero at an address of the program's memory.
fn text(thread: Pid, address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; 4096];
    let length = File::open(format!("/proc/{thread}/mem")).ok()?.read_at(&mut bytes, address).ok()?;
    bytes.truncate(length);
    bytes.truncate(bytes.iter().position(|&byte| byte == 0)?);
    Some(std::ffi::OsString::from_vec(bytes).into())
}
