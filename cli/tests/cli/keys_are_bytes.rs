//! Keys are bytes: any encoding, any length, only the LF taken off.

use crate::support::Folder;

const KEYS: &[u8] =
    b"caf\xe9\n\xff\xfe\x00\x80\n\n  spaces kept \t\nr\xc3\xa9sum\xc3\xa9\ncr kept\r\nlast without LF";

#[test]
fn bytes_go_in_and_come_out_unchanged() {
    let folder = Folder::new();
    folder.write("keys", KEYS);
    let built = folder.run("build keys -o filter --fpp 1e-6 --json").json();
    assert_eq!(built["keys"], 7);
    let run = folder.run("query filter keys");
    assert_eq!((run.code, run.stdout), (Some(0), [KEYS, b"\n"].concat()));
    // Other than by their bytes, no two of these are alike.
    folder.write("near", b"caf\xc3\xa9\n\xff\xfe\x00\n spaces kept\ncr kept\nlast without LF\r\n");
    let run = folder.run("query filter near");
    assert_eq!((run.code, run.text()), (Some(1), ""));
}

#[test]
fn an_empty_line_is_the_empty_key_and_no_line_is_none() {
    let folder = Folder::new();
    folder.write("empty-key", "\n");
    folder.write("none", "");
    folder.write("other", "a\n");
    assert_eq!(folder.run("build empty-key -o filter --json").json()["keys"], 1);
    assert_eq!(folder.ok("query filter empty-key"), "\n");
    assert_eq!(folder.run("query filter none --count --json").json()["queried"], 0);
    folder.ok("build other -o filter --fpp 1e-6");
    assert_eq!(folder.run("query filter empty-key").code, Some(1));
}

#[test]
fn crlf_takes_the_carriage_return_off_too() {
    let folder = Folder::new();
    folder.write("dos", "apple\r\npear\r\nlast\r");
    folder.write("unix", "apple\npear\nlast\n");
    folder.ok("build dos -o filter --fpp 1e-6 --crlf");
    assert_eq!(folder.ok("query filter unix"), "apple\npear\nlast\n");
    assert_eq!(folder.ok("query filter dos --crlf"), "apple\npear\nlast\n");
    assert_eq!(folder.run("query filter dos").code, Some(1));
    folder.write("pairs", "apple\tred\r\npear\tgreen\r\n");
    folder.ok("table pairs -o table --crlf");
    assert_eq!(folder.ok("get table dos --crlf"), "apple\tred\npear\tgreen\n");
}

#[test]
fn json_gives_bytes_that_are_not_utf8_as_hex() {
    let folder = Folder::new();
    folder.write("keys", b"caf\xe9\nna\xc3\xafve \"quoted\"\n");
    folder.ok("build keys -o filter --fpp 1e-6");
    assert_eq!(
        folder.ok("query filter keys --json"),
        "{\"key_hex\":\"636166e9\",\"maybe\":true}\n{\"key\":\"naïve \\\"quoted\\\"\",\"maybe\":true}\n"
    );
    folder.write("pairs", b"caf\xe9\t\x80\nb\tok\n");
    folder.write("both", b"caf\xe9\nb\n");
    folder.ok("table pairs -o table");
    assert_eq!(
        folder.ok("get table both --json"),
        "{\"key_hex\":\"636166e9\",\"value_hex\":\"80\"}\n{\"key\":\"b\",\"value\":\"ok\"}\n"
    );
}
