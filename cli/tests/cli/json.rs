//! The fields of every JSON object, which scripts rely on.

use serde_json::json;

use crate::support::{Folder, fields};

#[test]
fn build_has_exactly_the_fields_of_the_contract() {
    let folder = Folder::with_keys(&["a", "b", "c", "d"]);
    let built = folder.run("build keys -o filter --kind classic --bits-per-key 20 --json").json();
    assert_eq!(fields(&built), ["bits_per_key", "bytes", "expected_fpp", "keys", "kind", "seconds"]);
    assert_eq!((&built["kind"], &built["keys"]), (&json!("classic"), &json!(4)));
    assert_eq!(built["bits_per_key"], 20.0);
    assert_eq!(built["bytes"], folder.read("filter").len());
    let (fpp, seconds) = (built["expected_fpp"].as_f64().unwrap(), built["seconds"].as_f64().unwrap());
    assert!(fpp > 0.0 && fpp < 0.001 && seconds > 0.0 && seconds < 600.0, "{built}");
}

#[test]
fn query_counts_what_it_was_asked() {
    let folder = Folder::with_keys(&["a", "b"]);
    folder.write("mixed", "a\nx\nb\ny\nz\n");
    folder.ok("build keys -o filter --fpp 1e-6");
    let run = folder.run("query filter mixed --count --json");
    assert_eq!(run.json(), json!({"queried": 5, "maybe": 2, "absent": 3}));
    let lines = folder.ok("query filter mixed --absent --json");
    let keys: Vec<_> =
        lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).collect();
    assert_eq!(keys, ["x", "y", "z"].map(|key| json!({"key": key, "maybe": false})));
}

#[test]
fn get_counts_what_the_lookups_cost() {
    let folder = Folder::new();
    folder.write("pairs", "a\t1\nb\t2\n");
    folder.write("mixed", "a\nx\nb\ny\nz\n");
    folder.ok("table pairs -o table --fpp 1e-6");
    let stats =
        json!({"queried": 5, "found": 2, "filter_negatives": 3, "false_positives": 0, "block_reads": 2});
    assert_eq!(folder.run("get table mixed --json --stats").json(), stats);
    let text = folder.ok("get table mixed --stats");
    let numbers: Vec<_> = text.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
    assert_eq!(numbers, ["5", "2", "3", "0", "2"]);
}

#[test]
fn table_says_what_it_wrote() {
    let folder = Folder::new();
    folder.write("pairs", "a\t1\nb\t2\n");
    let wrote = folder.run("table pairs -o table --json").json();
    assert_eq!(
        fields(&wrote),
        ["bits_per_key", "bytes", "entries", "expected_fpp", "filter_bytes", "seconds"]
    );
    assert_eq!((&wrote["entries"], &wrote["filter_bytes"]), (&json!(2), &json!(48 + 64)));
    assert_eq!(wrote["bytes"], folder.read("table").len());
}

#[test]
fn verify_names_the_file() {
    let folder = Folder::with_keys(&["a"]);
    folder.ok("build keys -o filter");
    let bytes = folder.read("filter").len();
    assert_eq!(
        folder.run("verify filter --json").json(),
        json!({"file": "filter", "bytes": bytes, "valid": true})
    );
}
