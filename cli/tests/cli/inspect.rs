//! What `inspect` tells.

use crate::support::{Folder, fields};

#[test]
fn a_filter_file() {
    let folder = Folder::new();
    folder.write("keys", (0..20_000).map(|number| format!("key {number}\n")).collect::<String>());
    folder.ok("build keys -o filter --bits-per-key 10 --seed 42");
    let report = folder.run("inspect filter --measure=200000 --json").json();
    assert_eq!(fields(&report), ["bytes", "file", "filter", "filter_error", "table", "type", "writer"]);
    assert_eq!(report["type"], "filter");
    assert!(report["table"].is_null() && report["filter_error"].is_null());
    let filter = &report["filter"];
    assert_eq!(
        fields(filter),
        [
            "bits",
            "bits_per_key",
            "compact",
            "expected_fpp",
            "expected_fpp_from_fill",
            "fill",
            "hasher",
            "hasher_check",
            "hasher_id",
            "keys",
            "kind",
            "measured_fpp",
            "measured_with",
            "probes",
            "scalable",
            "seed",
        ]
    );
    let number = |name: &str| filter[name].as_f64().unwrap();
    assert_eq!((number("seed"), number("hasher_id"), number("probes")), (42.0, 1.0, 6.0));
    assert_eq!(number("bits"), 200_192.0);
    assert!((19_900.0..=20_000.0).contains(&number("keys")));
    assert!((0.4..0.5).contains(&number("fill")));
    // Theory gives 0.9535% at 10 bits per key.
    assert!((number("expected_fpp_from_fill") - 0.0095).abs() < 0.0003);
    assert!((number("expected_fpp") - 0.0095).abs() < 0.0003);
    // Five deviations of a sample of 200,000.
    assert!((number("measured_fpp") - number("expected_fpp_from_fill")).abs() < 0.0011);
}

#[test]
fn repeated_keys_show_in_count_and_fill() {
    let folder = Folder::new();
    // Sized for 8,000 keys, filled with one.
    folder.write("keys", "again\n".repeat(8000));
    folder.ok("build keys -o filter");
    let filter = folder.run("inspect filter --json").json()["filter"].clone();
    assert_eq!(filter["keys"], 1);
    assert!(filter["expected_fpp_from_fill"].as_f64().unwrap() < 1e-9);
}

#[test]
fn a_table_file() {
    let folder = Folder::new();
    folder.write("pairs", b"pear\tgreen\napple\tred\n\xff\tlast\n");
    folder.ok("table pairs -o table");
    let report = folder.run("inspect table --json").json();
    assert_eq!(report["type"], "table");
    assert_eq!(
        report["table"],
        serde_json::json!({
            "entries": 3, "key_bytes": 10, "value_bytes": 12, "first_key": "apple", "last_key_hex": "ff"
        })
    );
    let text = folder.ok("inspect table");
    for line in ["entries         3\n", "first key       \"apple\"\n", "last key        \"\\xff\"\n"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn the_text_has_what_the_json_has() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o filter");
    let text = folder.ok("inspect filter --measure");
    let names: Vec<_> = text.lines().map(|line| line[..16].trim()).collect();
    assert_eq!(
        names,
        ["file", "type", "size", "kind", "hasher", "keys", "bits", "fill", "expected rate", "measured rate"]
    );
    assert!(text.contains("of 1,000,000 random keys"));
}

#[test]
fn a_damaged_filter_of_a_table_is_called_damaged_and_not_absent() {
    let folder = Folder::new();
    folder.write("pairs", "apple\tred\n");
    folder.ok("table pairs -o table");
    let mut bytes = folder.read("table");
    let block = bytes.windows(4).position(|bytes| bytes == b"\x89BLF").unwrap();
    bytes[block + 20] ^= 1;
    folder.write("damaged", &bytes);
    folder
        .run("inspect damaged")
        .fails_saying(3, &["damaged: filter block: damaged header: its CRC32 is 0x"]);
    let report = folder.run("inspect damaged --no-verify --json").json();
    assert!(report["filter"].is_null() && report["table"]["entries"] == 1);
    assert!(report["filter_error"].as_str().unwrap().starts_with("damaged header: its CRC32 is 0x"));
    let text = folder.ok("inspect damaged --no-verify");
    assert!(text.contains("\nfilter          damaged header: its CRC32 is 0x"), "{text}");
    // Asking it is another matter; looking keys up goes by the index.
    folder.write("keys", "apple\n");
    folder.run("query damaged keys --no-verify").fails_saying(3, &["damaged: filter block: damaged header"]);
    assert_eq!(folder.ok("get damaged keys --no-verify"), "apple\tred\n");
}

/// `inspect` once printed what a file says of its writer as it was, and so let a file clear the screen, or worse.
#[test]
fn nothing_in_a_file_commands_the_terminal() {
    let folder = Folder::new();
    folder.write("pairs", "\u{1b}]0;owned\u{7}\tvalue\n\u{9b}2J\u{202e}\tvalue\n");
    folder.ok("table pairs -o table");
    let mut bytes = folder.read("table");
    let writer = format!("bloomline {}", env!("CARGO_PKG_VERSION"));
    let at = bytes.windows(writer.len()).rposition(|bytes| bytes == writer.as_bytes()).unwrap();
    bytes[at..at + 8].copy_from_slice(b"\x1b[2J\r\n\xc2\x9b");
    seal_properties(&mut bytes);
    folder.write("table", &bytes);
    let text = folder.ok("inspect table");
    assert!(text.contains(r"written by \u{1b}[2J\u{d}\u{a}\u{9b}e "), "{text}");
    assert!(text.contains(r#"first key       "\u{1b}]0;owned\u{7}""#), "{text}");
    assert!(text.contains(r#"last key        "\u{9b}2J\u{202e}""#), "{text}");
    let json = folder.ok("inspect table --json");
    for text in [&text, &json] {
        let hidden = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
        assert!(!text.contains(hidden), "{text:?}");
    }
    // Programs get what is there.
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["writer"].as_str().unwrap().starts_with("\u{1b}[2J\r\n\u{9b}e "), "{json}");
    assert_eq!(json["table"]["last_key"], "\u{9b}2J\u{202e}");
}

/// Makes the checksum of the properties right, which are the last block before the footer.
fn seal_properties(file: &mut [u8]) {
    const FOOTER_BYTES: usize = 64;
    const PROPERTIES_AT: usize = 32;
    let footer = file.len() - FOOTER_BYTES;
    let offset = file[footer + PROPERTIES_AT..][..8].try_into().unwrap();
    let offset = usize::try_from(u64::from_le_bytes(offset)).unwrap();
    let crc = crc32(&file[offset..footer - 4]);
    file[footer - 4..footer].copy_from_slice(&crc.to_le_bytes());
}

/// The CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ (0xEDB8_8320 * (crc & 1)))
    })
}
