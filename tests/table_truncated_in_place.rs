//! What a mapping can't be protected from: a file that somebody truncates in place while it is open takes its pages
//! away, and the process that touches one is ended by the kernel. It is ended: it doesn't answer wrongly. A file
//! that is replaced, or removed, is not taken away.

#![cfg(target_os = "linux")]

mod table_common;

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use table_common::{child, entries, open, scratch, small_blocks, write_entries};

const ENTRIES: u32 = 5000;
const SIGBUS: i32 = 7;

/// A child opens and verifies a table, `change` is done to its file, and the child looks every key up. How it
/// ended, and whether it found them all.
fn read_after(change: impl FnOnce(&Path)) -> (std::process::ExitStatus, bool) {
    let (_folder, path) = scratch("some.table");
    write_entries(&path, small_blocks(), &entries(ENTRIES));
    let mut reader = child::start(child::command("truncated_and_not", &path));
    child::wait_until_reached(&mut reader, "the table is open");
    change(&path);
    reader.stdin.take().unwrap().write_all(b"!").unwrap();
    let output = reader.wait_with_output().unwrap();
    (output.status, String::from_utf8(output.stdout).unwrap().contains("reached every key"))
}

#[test]
fn truncated_and_not() {
    if let Some(path) = child::path() {
        let table = open(&path).unwrap();
        child::reached("the table is open");
        child::wait_for_parent();
        for (key, value) in entries(ENTRIES) {
            assert_eq!(table.get(&key).unwrap(), Some(&value[..]));
        }
        child::reached("every key");
        return;
    }
    let (status, found) =
        read_after(|path| File::options().write(true).open(path).unwrap().set_len(4096).unwrap());
    assert!(status.signal() == Some(SIGBUS) && !found, "{status:?}");

    let harmless: [fn(&Path); 3] = [
        |_| {},
        |path| std::fs::remove_file(path).unwrap(),
        |path| write_entries(path, small_blocks(), &entries(1)),
    ];
    for change in harmless {
        let (status, found) = read_after(change);
        assert!(status.success() && found, "{status:?}");
    }
}
