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

/// Waits until the program has set its signal handlers.
#[cfg(target_os = "linux")]
fn wait_for_handlers(child: &Child) {
    /// SIGTERM is 15.
    const TERM: u64 = 1 << 14;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        if u64::from_str_radix(caught, 16).unwrap() & TERM != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether this process ignores a signal, which its children then do too: a shell starts what it runs in the
/// background with SIGINT ignored, and `nohup` SIGHUP.
#[cfg(target_os = "linux")]
fn is_ignored_here(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() >> (number - 1) & 1 == 1
}

#[cfg(target_os = "linux")]
#[test]
fn waiting_for_input_it_ends_at_once() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o filter");
    for (args, name, code) in [
        (["build", "-", "-o", "out"], "INT", 130_i32),
        (["table", "-", "-o", "out"], "TERM", 143),
        (["query", "filter", "-", "--count"], "HUP", 129),
    ] {
        // The code of a signal is 128 and its number.
        if is_ignored_here(code.unsigned_abs() - 128) {
            println!("SIG{name} is ignored where these tests run: not tried");
            continue;
        }
        let mut child = folder.command(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // Kept open, for `wait` would close it, and the end of the input is not what is tried here.
        let stdin = child.stdin.take();
        wait_for_handlers(&child);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
        drop(stdin);
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
        signal(&child, "TERM");
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

/// `nohup` starts a program with SIGHUP ignored, and means it.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_at_the_start_stays_ignored() {
    use std::io::Write;

    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o filter");
    let script = format!("trap '' HUP; exec {} query filter -", crate::support::program().display());
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_handlers(&child);
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(100));
    child.stdin.take().unwrap().write_all(b"apple\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout == b"apple\n", "{output:?}");
}
