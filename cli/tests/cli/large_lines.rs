//! Lines longer than every buffer, and a file that has no lines at all.

use std::fs::File;

use crate::support::Folder;

#[test]
fn a_key_of_several_megabytes_is_a_key() {
    let folder = Folder::new();
    let long = "x".repeat(5_000_000);
    folder.write("keys", format!("short\n{long}\n{long}y\n"));
    assert_eq!(folder.run("build keys -o filter --fpp 1e-6 --json").json()["keys"], 3);
    assert_eq!(folder.ok("query filter keys"), format!("short\n{long}\n{long}y\n"));
    folder.write("near", format!("{long}z\n"));
    assert_eq!(folder.run("query filter near").code, Some(1));
}

#[test]
fn a_file_without_lines_is_refused_before_it_fills_the_memory() {
    let folder = Folder::new();
    // A hole of 1 GiB takes no room on the disk.
    File::create(folder.path("zeros")).unwrap().set_len(1 << 30).unwrap();
    folder
        .run("build zeros -o filter")
        .fails(2, "zeros: the line at byte 0 is longer than 32 MiB, expected lines of keys");
    assert_eq!(folder.names(), ["zeros"]);
}

#[test]
fn a_table_says_which_keys_are_too_long() {
    let folder = Folder::new();
    folder.write("pairs", format!("{}\tvalue\n", "k".repeat((1 << 20) + 1)));
    folder.run("table pairs -o table").fails(2, "table: a key has at most 1048576 bytes, got 1048577");
    assert_eq!(folder.names(), ["pairs"]);
}
