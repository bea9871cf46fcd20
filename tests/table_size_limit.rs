//! A limit on the size of files, reached at any point of the writing: the old file stays, and nothing else is left.
//! The kernel writes what still fits and refuses the rest, as it does on a disk that fills up.

#![cfg(target_os = "linux")]

mod table_common;

use std::path::Path;
use std::process::Command;

use bloomline::error::TableError;
use bloomline::{TableOptions, TableWriter};
use table_common::{child, names_in, open, scratch};

const OLD: (&[u8], &[u8]) = (b"old", b"entry");

/// A table of some 300 KB, so that it is written in more than one go.
fn write_new(path: &Path) -> Result<(), TableError> {
    let mut writer = TableWriter::create(path, TableOptions::default())?;
    for i in 0..3000 {
        writer.add(format!("new {i:06}").as_bytes(), &[b'v'; 90])?;
    }
    writer.finish().map(drop)
}

/// Checks that the folder holds one whole table, the old or the new one; says whether the new one.
fn is_new(folder: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(names_in(folder), [name], "nothing else is left");
    let table = open(path).unwrap();
    if table.entries() == 3000 {
        return true;
    }
    assert_eq!((table.entries(), table.get(OLD.0).unwrap()), (1, Some(OLD.1)));
    false
}

/// `write` must fail just when the old file stays. Returns whether it succeeded.
fn attempt(folder: &Path, path: &Path, write: impl FnOnce() -> Result<(), TableError>) -> bool {
    table_common::write_table(path, TableOptions::default(), [OLD]);
    let written = write();
    if let Err(error) = &written {
        assert!(matches!(error, TableError::Io { .. }) && !error.is_damage(), "{error}");
        assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
    }
    assert_eq!(is_new(folder, path), written.is_ok(), "{written:?}");
    written.is_ok()
}

/// The shell sets the limit for a child.
#[test]
fn a_limit_on_the_size_of_files() {
    if let Some(path) = child::path() {
        let written = write_new(&path);
        child::reached(if written.is_ok() { "success" } else { "failure" });
        return;
    }
    let (folder, path) = scratch("a.table");
    let mut failed = 0;
    // In blocks of 512 bytes; the table has over 500 of them.
    for blocks in [0, 1, 8, 100, 250, 400, 500, 520, 1000] {
        let succeeded = attempt(folder.path(), &path, || {
            let command = child::command("a_limit_on_the_size_of_files", &path);
            let mut limited = Command::new("sh");
            limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
            limited.arg(command.get_program()).args(command.get_args());
            limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let out = limited.output().unwrap();
            let told = String::from_utf8(out.stdout).unwrap();
            if told.contains("reached success") {
                return Ok(());
            }
            assert!(told.contains("reached failure"), "{told}{}", String::from_utf8_lossy(&out.stderr));
            let source = std::io::ErrorKind::FileTooLarge.into();
            Err(TableError::Io { path: path.clone(), operation: "write it", source })
        });
        failed += usize::from(!succeeded);
        assert!(succeeded || blocks < 1000);
    }
    assert!(failed > 5, "{failed} failed");
}
