//! Running part of a test in a process of its own: the test binary started again, for the same test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PATH: &str = "BLOOMLINE_TEST_CHILD_PATH";

/// The path that the parent gave, where this process is a child.
pub(crate) fn path() -> Option<PathBuf> {
    std::env::var_os(PATH).map(PathBuf::from)
}

/// The command that runs `test` of this binary as a child with `path`.
pub(crate) fn command(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PATH, path);
    command
}

/// [`command`] started, with pipes for input and output.
pub(crate) fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// In the child: tells the parent that a point was reached.
pub(crate) fn reached(point: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "\nreached {point}").unwrap();
    out.flush().unwrap();
}

/// In the child: waits until the parent lets it end.
pub(crate) fn wait_for_parent() {
    let _ = std::io::stdin().read(&mut [0]);
}

/// In the parent: waits until the child has reached a point.
pub(crate) fn wait_until_reached(child: &mut Child, point: &str) {
    let out = child.stdout.as_mut().unwrap();
    let told = BufReader::new(out).lines().any(|line| line.unwrap() == format!("reached {point}"));
    assert!(told, "the child ended before it reached {point}");
}
