//! A command that fails leaves the output that was there, and nothing beside it.

use crate::support::Folder;

#[test]
fn a_failed_build_or_table_leaves_the_old_file() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o out");
    let old = folder.read("out");
    folder.write("pairs", "a\t1\nno tab here\n");
    folder.write("twice", "a\t1\nb\t2\na\t3\n");
    folder.write("short", "0123");
    let names = folder.names();
    for args in [
        "build missing -o out",
        "build keys -o out --fpp 0",
        "build keys -o out --hasher siphash-2-4",
        "build keys -o out --hasher siphash-2-4 --key-file short",
        "table pairs -o out",
        "table twice -o out",
        "table missing -o out",
    ] {
        assert_eq!(folder.run(args).code, Some(2), "{args}");
        assert!(folder.read("out") == old, "{args}");
        assert_eq!(folder.names(), names, "{args}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_reported() {
    let folder = Folder::with_keys(&["apple"]);
    // No one, not even root, makes files in /proc.
    for command in ["build", "table"] {
        let run = folder.run(&format!("{command} keys -o /proc/filter"));
        assert!(run.code == Some(2) && run.stderr.lines().count() == 1, "{run:?}");
    }
}

#[test]
fn a_good_build_replaces_the_old_file() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("out", "something else");
    folder.ok("build keys -o out");
    assert_eq!(folder.ok("query out keys"), "apple\n");
    assert_eq!(folder.names(), ["keys", "out"]);
}
