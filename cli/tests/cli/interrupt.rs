//! A signal ends the program at any moment and leaves no temporary file.

#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::Folder;

/// Sends a signal. The process may have ended before it; `kill` then complains to no one.
fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    Command::new("kill").args([&format!("-{name}"), &id]).stderr(Stdio::null()).status().unwrap();
}

#[test]
fn waiting_for_input_it_ends_at_once() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o filter");
    for (args, name) in [
        (["build", "-", "-o", "out"], "INT"),
        (["table", "-", "-o", "out"], "TERM"),
        (["query", "filter", "-", "--count"], "HUP"),
    ] {
        let mut child = folder.command(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // Until the handler is there the signal ends the process by itself, which is right too but proves less.
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
    }
    assert_eq!(folder.names(), ["filter", "keys"]);
}

#[test]
fn interrupted_anywhere_a_table_is_there_whole_or_not_at_all() {
    let folder = Folder::new();
    folder.write("pairs", (0..150_000).map(|number| format!("{number:08}\t{number}\n")).collect::<String>());
    let mut outcomes = [0, 0];
    for milliseconds in [20, 60, 120, 200, 300, 450, 700, 1000, 1500, 2500] {
        let mut child = folder
            .command(["table", "pairs", "-o", "out", "--memory", "1"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(&child, "INT");
        let finished = child.wait().unwrap().success();
        outcomes[usize::from(finished)] += 1;
        if finished {
            folder.ok("verify out");
            std::fs::remove_file(folder.path("out")).unwrap();
        }
        assert_eq!(folder.names(), ["pairs"], "after {milliseconds} ms");
    }
    assert!(outcomes[0] > 0, "none was interrupted");
}
