//! Running the program in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary folder that the program runs in.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with a file of these lines, `keys`.
    pub(crate) fn with_keys(keys: &[&str]) -> Self {
        let folder = Self::new();
        folder.write("keys", keys.iter().map(|key| format!("{key}\n")).collect::<String>());
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program, ready to be started in this folder.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.0.path());
        command
    }

    /// Runs the program with these words as arguments.
    pub(crate) fn run(&self, args: &str) -> Run {
        self.run_with_input(args, b"")
    }

    /// Runs the program with bytes on its standard input.
    pub(crate) fn run_with_input(&self, args: &str, input: &[u8]) -> Run {
        let mut child = self
            .command(args.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that fails early doesn't read all of it.
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        Run::of(output)
    }

    /// Runs the program, which must succeed without a word on standard error, and gives its output.
    pub(crate) fn ok(&self, args: &str) -> String {
        self.run(args).succeeds()
    }
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bloomline"))
}

/// How a run went.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// `None` for a process that a signal ended.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert!(self.code == Some(0) && self.stderr.is_empty(), "{self:?}");
        String::from_utf8(self.stdout).unwrap()
    }

    /// Fails with this code, nothing on standard output, and on standard error the one line given.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, line: &str) {
        assert_eq!(self.stderr, format!("bloomline: {line}\n"), "{self:?}");
        assert!(self.code == Some(code) && self.stdout.is_empty(), "{self:?}");
    }

    /// Fails with this code and one line on standard error that has these parts.
    #[track_caller]
    pub(crate) fn fails_saying(&self, code: i32, parts: &[&str]) {
        assert!(self.code == Some(code) && self.stdout.is_empty(), "{self:?}");
        assert!(self.stderr.starts_with("bloomline: ") && self.stderr.ends_with('\n'), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:?}");
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.text().lines().count(), 1, "{self:?}");
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

/// The field names of a JSON object, in order.
pub(crate) fn fields(object: &serde_json::Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
