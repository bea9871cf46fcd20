//! A command that fails leaves the output that was there, and nothing beside it. No command replaces a file that
//! it reads.

use crate::support::Folder;
#[cfg(unix)]
use crate::support::Run;

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

/// Once only the names of output and input were compared: `build - -o k.txt < k.txt` replaced the keys by their
/// filter, and `--key-file secret -o secret` destroyed the only copy of a secret key.
#[cfg(unix)]
#[test]
fn the_output_is_nothing_that_is_read() {
    let folder = Folder::with_keys(&["apple\tred"]);
    folder.write("secret", "0123456789abcdef");
    folder.ok("build keys -o a --capacity 9");
    folder.ok("build keys -o b --capacity 9 --hasher siphash-2-4 --key-file secret");
    std::os::unix::fs::symlink("keys", folder.path("soft")).unwrap();
    std::fs::hard_link(folder.path("keys"), folder.path("hard")).unwrap();
    std::os::unix::fs::symlink("secret", folder.path("soft-secret")).unwrap();
    let before: Vec<_> = folder.names().iter().map(|name| (name.clone(), folder.read(name))).collect();
    let keyed = "--hasher siphash-2-4 --key-file";
    let refused = [
        ("build keys -o keys".to_owned(), "keys: is the input"),
        ("build keys -o soft".to_owned(), "soft: is the input"),
        ("build hard -o keys".to_owned(), "keys: is the input"),
        ("build - -o keys".to_owned(), "keys: is the input"),
        ("build - -o soft --kind compact".to_owned(), "soft: is the input"),
        ("build /dev/stdin -o keys".to_owned(), "keys: is the input"),
        ("table - -o keys".to_owned(), "keys: is the input"),
        ("table keys -o ./keys".to_owned(), "./keys: is the input"),
        ("merge a a -o a".to_owned(), "a: is the input"),
        (format!("build keys -o secret {keyed} secret"), "secret: is the file of the secret key"),
        (format!("build - -o secret {keyed} soft-secret"), "secret: is the file of the secret key"),
        (format!("table keys -o soft-secret {keyed} secret"), "soft-secret: is the file of the secret key"),
        ("merge b b -o secret --key-file secret".to_owned(), "secret: is the file of the secret key"),
    ];
    for (args, says) in refused {
        let keys = std::fs::File::open(folder.path("keys")).unwrap();
        let output = folder.command(args.split_whitespace()).stdin(keys).output().unwrap();
        println!("{args}");
        Run::of(output).fails(2, &format!("{says}, and would be overwritten"));
        let after: Vec<_> = folder.names().iter().map(|name| (name.clone(), folder.read(name))).collect();
        assert!(after == before, "{args}");
    }
}
