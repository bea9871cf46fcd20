//! What `sst` tells of the filters in RocksDB's files, which RocksDB writes here.

use std::fs;
use std::path::Path;

use bloomline_rocksdb::FilterPolicy;
use bloomline_rocksdb::rocksdb::{BlockBasedIndexType, BlockBasedOptions, DB, Options};
use serde_json::{Value, json};

use crate::support::{Folder, fields};

const KEYS: u64 = 20_000;

/// A database of one table file with the filter of this policy, or none.
pub(crate) fn database(path: &Path, policy: Option<&str>, partitioned: bool) {
    let mut options = Options::default();
    options.create_if_missing(true);
    let mut table = BlockBasedOptions::default();
    if partitioned {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
    }
    options.set_block_based_table_factory(&table);
    if let Some(policy) = policy {
        let policy: FilterPolicy = policy.parse().unwrap();
        policy.install(&mut options).unwrap();
    }
    let db = DB::open(&options, path).unwrap();
    for number in 0..KEYS {
        db.put(format!("key {number}"), b"").unwrap();
    }
    db.flush().unwrap();
}

/// The report on the only file of a new database.
fn report(policy: Option<&str>, partitioned: bool) -> (Value, String) {
    let folder = Folder::new();
    database(&folder.path("db"), policy, partitioned);
    let mut report = folder.run("sst db --json").json();
    assert_eq!(fields(&report), ["files"]);
    let file = report["files"][0].take();
    assert_eq!(report["files"].as_array().unwrap().len(), 1);
    assert_eq!(fields(&file), ["entries", "error", "file", "filter", "policy"]);
    let name = file["file"].as_str().unwrap().to_owned();
    assert!(name.starts_with("db/") && name.ends_with(".sst"), "{name}");
    assert_eq!((&file["entries"], &file["error"]), (&json!(KEYS), &Value::Null));
    let text = folder.ok("sst db");
    assert_eq!(folder.ok(&format!("sst {name}")), text, "the file by itself");
    let [heading, line] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(
        heading.split_whitespace().collect::<Vec<_>>(),
        ["file", "keys", "bits/key", "fill", "rate", "size", "filter"]
    );
    (file, line.strip_prefix(&name).unwrap().trim_start().to_owned())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_blocked_filter() {
    let (file, line) = report(Some("blocked:10"), false);
    let filter = &file["filter"];
    assert_eq!(
        fields(filter),
        ["bits_per_key", "bytes", "expected_fpp", "fill", "keys", "kinds", "partitioned"]
    );
    assert_eq!(file["policy"], "bloomline");
    assert_eq!(
        filter["kinds"],
        json!([{"kind": "blocked", "probes": 6, "fingerprint_bits": null, "blocks": 1}])
    );
    // 391 lines and the trailer.
    assert_eq!((&filter["keys"], &filter["bytes"]), (&json!(KEYS), &json!(391 * 64 + 5)));
    assert_eq!(filter["partitioned"], false);
    assert!((10.0..10.1).contains(&number(&filter["bits_per_key"])));
    // 1 − e^(−6/10) of the bits.
    assert!((0.44..0.46).contains(&number(&filter["fill"])));
    assert!((0.008..0.011).contains(&number(&filter["expected_fpp"])));
    assert!(
        line.starts_with("20,000     10.01  4") && line.ends_with("24.44 KiB  blocked, 6 probes, full"),
        "{line}"
    );
}

#[test]
fn a_compact_filter() {
    let (file, line) = report(Some("compact:0.01"), false);
    let filter = &file["filter"];
    assert_eq!(
        filter["kinds"],
        json!([{"kind": "compact", "probes": null, "fingerprint_bits": 7.0, "blocks": 1}])
    );
    assert_eq!((&filter["fill"], number(&filter["expected_fpp"])), (&Value::Null, 1.0 / 128.0));
    assert!((7.2..7.6).contains(&number(&filter["bits_per_key"])));
    assert!(line.contains("  -  0.781%  ") && line.ends_with("  compact, 7 bits, full"), "{line}");
}

/// The last partition has the keys that were left, often so few that their filter is a blocked one.
#[test]
fn partitions() {
    let (file, line) = report(Some("compact:0.01"), true);
    let filter = &file["filter"];
    assert_eq!(filter["partitioned"], true);
    let kinds = filter["kinds"].as_array().unwrap();
    let blocks = kinds[0]["blocks"].as_u64().unwrap();
    assert!(kinds[0]["kind"] == "compact" && blocks > 3, "{filter}");
    assert!(line.contains(&format!("  compact, 7 bits, {blocks} partitions")), "{line}");
}

#[test]
fn filters_of_rocksdb_itself() {
    let (file, line) = report(Some("rocksdb-ribbon:10"), false);
    let filter = &file["filter"];
    let kind = &filter["kinds"][0];
    assert_eq!(
        (&kind["kind"], &kind["probes"], &filter["fill"]),
        (&json!("ribbon"), &Value::Null, &Value::Null)
    );
    assert!((6.0..7.5).contains(&number(&kind["fingerprint_bits"])), "{kind}");
    assert!((0.008..0.012).contains(&number(&filter["expected_fpp"])));
    assert!(line.contains("  ribbon, 6.") || line.contains("  ribbon, 7"), "{line}");

    let (file, line) = report(None, false);
    assert!(file["filter"].is_null() && file["policy"] == "", "{file}");
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["-", "-", "-", "-", "-", "none"]);
}

