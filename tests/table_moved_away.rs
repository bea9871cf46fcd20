//! A program changed its working directory while a table was being written, and the table went to the other folder,
//! or to none. A relative path means what it meant when the writer was created.
//!
//! The only test of its file, because a process has one working directory.

mod table_common;

use std::path::Path;

use bloomline::TableWriter;
use table_common::{names_in, small_blocks};

#[test]
fn a_relative_path_is_that_of_the_beginning() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    std::env::set_current_dir(folders[0].path()).unwrap();
    let mut writer = TableWriter::create(Path::new("some.table"), small_blocks()).unwrap();
    std::env::set_current_dir(folders[1].path()).unwrap();
    writer.add(b"key", b"value").unwrap();
    writer.finish().unwrap();
    assert_eq!(names_in(folders[0].path()), ["some.table"]);
    assert!(names_in(folders[1].path()).is_empty());
    std::env::set_current_dir("/").unwrap();
}
