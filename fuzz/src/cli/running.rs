//! Running the program in a folder of its own, and what is true of every run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder that the program runs in.
pub(super) struct Folder(tempfile::TempDir);

/// How a run went.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// Where `make fuzz` builds the program.
const BUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/bloomline");

impl Folder {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program, with bytes on its standard input from a pipe or from a file, and checks what must be true
    /// whatever it was asked for.
    pub(super) fn run<S: AsRef<OsStr> + Debug>(&self, arguments: &[S], stdin: &[u8], piped: bool) -> Run {
        let program = std::env::var_os("BLOOMLINE_COMMAND").unwrap_or(BUILT.into());
        let before = contents(self.0.path());
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(self.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if piped && stdin.len() <= PIPE_BYTES { pipe_of(stdin) } else { file_of(stdin) });
        let output = command.output().unwrap_or_else(|error| {
            panic!("{}: {error}: build it first, or name it in BLOOMLINE_COMMAND", program.display())
        });
        let run = Run {
            code: output.status.code().unwrap_or_else(|| panic!("{arguments:?}: {}", output.status)),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages in UTF-8"),
        };
        run.is_documented(&arguments);
        let after = contents(self.0.path());
        let may_write = arguments.first().is_some_and(|command| {
            ["build", "table", "merge"].iter().any(|writer| command.as_ref() == *writer)
        });
        for (name, bytes) in &before {
            let written = may_write && run.code == 0 && name == "out";
            assert!(written || after.get(name) == Some(bytes), "{arguments:?} changed {name}: {run:?}");
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            assert!(may_write && run.code == 0 && name == "out", "{arguments:?} left {name}: {run:?}");
        }
        run
    }
}

impl Run {
    /// One of the documented exit codes; on failure one line on standard error, or the usage of wrong arguments.
    fn is_documented(&self, arguments: &dyn Debug) {
        assert!(!self.stderr.contains("panicked"), "{arguments:?}: {self:?}");
        let usage = self.stderr.starts_with("error: ") && self.code == 2;
        let line = self.stderr.starts_with("bloomline: ") && self.stderr.ends_with('\n');
        let one_line = line && self.stderr.lines().count() == 1;
        match self.code {
            0 | 1 => assert!(self.stderr.is_empty(), "{arguments:?}: {self:?}"),
            2 | 3 => assert!(usage || one_line, "{arguments:?}: {self:?}"),
            _ => panic!("{arguments:?}: {self:?}"),
        }
        let printable = |char: char| char == '\n' || !char.is_control();
        assert!(self.stderr.chars().all(printable), "what is printed commands the terminal: {self:?}");
    }

    /// The program ended with `code`, 0 or 1.
    #[track_caller]
    pub(super) fn succeeded(&self, code: i32) {
        assert_eq!(self.code, code, "{self:?}");
    }
}

/// What a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// A pipe that all is in already, for a program that ends without reading it would have whoever writes ended by a
/// signal.
fn pipe_of(bytes: &[u8]) -> Stdio {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(bytes).expect("room");
    reader.into()
}

/// A file without a name that is read from its beginning.
fn file_of(bytes: &[u8]) -> Stdio {
    let mut file = tempfile::tempfile().expect("room");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("room");
    file.into()
}

/// The files of a folder, and in it the folders, as empty files.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable"));
    let named = entries.map(|entry| {
        let name = entry.file_name().into_string().expect("names that were chosen here");
        (name, fs::read(entry.path()).unwrap_or_default())
    });
    named.collect()
}
