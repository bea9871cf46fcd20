//! `-`: keys from a pipe, whose number isn't known in advance, and answers that don't wait for its end.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::Folder;

fn keys(count: u32) -> String {
    (0..count).map(|number| format!("{number:016x}\n")).collect()
}

#[test]
fn a_pipe_builds_the_file_that_a_regular_file_builds() {
    let folder = Folder::new();
    for count in [1, 255, 256, 257, 40_000] {
        folder.write("keys", keys(count));
        folder.ok("build keys -o file");
        folder.run_with_input("build - -o pipe", keys(count).as_bytes()).succeeds();
        assert!(folder.read("file") == folder.read("pipe"), "{count} keys");
    }
}

#[test]
fn any_number_of_threads_builds_the_same_file() {
    let folder = Folder::new();
    folder.write("keys", keys(100_000));
    folder.ok("build keys -o one");
    for threads in [2, 3, 16] {
        let said = folder.run(&format!("build keys -o many --threads {threads} --json")).json();
        assert_eq!(said["keys"], 100_000);
        assert!(folder.read("one") == folder.read("many"), "{threads} threads");
    }
    folder.run_with_input("build - -o many --threads 3", keys(100_000).as_bytes()).succeeds();
    assert!(folder.read("one") == folder.read("many"));
}

#[test]
fn an_answer_comes_before_the_next_key_is_sent() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.ok("build keys -o filter");
    let mut child = folder
        .command(["query", "filter", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for key in ["pear\n", "apple\n", "pear\n"] {
        stdin.write_all(key.as_bytes()).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, key);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_once() {
    let folder = Folder::new();
    let status = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(status.success());
    let pipe = folder.path("pipe");
    let writing = std::thread::spawn(move || std::fs::write(pipe, keys(1000)).unwrap());
    assert_eq!(folder.run("build pipe -o filter --json").json()["keys"], 1000);
    writing.join().unwrap();
}
