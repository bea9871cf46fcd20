//! A reader that has seen enough is no error; a disk that is full is one.

#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::{Folder, Run};

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let folder = Folder::new();
    // More than a pipe and the program's buffer hold.
    folder.write("keys", (0..200_000).map(|number| format!("key {number}\n")).collect::<String>());
    folder.write("pairs", (0..200_000).map(|number| format!("key {number}\tvalue\n")).collect::<String>());
    folder.ok("build keys -o filter");
    folder.ok("table pairs -o table");
    for args in ["query filter keys", "query filter keys --json", "get table keys"] {
        let mut child = folder
            .command(args.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        // Reads a line, then goes away.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("key 0"));
        let run = Run::of(child.wait_with_output().unwrap());
        assert!(run.code == Some(0) && run.stderr.is_empty(), "{run:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_also_at_the_last_byte() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("pairs", "apple\tred\n");
    folder.ok("build keys -o filter");
    folder.ok("table pairs -o table");
    for args in [
        "query filter keys",
        "query filter keys --count",
        "get table keys",
        "get table keys --stats",
        "inspect filter",
        "verify filter --json",
        "plan --keys 10",
        "completions bash",
        "help",
        "help build",
        "--version",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output =
            folder.command(args.split_whitespace()).stdout(full).stderr(Stdio::piped()).output().unwrap();
        Run::of(output).fails(2, "standard output: no space left on device");
    }
}
