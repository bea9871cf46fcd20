//! The files that the program is given.

use std::fs;
use std::path::Path;

use arbitrary::Arbitrary;
use bloomline::table::write_filter_block;

use crate::edit::Edit;
use crate::mend::{self, Mend};
use crate::recipe::Recipe;
use crate::table::Written;

/// The names of the three files of an input.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// A file, or something else of its name.
#[derive(Arbitrary, Debug)]
pub(super) enum File {
    /// Keys.
    Lines(Lines),
    /// Any bytes.
    Bytes(Vec<u8>),
    /// A filter file, changed.
    Filter(Recipe, Vec<Edit>, Mend),
    /// A table, changed.
    Table(Written, Vec<Edit>, Mend),
    /// The secret key of SipHash.
    Secret(u8),
    /// A folder.
    Folder,
    /// Nothing.
    Missing,
}

/// Lines of a text, with ends of many sorts.
#[derive(Arbitrary, Debug)]
pub(super) struct Lines {
    lines: Vec<(Vec<u8>, bool)>,
    numbers: u16,
    unended: Option<Vec<u8>>,
}

impl Lines {
    /// The bytes of the file.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (line, crlf) in &self.lines {
            text.extend_from_slice(line);
            text.extend_from_slice(if *crlf { b"\r\n" } else { b"\n" });
        }
        for number in 0..self.numbers % 2000 {
            text.extend_from_slice(format!("{number}\n").as_bytes());
        }
        text.extend_from_slice(self.unended.as_deref().unwrap_or_default());
        text
    }

    /// The keys that the program must read in it: lines without their LF, and with `crlf` without a CR before it.
    pub(super) fn read(&self, crlf: bool) -> Vec<Vec<u8>> {
        let text = self.text();
        let mut keys: Vec<Vec<u8>> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        // After the last LF there is no line, unless it has bytes.
        let unended = keys.pop().unwrap_or_default();
        if crlf {
            for key in keys.iter_mut().filter(|key| key.last() == Some(&b'\r')) {
                key.pop();
            }
        }
        if !unended.is_empty() {
            keys.push(unended);
        }
        keys
    }
}

impl File {
    /// Makes the file.
    pub(super) fn make(&self, path: &Path) {
        let write = |bytes: &[u8]| fs::write(path, bytes).expect("room");
        match self {
            Self::Lines(lines) => write(&lines.text()),
            Self::Bytes(bytes) => write(bytes),
            Self::Filter(recipe, edits, mend) => {
                write_filter_block(path, &recipe.block()).expect("a sound block");
                change(path, edits, *mend);
            }
            Self::Table(written, edits, mend) => {
                written.write(path, &written.entries());
                change(path, edits, *mend);
            }
            Self::Secret(byte) => write(&[*byte; 16]),
            Self::Folder => fs::create_dir(path).expect("room"),
            Self::Missing => {}
        }
    }
}

fn change(path: &Path, edits: &[Edit], mend: Mend) {
    let sound = fs::read(path).expect("a file that was written");
    let mut file = sound.clone();
    for edit in edits.iter().take(8) {
        edit.apply(&mut file, &mend::table_parts(&sound));
    }
    mend::table(&mut file, mend);
    fs::write(path, file).expect("room");
}
