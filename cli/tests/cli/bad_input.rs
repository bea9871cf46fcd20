//! Wrong usage and wrong input: one line that says what is wrong and what was expected, exit code 2.

use std::fs;

use crate::support::{Folder, Run};

#[test]
fn keys_that_cannot_be_read() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("pairs", "a\t1\n");
    folder.ok("build keys -o filter");
    folder.ok("table pairs -o table");
    fs::create_dir(folder.path("dir")).unwrap();
    for command in ["build {} -o out", "query filter {}", "table {} -o out", "get table {}"] {
        let run = |name: &str| folder.run(&command.replace("{}", name));
        run("missing").fails(2, "missing: no such file");
        run("dir").fails(2, "dir: is a directory, expected a file");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::with_keys(&["a\t1"]);
    fs::create_dir(folder.path("dir")).unwrap();
    for command in ["build", "table"] {
        let run = |output: &str| folder.run(&format!("{command} keys -o {output}"));
        run("dir").fails(2, "dir: is a directory, expected the name of a file to write");
        run("no/file").fails(2, "no/file: there is no folder no to write it to");
        run("keys").fails(2, "keys: is the input, and would be overwritten");
        run("dir/../keys").fails(2, "dir/../keys: is the input, and would be overwritten");
        #[cfg(unix)]
        run("/dev/null").fails(2, "/dev/null: is not a regular file, expected one or a new name");
    }
    assert_eq!(folder.read("keys"), b"a\t1\n");
    assert!(folder.path("dir").is_dir());
}

#[test]
fn budgets_that_no_filter_has() {
    let folder = Folder::with_keys(&["a\t1"]);
    let rate = "the false-positive rate must lie strictly between 0 and 1, got";
    let bits = "the bits per key must be more than 0 and at most 1024, got";
    for command in ["build keys -o out", "table keys -o out", "plan --keys 10"] {
        let run = |budget: &str| folder.run(&format!("{command} {budget}"));
        for got in ["0", "1", "-0.5", "2", "inf", "NaN"] {
            run(&format!("--fpp {got}")).fails(2, &format!("--fpp: {rate} {got}"));
        }
        for got in ["0", "-8", "1025"] {
            run(&format!("--bits-per-key {got}")).fails(2, &format!("--bits-per-key: {bits} {got}"));
        }
        run("--fpp 1e-30").fails_saying(2, &["--fpp: a false-positive rate of 1e-30 is out of reach"]);
    }
    assert_eq!(folder.names(), ["keys"]);
}

#[test]
fn hashers_that_do_not_fit() {
    let folder = Folder::with_keys(&["a"]);
    let run = |flags: &str| folder.run(&format!("build keys -o out {flags}"));
    run("--hasher fnv1a-64 --seed 1")
        .fails(2, "--seed: seed 1 is out of range for fnv1a-64 (id 3): the largest is 0");
    run("--hasher murmur3-x64-128 --seed 4294967296").fails(
        2,
        "--seed: seed 4294967296 is out of range for murmur3-x64-128 (id 2): the largest is 4294967295",
    );
    for hasher in ["xxh3-64", "fnv1a-64", "murmur3-x64-128"] {
        run(&format!("--hasher {hasher}")).succeeds();
    }
    run("--hasher murmur3-x64-128 --seed 4294967295").succeeds();
    run("--seed 18446744073709551615").succeeds();
}

#[test]
fn usage_that_is_wrong_exits_with_2_too() {
    let folder = Folder::with_keys(&["a"]);
    for args in [
        "",
        "fly",
        "build keys",
        "build -o out",
        "build keys -o out --fpp 0.01 --bits-per-key 10",
        "build keys -o out --kind cuckoo",
        "build keys -o out --hasher md5",
        "build keys -o out --seed -1",
        "build keys -o out --threads 0",
        "build keys -o out --fpp many",
        "query keys",
        "plan",
        "plan --keys 0",
        "completions tcsh",
    ] {
        let run = folder.run(args);
        assert_eq!((run.code, run.text()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains("Usage: bloomline") || run.stderr.contains("--help"), "{run:?}");
    }
    assert_eq!(folder.names(), ["keys"]);
}

#[test]
fn a_message_stays_one_line_whatever_the_name_of_the_file() {
    let folder = Folder::new();
    let output = folder.command(["verify", "two\nlines\u{1b}[31m"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message.lines().count(), 1, "{message:?}");
    assert!(!message.contains('\u{1b}') && message.starts_with("bloomline: two\\u{a}lines"), "{message:?}");
}

/// Messages about files and keys had all that is not printable escaped, but those about wrong usage came from the
/// parser of arguments as they were. A shell's `*` makes arguments of the names of files: one of `-x` and an escape
/// sequence could command the terminal of whoever ran `bloomline inspect *`.
#[test]
fn wrong_arguments_do_not_command_the_terminal() {
    let folder = Folder::with_keys(&["apple"]);
    for odd in ["\t", "-x\u{7}", "--\u{1b}]0;title\u{7}", "--fpp=\u{1b}[31m", "\u{202e}", "--kind=\r\u{8}"] {
        let run = Run::of(folder.command(["build", "keys", "-o", "out", odd]).output().unwrap());
        assert!(run.code == Some(2) && run.stdout.is_empty(), "{odd:?}: {run:?}");
        assert!(run.stderr.starts_with("error: "), "{odd:?}: {run:?}");
        let commands = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
        assert!(!run.stderr.contains(commands), "{odd:?}: {run:?}");
    }
    assert_eq!(folder.names(), ["keys"]);
}