#[test]
fn a_damaged_file_is_told_and_the_others_are_shown() {
    let folder = Folder::new();
    database(&folder.path("db"), Some("blocked:10"), false);
    let sound = folder.run("sst db --json").json()["files"][0].clone();
    let name = sound["file"].as_str().unwrap();
    let mut bytes = folder.read(name);
    // The filter begins behind the data, and the file ends with what says where.
    let middle = bytes.len() - 10_000;
    bytes[middle] ^= 1;
    folder.write("db/000001.sst", &bytes);
    let run = folder.run("sst db --json");
    assert_eq!(run.code, Some(3));
    let checksum = "bloomline: db/000001.sst: Corruption: block checksum mismatch";
    assert!(run.stderr.starts_with(checksum) && run.stderr.lines().count() == 1, "{run:?}");
    let files = run.json()["files"].clone();
    assert_eq!(files[1], sound);
    assert!(files[0]["error"].as_str().unwrap().starts_with("Corruption: block checksum"), "{files}");
    assert!(files[0]["filter"].is_null() && files[0]["entries"].is_null(), "{files}");
    let run = folder.run("sst db");
    assert_eq!(run.code, Some(3));
    let lines: Vec<_> = run.text().lines().collect();
    assert!(lines[1].contains("error: Corruption: block checksum mismatch"), "{lines:?}");
    assert!(lines[2].ends_with("blocked, 6 probes, full"), "{lines:?}");
    // Cut anywhere, it is no table file.
    for length in [0, 1, 60, bytes.len() / 2, bytes.len() - 1] {
        folder.write("db/000001.sst", &bytes[..length]);
        let run = folder.run("sst db/000001.sst");
        assert!(run.code == Some(3) && run.stderr.contains("000001.sst: Corruption: "), "{length}: {run:?}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_of_use() {
    let folder = Folder::new();
    folder.run("sst nothing").fails(2, "nothing: no such file");
    folder.run("sst -").fails(2, "-: expected a file (./- for one of that name)");
    fs::create_dir(folder.path("empty")).unwrap();
    folder.run("sst empty").fails(2, "empty: there are no .sst files in this folder");
    folder.run("sst /dev/null").fails(2, "/dev/null: is neither a regular file nor a folder");
    let run = folder.run("sst");
    assert!(run.code == Some(2) && run.stderr.contains("<PATH>"), "{run:?}");
}

/// The files of an open database come and go: a name that leads nowhere when it is read was listed a moment too early.
#[test]
fn a_file_that_a_compaction_has_removed_is_passed_over() {
    let folder = Folder::new();
    database(&folder.path("db"), None, false);
    let before = folder.ok("sst db");
    std::os::unix::fs::symlink(folder.path("gone"), folder.path("db/000001.sst")).unwrap();
    assert_eq!(folder.ok("sst db"), before);
}
