//! The demo: real words, real measurements, and checks that fail the run.

use crate::support::{Folder, fields};

#[test]
fn the_demo_finds_every_word_and_measures_what_it_expects() {
    let folder = Folder::new();
    let report = folder.run("demo --absent-keys 100000 --json").json();
    assert_eq!(
        fields(&report),
        [
            "absent_keys",
            "bits_per_key",
            "expected_fpp",
            "filter_bytes",
            "lookups",
            "measured_fpp",
            "processes",
            "table_bytes",
            "words",
        ]
    );
    assert_eq!((&report["words"], &report["absent_keys"]), (&104_334.into(), &100_000.into()));
    let bits_per_key = report["bits_per_key"].as_f64().unwrap();
    assert!((9.8..9.95).contains(&bits_per_key), "{bits_per_key}");
    let (expected, measured) =
        (report["expected_fpp"].as_f64().unwrap(), report["measured_fpp"].as_f64().unwrap());
    assert!((expected - 0.01).abs() < 0.0005 && (measured - expected).abs() < 0.0016, "{report}");

    let lookups = report["lookups"].as_array().unwrap();
    let row = |index: usize, name: &str| lookups[index][name].as_u64().unwrap();
    // Words with and without the filter, then absent keys.
    for index in [0, 1] {
        assert_eq!((row(index, "found"), row(index, "block_reads")), (104_334, 104_334));
    }
    assert_eq!((row(2, "found"), row(3, "found")), (0, 0));
    assert!(row(2, "block_reads") <= row(2, "false_positives"));
    assert!(row(2, "block_reads") < 1200 && row(3, "block_reads") > 99_000, "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn four_processes_hold_one_copy() {
    let report = Folder::new().run("demo --absent-keys 10000 --json").json();
    let processes = report["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 4);
    let bytes = |name: &str| processes.iter().map(|process| process[name].as_u64().unwrap()).sum::<u64>();
    let table = report["table_bytes"].as_u64().unwrap();
    assert!(bytes("rss") > 3 * table && bytes("pss") < table * 5 / 4, "{report}");
}

#[test]
fn the_text_shows_the_table_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let output =
        folder.command(["demo", "--absent-keys", "10000"]).env("TMPDIR", folder.path(".")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in ["104,334 English words", "block reads", "bits per key", "measured", "absent keys  without"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
