//! Every single bit of a small file, flipped: `verify` says that the file is damaged. So it does for a version or
//! a kind that only a flipped bit has made unknown.

use std::process::Stdio;

use crate::support::Folder;

fn every_bit(folder: &Folder, name: &str) {
    let whole = folder.read(name);
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        folder.write("flipped", &bytes);
        let status = folder.command(["verify", "flipped"]).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(3), "bit {} of byte {} of {name}", bit % 8, bit / 8);
    }
}

#[test]
fn of_a_filter_file() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.ok("build keys -o filter");
    every_bit(&folder, "filter");
}

#[test]
fn of_a_compact_filter_file() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.ok("build keys -o filter --kind compact");
    every_bit(&folder, "filter");
}

#[test]
fn of_a_scalable_filter_file() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.ok("build keys -o filter --kind scalable --first-capacity 2");
    every_bit(&folder, "filter");
}

#[test]
fn of_a_table_file() {
    let folder = Folder::new();
    folder.write("pairs", "a\t1\nb\t2\n");
    folder.ok("table pairs -o table");
    every_bit(&folder, "table");
}
