//! Files that are no filter, or not a whole one, or not for us.

use std::fs;

use crate::support::Folder;

/// Every command that opens a filter or table file. `get` takes tables only, and is tried on those.
const READERS: [&str; 4] = ["query {} keys", "inspect {}", "verify {}", "get {} keys"];

fn folder() -> Folder {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("pairs", "apple\tred\npear\tgreen\n");
    folder.ok("build keys -o filter");
    folder.ok("table pairs -o table");
    folder
}

/// Runs every reader on the file: each must fail with this code and say these things.
#[track_caller]
fn all_fail(folder: &Folder, name: &str, code: i32, parts: &[&str]) {
    for reader in READERS {
        let run = folder.run(&reader.replace("{}", name));
        run.fails_saying(code, &[&format!("bloomline: {name}: ")]);
        run.fails_saying(code, parts);
    }
}

#[test]
fn a_missing_file() {
    all_fail(&folder(), "missing", 2, &["no such file"]);
}

#[test]
fn a_directory() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    all_fail(&folder, "dir", 2, &["a regular file is needed, got a directory"]);
}

#[test]
fn an_empty_file() {
    let folder = folder();
    folder.write("empty", "");
    all_fail(&folder, "empty", 3, &["an empty file: a filter or table file has at least"]);
}

#[test]
fn a_text_file() {
    let folder = folder();
    folder.write("text", "These are words, and none of them is magic.\n".repeat(10));
    all_fail(&folder, "text", 3, &["not a filter or table file: it begins with \"These ar\""]);
}

#[test]
fn a_file_cut_off_at_every_length() {
    let folder = folder();
    for name in ["filter", "table"] {
        let whole = folder.read(name);
        for length in 1..whole.len() {
            folder.write("cut", &whole[..length]);
            folder.run("verify cut").fails_saying(3, &["bloomline: cut: truncated"]);
        }
        all_fail(&folder, "cut", 3, &["truncated"]);
    }
}

#[test]
fn a_file_with_bytes_after_its_end() {
    let folder = folder();
    folder.write("long", [folder.read("table"), b"\n".to_vec()].concat());
    all_fail(&folder, "long", 3, &[]);
}

#[test]
fn a_file_of_a_newer_version() {
    let folder = folder();
    let mut bytes = folder.read("table");
    bytes[8] = 2;
    let crc = bloomline::format::crc32(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    folder.write("newer", &bytes);
    let said = "format version 2 is newer than this program, which reads up to 1";
    for reader in ["query {} keys", "inspect {}", "get {} keys"] {
        folder.run(&reader.replace("{}", "newer")).fails(2, &format!("newer: {said}"));
    }
    folder.run("verify newer").fails(3, &format!("newer: {said}"));
}

#[test]
fn a_filter_with_a_damaged_body() {
    let folder = folder();
    let mut bytes = folder.read("filter");
    // The body of the block: past the file's header of 16 bytes and the block's of 48.
    bytes[64] ^= 1;
    folder.write("damaged", &bytes);
    for reader in ["query {} keys", "inspect {}", "verify {}"] {
        let run = folder.run(&reader.replace("{}", "damaged"));
        run.fails_saying(3, &["bloomline: damaged: filter block: damaged body: its CRC32 is 0x"]);
    }
    // Who asks for it gets the filter unchecked.
    assert!(folder.run("query damaged keys --no-verify").code.is_some_and(|code| code <= 1));
}

#[test]
fn a_table_with_a_damaged_data_block_is_never_read_from() {
    let folder = folder();
    let mut bytes = folder.read("table");
    bytes[20] ^= 1;
    folder.write("damaged", &bytes);
    all_fail(&folder, "damaged", 3, &["damaged block of the data at byte 16"]);
    folder
        .run("get damaged keys --no-verify")
        .fails_saying(3, &["damaged: damaged block of the data at byte 16"]);
}

#[test]
fn a_filter_file_is_no_table() {
    folder().run("get filter keys").fails(2, "filter: a filter file, expected a table file (see `query`)");
}

#[test]
fn a_filter_that_was_made_with_a_hasher_of_another_program() {
    let folder = folder();
    let mut bytes = folder.read("filter");
    // The hasher's id lies at 32 of the block, the checksum of its header at 44.
    for (id, needs) in [
        (0x8001_u16, "needs application hasher 0x8001, which its application must supply"),
        (5, "needs rocksdb-xxph3 (id 5), which only the storage engine that it belongs to can supply"),
        (77, "needs unknown hasher id 77: no hasher with that id is known to this version"),
    ] {
        bytes[16 + 32..16 + 34].copy_from_slice(&id.to_le_bytes());
        let crc = bloomline::format::crc32(&bytes[16..16 + 44]);
        bytes[16 + 44..16 + 48].copy_from_slice(&crc.to_le_bytes());
        folder.write("foreign", &bytes);
        for command in ["query foreign keys", "inspect foreign --measure", "merge foreign -o out"] {
            folder.run(command).fails(2, &format!("foreign: filter block: {needs}"));
        }
        // Looking at it takes no hasher.
        let report = folder.run("inspect foreign --json").json();
        assert_eq!((&report["filter"]["hasher_id"], &report["filter"]["keys"]), (&id.into(), &2.into()));
        // Its checksums hold, which is all that verify promises.
        folder.ok("verify foreign");
    }
}
