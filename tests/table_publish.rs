//! How a file appears under its name: permissions, links, and nothing left when it doesn't.

mod table_common;

use bloomline::error::{TableError, TableFault};
use bloomline::hash::Hashers;
use bloomline::table::{write_filter_block, write_filter_file};
use bloomline::{FilterReader, TableOptions, TableWriter};
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

/// A reader that was opened unverified could be written to a file that no one could open, though the same block
/// was refused when it was given as bytes.
#[test]
fn a_damaged_filter_is_not_published_in_any_form() {
    let (folder, path) = scratch("damaged.filter");
    let file = table_common::filter_file_bytes();
    let filter = table_common::surgery::map(&file).filter.unwrap();
    let mut block = file[filter].to_vec();
    let reader = FilterReader::open_unverified(&block, &Hashers::new()).unwrap();
    let bytes = write_filter_file(&path, &reader).unwrap();
    assert_eq!(write_filter_block(&path, &block).unwrap(), bytes);
    let whole = std::fs::read(&path).unwrap();

    *block.last_mut().unwrap() ^= 1;
    let reader = FilterReader::open_unverified(&block, &Hashers::new()).unwrap();
    for written in [write_filter_file(&path, &reader), write_filter_block(&path, &block)] {
        let error = written.unwrap_err();
        assert!(matches!(&error, TableError::File { source: TableFault::Filter(_), .. }), "{error}");
        assert!(error.is_damage());
        assert_eq!(std::fs::read(&path).unwrap(), whole, "the old file");
        assert_eq!(names_in(folder.path()), ["damaged.filter"]);
    }
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

    /// A link to a file that was not there yet was itself replaced, and the file that it named never made.
    #[test]
    fn a_link_to_nothing_stays_and_its_file_is_made() {
        let (folder, path) = scratch("link.table");
        fs::create_dir(folder.path().join("inner")).unwrap();
        symlink("inner/second", &path).unwrap();
        symlink("../real.table", folder.path().join("inner/second")).unwrap();
        write_entries(&path, small_blocks(), &entries(4));
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert!(fs::symlink_metadata(folder.path().join("inner/second")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(folder.path().join("real.table")).unwrap().is_file());
        assert_eq!(open(&path).unwrap().entries(), 4);

        let lost = folder.path().join("lost.table");
        symlink("no/such/folder", &lost).unwrap();
        let error = TableWriter::create(&lost, small_blocks()).unwrap_err();
        assert!(matches!(&error, TableError::Io { operation: "create it", .. }), "{error}");
        let round = folder.path().join("round.table");
        symlink("round.table", &round).unwrap();
        assert!(matches!(TableWriter::create(&round, small_blocks()), Err(TableError::Io { .. })));
        assert_eq!(
            names_in(folder.path()),
            ["inner", "link.table", "lost.table", "real.table", "round.table"]
        );
    }

    /// The file that replaced a private one was created for all to open, and made private a moment later. Whoever
    /// opened it in between could read all that was written then.
    #[test]
    fn a_private_file_is_private_at_every_moment() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let (folder, path) = scratch("private.table");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let done = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut modes = std::collections::BTreeSet::new();
                while !done.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(folder.path()).unwrap().flatten() {
                        // It may be gone by now.
                        modes.extend(entry.metadata().map(|metadata| metadata.permissions().mode() & 0o777));
                    }
                }
                modes
            });
            for _ in 0..2000 {
                drop(TableWriter::create(&path, small_blocks()).unwrap());
            }
            done.store(true, Ordering::Relaxed);
            watcher.join().unwrap()
        });
        assert_eq!(Vec::from_iter(seen), [0o600]);
    }

    /// A file that root replaced became root's, and its owner could no longer read it.
    #[test]
    fn a_replaced_file_keeps_its_owner_where_that_is_permitted() {
        use std::os::unix::fs::{MetadataExt, chown};
        let (_folder, path) = scratch("owned.table");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        // Without the right to give files away, the owner is the only one that there can be.
        let _ = chown(&path, Some(4321), Some(4322));
        let owner = |path| fs::metadata(path).map(|old| (old.uid(), old.gid(), old.mode())).unwrap();
        let before = owner(&path);
        write_entries(&path, small_blocks(), &entries(4));
        assert_eq!(owner(&path), before);
        assert_eq!(open(&path).unwrap().entries(), 4);
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
