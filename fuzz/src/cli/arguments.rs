//! Arguments: a command, the files that it needs, and flags that fit it or don't.

use std::ffi::OsString;

use arbitrary::Arbitrary;

/// One call of the program.
#[derive(Arbitrary, Debug)]
pub(super) struct Call {
    command: u8,
    files: [u8; 2],
    flags: Vec<Flag>,
    piped: bool,
}

#[derive(Arbitrary, Debug)]
enum Flag {
    Switch(u8),
    Choice(u8, u8),
    Number(u8, u8),
    File(u8, u8),
    Odd(Vec<u8>),
}

const COMMANDS: [&str; 9] =
    ["build", "query", "get", "table", "inspect", "verify", "merge", "plan", "completions"];
/// `out` is what commands write, and so what later ones may read.
const FILES: [&str; 8] = ["a", "b", "c", "out", "-", "missing", ".", "a/b"];
const SWITCHES: [&str; 10] = [
    "--json",
    "--crlf",
    "--absent",
    "--count",
    "--no-verify",
    "--stats",
    "--quiet",
    "--help",
    "--version",
    "--",
];
const CHOICES: [(&str, &[&str]); 3] = [
    ("--kind", &["blocked", "classic", "compact", "scalable", "none"]),
    ("--hasher", &["xxh3-64", "murmur3-x64-128", "fnv1a-64", "siphash-2-4"]),
    ("--duplicates", &["last", "error"]),
];
const NUMBERED: [&str; 12] = [
    "--fpp=",
    "--bits-per-key=",
    "--capacity=",
    "--first-capacity=",
    "--growth=",
    "--tightening=",
    "--compact-load=",
    "--threads=",
    "--seed=",
    "--memory=",
    "--measure=",
    "--keys=",
];
/// Small, or so large that they are refused: nothing between, which would be done and take long.
const NUMBERS: [&str; 22] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "9",
    "10",
    "80",
    "130",
    "0.5",
    "0.9",
    "0.01",
    "1e-4",
    "1e-9",
    "1e-300",
    "1e3",
    "4096",
    "-1",
    "nan",
    "inf",
    "18446744073709551615",
    "",
];

fn pick<T: Copy>(of: &[T], which: u8) -> T {
    of[usize::from(which) % of.len()]
}

impl Call {
    pub(super) fn command(&self) -> &'static str {
        pick(&COMMANDS, self.command)
    }

    pub(super) fn piped(&self) -> bool {
        self.piped
    }

    /// The arguments, the name of the command first.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut words = vec![self.command()];
        let [one, other] = self.files.map(|file| pick(&FILES, file));
        match self.command() {
            "build" | "table" => words.extend([one, "-o", "out"]),
            "query" | "get" => words.extend([one, other]),
            "merge" => words.extend([one, other, "-o", "out"]),
            "inspect" | "verify" => words.push(one),
            "plan" => words.extend(["--keys", pick(&NUMBERS, self.files[0])]),
            _ => words.push(["bash", "fish", "tcsh"][usize::from(self.files[0] % 3)]),
        }
        let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        for flag in self.flags.iter().take(6) {
            match flag {
                Flag::Switch(which) => words.push(pick(&SWITCHES, *which).into()),
                Flag::Choice(which, value) => {
                    let (flag, values) = pick(&CHOICES, *which);
                    words.extend([flag.into(), pick(values, *value).into()]);
                }
                Flag::Number(which, value) => {
                    words.push(format!("{}{}", pick(&NUMBERED, *which), pick(&NUMBERS, *value)).into());
                }
                Flag::File(which, value) => {
                    let flag = ["--key-file", "-o"][usize::from(which % 2)];
                    // Nothing but `out` is ever written to, which is how a file that was left is known.
                    let value = if flag == "-o" { "out" } else { pick(&FILES, *value) };
                    words.extend([flag.into(), value.into()]);
                }
                Flag::Odd(bytes) => words.push(odd(bytes)),
            }
        }
        words
    }
}

/// A word of any bytes, but those that no argument can have and those that name a file outside.
fn odd(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.iter().copied().filter(|&byte| byte != 0 && byte != b'/').take(40).collect())
}
