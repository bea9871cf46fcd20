//! Several processes reading one file, and what of it each of them holds in memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::Serialize;

use crate::exit::Failure;

/// What one process holds of a mapped file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Mapped {
    pub(super) pid: u32,
    /// Pages of the file that the process has mapped.
    pub(super) rss: u64,
    /// The same, each page divided by the number of processes that have it mapped.
    pub(super) pss: u64,
}

/// Starts `others` processes that read all of `file`, and while they live looks what each of them, and this
/// process, holds of it. `None` where the system doesn't tell.
pub(super) fn share(file: &Path, keys: usize, others: usize) -> Result<Option<Vec<Mapped>>, Failure> {
    let mut readers: Vec<Reader> = (0..others).map(|_| Reader::start(file)).collect::<Result<_, _>>()?;
    for reader in &mut readers {
        let found = reader.found()?;
        if found != keys {
            return Err(Failure::Damaged(format!("demo: a process found {found} of {keys} keys")));
        }
    }
    let pids = std::iter::once(std::process::id()).chain(readers.iter().map(|reader| reader.0.id()));
    let mapped = pids.map(|pid| mapped_by(pid, file)).collect();
    for mut reader in readers {
        reader.stop()?;
    }
    Ok(mapped)
}

/// A `demo-reader`: reads, says how many keys it found, and waits until its standard input is closed.
struct Reader(Child);

impl Reader {
    fn start(file: &Path) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let child = Command::new(program)
            .arg("demo-reader")
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        child.map(Self).map_err(|error| failed(&error))
    }

    /// Waits until it has read.
    fn found(&mut self) -> Result<usize, Failure> {
        let mut line = String::new();
        if let Some(stdout) = self.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(&error))?;
        }
        line.trim().parse().map_err(|_| failed(&"it did not say what it found"))
    }

    fn stop(&mut self) -> Result<(), Failure> {
        drop(self.0.stdin.take());
        let status = self.0.wait().map_err(|error| failed(&error))?;
        if status.success() { Ok(()) } else { Err(failed(&status)) }
    }
}

/// Also when the demo fails half-way, no reader is left.
impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn failed(problem: &dyn std::fmt::Display) -> Failure {
    Failure::input("demo", format_args!("another process of this program failed: {problem}"))
}

/// What process `pid` holds of `file`; `None` where there is no `/proc/PID/smaps` to tell.
fn mapped_by(pid: u32, file: &Path) -> Option<Mapped> {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let (rss, pss) = parse_smaps(&smaps, file.to_str()?)?;
    Some(Mapped { pid, rss, pss })
}

/// Rss and Pss of all mappings of `file` in bytes; `None` where it isn't mapped.
fn parse_smaps(smaps: &str, file: &str) -> Option<(u64, u64)> {
    let (mut rss, mut pss, mut found, mut inside) = (0, 0, false, false);
    for line in smaps.lines() {
        // A mapping begins with its addresses, "55d0c000-55d0d000 r--s ... path"; "Name: value" lines follow.
        let (name, rest) = line.split_once(' ')?;
        match name.strip_suffix(':') {
            None => inside = rest.ends_with(file),
            Some(field) if inside => {
                let bytes = || Some(rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024);
                match field {
                    "Rss" => rss += bytes()?,
                    "Pss" => pss += bytes()?,
                    _ => {}
                }
                found = true;
            }
            Some(_) => {}
        }
    }
    found.then_some((rss, pss))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f00-7f10 r--s 00000000 fd:00 42                         /srv/words.blt
Size:               2048 kB
Rss:                1000 kB
Pss:                 250 kB
VmFlags: rd mr me ms rr sd
7f10-7f20 r--p 00000000 fd:00 43                         /usr/lib/libc.so.6
Rss:                 500 kB
Pss:                  50 kB
7f20-7f30 r--s 00001000 fd:00 42                         /srv/words.blt
Rss:                  24 kB
Pss:                   6 kB
";

    #[test]
    fn mappings_of_the_file_are_added_up_and_others_are_not() {
        assert_eq!(parse_smaps(SMAPS, "/srv/words.blt"), Some((1024 * 1024, 256 * 1024)));
        assert_eq!(parse_smaps(SMAPS, "/srv/other.blt"), None);
        assert_eq!(parse_smaps("", "/srv/words.blt"), None);
    }
}
