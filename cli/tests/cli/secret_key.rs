//! siphash-2-4: its key comes from a file, is needed again to read, and never shows.

use crate::support::Folder;

const RAW: &[u8; 16] = b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
const HEX: &str = "000102030405060708090A0B0C0D0E0F\n";
const BUILD: &str = "build keys -o filter --hasher siphash-2-4";

fn folder() -> Folder {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("raw", RAW);
    folder.write("hex", HEX);
    folder.write("other", [7; 16]);
    folder.ok(&format!("{BUILD} --key-file raw"));
    folder
}

#[test]
fn sixteen_bytes_and_their_digits_are_the_same_key() {
    let folder = folder();
    let by_bytes = folder.read("filter");
    folder.ok(&format!("{BUILD} --key-file hex"));
    assert!(folder.read("filter") == by_bytes);
    for key in ["raw", "hex"] {
        assert_eq!(folder.ok(&format!("query filter keys --key-file {key}")), "apple\npear\n");
        folder.ok(&format!("inspect filter --key-file {key}"));
    }
    assert!(!by_bytes.windows(16).any(|bytes| bytes == RAW), "the key is in the file");
}

#[test]
fn a_missing_or_wrong_key_is_named() {
    let folder = folder();
    for command in ["query filter keys", "inspect filter --measure"] {
        folder
            .run(command)
            .fails(2, "filter: filter block: needs the secret key of siphash-2-4 (id 4), and none was given");
    }
    for command in ["query filter keys", "inspect filter", "inspect filter --measure"] {
        folder
            .run(&format!("{command} --key-file other"))
            .fails_saying(2, &["filter: filter block: needs another secret key of siphash-2-4 (id 4)"]);
    }
    // Header, fill and checksums need no key.
    let text = folder.ok("inspect filter");
    assert!(text.contains("\nhasher          siphash-2-4 (id 4), seed 0, check 0x"), "{text}");
    assert_eq!(text, folder.ok("inspect filter --key-file raw"));
    folder.ok("verify filter");
    folder.ok("verify filter --key-file raw");
}

#[test]
fn key_files_that_hold_no_key() {
    let folder = folder();
    folder.run(BUILD).fails(2, "--hasher: siphash-2-4 needs a secret key, expected --key-file");
    folder.run(&format!("{BUILD} --key-file missing")).fails(2, "missing: no such file");
    for (contents, bytes) in [("", 0), ("0123456789abcde", 15), ("secret\n", 7), (&"x".repeat(32), 32)] {
        folder.write("bad", contents);
        let run = folder.run(&format!("{BUILD} --key-file bad"));
        run.fails(
            2,
            &format!("bad: not a secret key: expected 16 bytes or 32 hexadecimal digits, got {bytes} bytes"),
        );
    }
    folder
        .run("build keys -o out --key-file raw")
        .fails(2, "raw: a secret key is of no use to xxh3-64 (id 1), expected --hasher siphash-2-4");
    folder
        .run(&format!("{BUILD} --key-file raw --seed 3"))
        .fails(2, "--seed: seed 3 is out of range for siphash-2-4 (id 4): the largest is 0");
}

#[test]
fn a_table_with_a_secret_key_is_read_with_it_only() {
    let folder = folder();
    folder.write("pairs", "apple\tred\n");
    folder.ok("table pairs -o table --hasher siphash-2-4 --key-file raw");
    assert_eq!(folder.ok("get table keys --key-file hex"), "apple\tred\n");
    folder
        .run("get table keys")
        .fails(2, "table: filter block: needs the secret key of siphash-2-4 (id 4), and none was given");
    folder.ok("verify table");
    folder.ok("verify table --key-file hex");
}

/// `verify` said "valid" of a file whatever the key that was given for it.
#[test]
fn verify_refuses_a_wrong_key_and_needs_none() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("secret", [7; 16]);
    folder.write("other", [8; 16]);
    folder.ok("build keys -o filter --hasher siphash-2-4 --key-file secret");
    folder.ok("verify filter");
    folder.ok("verify filter --key-file secret");
    folder.run("verify filter --key-file other").fails_saying(2, &["siphash-2-4"]);
}

/// A key written by `echo` has a byte too many, and a file that is no key was said to have 256 bytes.
#[test]
fn what_is_no_key_is_told_by_its_length() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("line", b"0123456789abcdef\n");
    folder.write("long", [b'x'; 5000]);
    let build = "build keys -o filter --hasher siphash-2-4 --key-file";
    folder.run(&format!("{build} line")).fails_saying(2, &["got 17 bytes, of which the last is a line end"]);
    folder.run(&format!("{build} long")).fails_saying(2, &["got 256 bytes or more"]);
}

/// `-` is standard input where keys are read; as a file's name it made and read a file called "-".
#[test]
fn a_dash_is_no_file() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o filter");
    for command in [
        "build keys -o -",
        "query - keys",
        "inspect -",
        "verify -",
        "get - keys",
        "build keys -o filter --hasher siphash-2-4 --key-file -",
    ] {
        folder.run(command).fails(2, "-: expected a file (./- for one of that name)");
    }
    assert_eq!(folder.names(), ["filter", "keys"]);
}
