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
        let status = child.wait().unwrap();
        let finished = status.success();
        // Before it has set its handlers, the signal itself ends it.
        assert!(finished || status.code().is_none_or(|code| code == 143), "{status:?}");
        outcomes[usize::from(finished)] += 1;
        if finished {
            folder.ok("verify out");
            std::fs::remove_file(folder.path("out")).unwrap();
        }
        assert_eq!(folder.names(), ["pairs"], "after {milliseconds} ms");
    }
    assert!(outcomes[0] > 0, "none was interrupted");
}

/// A signal that came while a filter was written once was noted and forgotten: the old file was replaced all the
/// same, and the exit code was 0.
#[cfg(target_os = "linux")]
#[test]
fn interrupted_while_it_is_written_a_filter_is_not_published() {
    let folder = Folder::with_keys(&["apple"]);
    // 120 MB, which takes a while to write.
    folder.ok("build keys -o large --capacity 1e8");
    folder.write("out", "old");
    let is_written = || folder.names().iter().any(|name| name.starts_with(".bloomline-"));
    for args in ["build keys -o out --capacity 1e8", "merge large large -o out"] {
        let mut interrupted = 0;
        for _ in 0..5 {
            let mut child = folder.command(args.split_whitespace()).stdout(Stdio::null()).spawn().unwrap();
            while !is_written() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            signal(&child, "TERM");
            match child.wait().unwrap().code() {
                Some(0) => folder.write("out", "old"),
                code => {
                    assert_eq!(code, Some(143), "{args}");
                    assert!(folder.read("out") == b"old", "{args}");
                    interrupted += 1;
                }
            }
            assert_eq!(folder.names(), ["keys", "large", "out"], "{args}");
        }
        assert!(interrupted > 0, "{args}: it was never interrupted");
    }
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
