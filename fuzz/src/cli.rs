//! The `bloomline` command: files of every sort, sound and hostile, and arguments that fit or don't.
//!
//! The program is run as a user runs it, in a folder of its own: the environment variable `BLOOMLINE_COMMAND` names
//! it, and `make fuzz` builds it. What it does there is not instrumented, so the fuzzer is told by counters of its
//! own (see [`novelty`]) that an exit code or a message is new.

mod arguments;
mod files;
mod novelty;
mod running;

use arbitrary::{Arbitrary, Unstructured};

use arguments::Call;
use files::{File, Lines, NAMES};
use running::Folder;

/// An input.
#[derive(Arbitrary, Debug)]
enum Input {
    /// Files, and calls of any sort.
    Calls { files: Box<[File; 3]>, stdin: Vec<u8>, calls: Vec<Call> },
    /// A filter of all keys of a file, which must know them.
    Keys { keys: Lines, kind: u8, hasher: u8, crlf: bool, piped: bool, threads: bool },
    /// A table of pairs, which must give them back.
    Pairs { keys: Lines, values: Vec<Vec<u8>>, kind: u8, piped: bool },
}

/// Most calls of an input: each takes a few milliseconds.
const CALLS: usize = 4;

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Unstructured::new(input);
    match input.arbitrary() {
        Ok(Input::Calls { files, stdin, calls }) => {
            let folder = Folder::new();
            for (file, name) in files.iter().zip(NAMES) {
                file.make(&folder.path(name));
            }
            for call in calls.iter().take(CALLS) {
                let run = folder.run(&call.arguments(), &stdin, call.piped());
                novelty::tell(call.command(), run.code, &run.stderr);
            }
        }
        Ok(Input::Keys { keys, kind, hasher, crlf, piped, threads }) => {
            known(&keys, kind, hasher, crlf, piped, threads);
        }
        Ok(Input::Pairs { keys, values, kind, piped }) => given_back(&keys, &values, kind, piped),
        Err(_) => {}
    }
}

/// Builds a filter, and asks it for the keys that it was built from.
fn known(keys: &Lines, kind: u8, hasher: u8, crlf: bool, piped: bool, threads: bool) {
    let folder = Folder::new();
    std::fs::write(folder.path("keys"), keys.text()).expect("room");
    std::fs::write(folder.path("secret"), [7; 16]).expect("room");
    let from = if piped { "-" } else { "keys" };
    let kind = ["blocked", "classic", "compact", "scalable"][usize::from(kind % 4)];
    let hasher = ["xxh3-64", "murmur3-x64-128", "fnv1a-64", "siphash-2-4"][usize::from(hasher % 4)];
    let mut build = vec!["build", from, "-o", "out", "--kind", kind, "--hasher", hasher];
    let mut query = vec!["query", "out", from];
    let mut both = |flags: &[&'static str]| {
        build.extend(flags);
        query.extend(flags);
    };
    if hasher == "siphash-2-4" {
        both(&["--key-file", "secret"]);
    }
    if crlf {
        both(&["--crlf"]);
    }
    if threads {
        build.extend(["--threads", "2"]);
    }
    let text = keys.text();
    folder.run(&build, &text, true).succeeded(0);
    folder.run(&["verify", "out"], b"", true).succeeded(0);
    let expected = keys.read(crlf);
    let found = folder.run(&query, &text, true);
    found.succeeded(i32::from(expected.is_empty()));
    assert!(found.stdout == expected.iter().flat_map(|key| [key, &b"\n"[..]].concat()).collect::<Vec<_>>());
    query.push("--absent");
    let absent = folder.run(&query, &text, true);
    absent.succeeded(1);
    assert!(absent.stdout.is_empty(), "a key of the filter is called absent");
}

/// Builds a table, and gets every pair.
fn given_back(keys: &Lines, values: &[Vec<u8>], kind: u8, piped: bool) {
    let mut pairs = std::collections::BTreeMap::new();
    let without = |bytes: &[u8], other: u8| -> Vec<u8> {
        bytes.iter().copied().filter(|&byte| byte != b'\n' && byte != other).collect()
    };
    for (i, key) in keys.read(false).into_iter().enumerate() {
        let value = values.get(i % values.len().max(1)).map_or(Vec::new(), |value| without(value, b'\n'));
        pairs.insert(without(&key, b'\t'), value);
    }
    let lines = |pairs: &mut dyn Iterator<Item = (&Vec<u8>, &Vec<u8>)>| -> Vec<u8> {
        pairs.flat_map(|(key, value)| [key, &b"\t"[..], value, b"\n"].concat()).collect()
    };
    let folder = Folder::new();
    // In another order than the table's.
    let text = lines(&mut pairs.iter().rev());
    std::fs::write(folder.path("pairs"), &text).expect("room");
    let kind = ["blocked", "classic", "compact"][usize::from(kind % 3)];
    let from = if piped { "-" } else { "pairs" };
    folder.run(&["table", from, "-o", "out", "--kind", kind, "--memory", "1"], &text, true).succeeded(0);
    folder.run(&["verify", "out"], b"", true).succeeded(0);
    let asked: Vec<u8> = pairs.keys().flat_map(|key| [key, &b"\n"[..]].concat()).collect();
    let found = folder.run(&["get", "out", "-"], &asked, true);
    found.succeeded(i32::from(pairs.is_empty()));
    assert!(found.stdout == lines(&mut pairs.iter()), "a pair is not given back");
}
