//! How a file appears under its name: permissions, links, and nothing left when it doesn't.

mod table_common;

use bloomline::error::{TableError, TableFault};
use bloomline::{TableOptions, TableWriter};
use table_common::{entries, names_in, open, scratch, small_blocks, write_entries};

#[test]
fn a_writer_that_is_dropped_leaves_the_old_file_and_nothing_else() {
    let (folder, path) = scratch("dropped.table");
    let add_some = |writer: &mut TableWriter| {
        for (key, value) in &entries(10_000) {
            writer.add(key, value).unwrap();
        }
    };
    let mut writer = TableWriter::create(&path, small_blocks()).unwrap();
    add_some(&mut writer);
    assert_eq!(names_in(folder.path()).len(), 1, "a temporary file, in the same folder");
    assert!(!path.exists());
    drop(writer);
    assert!(names_in(folder.path()).is_empty());

    write_entries(&path, small_blocks(), &entries(3));
    let before = std::fs::read(&path).unwrap();
    let mut writer = TableWriter::create(&path, small_blocks()).unwrap();
    add_some(&mut writer);
    drop(writer);
    assert_eq!(names_in(folder.path()), ["dropped.table"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_filter_that_cannot_be_built_leaves_nothing() {
    let (folder, path) = scratch("impossible.table");
    let filter = bloomline::FilterOptions::default().budget(bloomline::Budget::Fpp(2.0));
    let mut writer = TableWriter::create(&path, TableOptions::default().filter(Some(filter))).unwrap();
    writer.add(b"key", b"value").unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, TableError::Filter { .. }) && !error.is_damage(), "{error}");
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn folders_are_never_replaced_and_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let error = TableWriter::create(folder.path(), small_blocks()).unwrap_err();
    assert!(matches!(error, TableError::File { source: TableFault::NotAFile { got: "a directory" }, .. }));
    let error = TableWriter::create(&folder.path().join("no/such/folder"), small_blocks()).unwrap_err();
    assert!(matches!(error, TableError::Io { .. }));
    assert!(names_in(folder.path()).is_empty());
}

/// The temporary file must not need more room for its name than the file.
#[test]
fn the_longest_name_that_file_systems_take() {
    let (folder, path) = scratch(&"n".repeat(255));
    write_entries(&path, small_blocks(), &entries(3));
    assert_eq!(open(&path).unwrap().entries(), 3);
    assert_eq!(names_in(folder.path()).len(), 1);
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let (folder, path) = scratch("new.table");
        write_entries(&path, small_blocks(), &entries(3));
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions(), fs::metadata(plain).unwrap().permissions());
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let (_folder, path) = scratch("private.table");
        write_entries(&path, small_blocks(), &entries(3));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write_entries(&path, small_blocks(), &entries(4));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(open(&path).unwrap().entries(), 4);
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let (folder, path) = scratch("link.table");
        let real = folder.path().join("real.table");
        write_entries(&real, small_blocks(), &entries(3));
        symlink("real.table", &path).unwrap();
        write_entries(&path, small_blocks(), &entries(4));
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(open(&real).unwrap().entries(), 4);
    }

    /// A rename onto `/dev/null` would take the device away.
    #[test]
    fn a_device_or_pipe_is_never_replaced() {
        let (folder, path) = scratch("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = TableWriter::create(&path, small_blocks()).unwrap_err();
        assert!(matches!(error, TableError::File { source: TableFault::NotAFile { .. }, .. }));
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(names_in(folder.path()), ["pipe"]);
    }
}
