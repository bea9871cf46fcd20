//! `--kind compact`: built once from all keys, smaller than the others.

use serde_json::json;

use crate::support::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", (0..50_000).map(|number| format!("key {number}\n")).collect::<String>());
    folder
}

#[test]
fn it_knows_its_keys_and_is_as_good_and_as_small_as_planned() {
    let folder = folder();
    let built = folder.run("build keys -o filter --kind compact --json").json();
    assert_eq!((&built["kind"], &built["keys"]), (&json!("compact"), &json!(50_000)));
    assert_eq!(built["expected_fpp"], 1.0 / 128.0);
    let bits = built["bits_per_key"].as_f64().unwrap();
    assert!((7.2..7.5).contains(&bits), "{bits}");
    assert_eq!(built["bytes"], folder.read("filter").len());
    assert_eq!(folder.ok("query filter keys --count"), "50000\n");

    let filter = folder.run("inspect filter --measure --json").json()["filter"].clone();
    assert_eq!(filter["compact"]["fingerprint_bits"], 7);
    assert!((3..=8).contains(&filter["compact"]["layers"].as_u64().unwrap()), "{filter}");
    for name in ["probes", "fill", "scalable"] {
        assert!(filter[name].is_null(), "{filter}");
    }
    assert_eq!((&filter["keys"], &filter["expected_fpp"]), (&json!(50_000), &json!(1.0 / 128.0)));
    // Five deviations of a sample of a million.
    let measured = filter["measured_fpp"].as_f64().unwrap();
    assert!((measured - 1.0 / 128.0).abs() < 0.00045, "{measured}");
    let text = folder.ok("inspect filter");
    for part in
        ["kind            compact, 7 fingerprint bits, ", "expected rate   0.781%, whatever the keys\n"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn the_file_depends_on_nothing_but_the_keys() {
    let folder = folder();
    folder.ok("build keys -o one --kind compact");
    folder.ok("build keys -o two --kind compact --threads 3");
    assert!(folder.read("one") == folder.read("two"));
    folder.run_with_input("build - -o piped --kind compact", &folder.read("keys")).succeeds();
    assert!(folder.read("one") == folder.read("piped"));
}

#[test]
fn repeated_keys_are_one_key() {
    let folder = Folder::new();
    folder.write("keys", "pear\napple\n".repeat(1000));
    let built = folder.run("build keys -o filter --kind compact --json").json();
    assert_eq!(built["keys"], 2000);
    assert_eq!(folder.run("inspect filter --json").json()["filter"]["keys"], 2);
}

#[test]
fn the_load_trades_space_for_second_lines() {
    let folder = folder();
    let mut figures = Vec::new();
    for load in [80, 110, 130] {
        let built =
            folder.run(&format!("build keys -o filter --kind compact --compact-load {load} --json")).json();
        assert_eq!(folder.ok("query filter keys --count"), "50000\n");
        let plans = folder.run(&format!("plan --keys 50000 --fpp 0.01 --compact-load {load} --json")).json();
        let plan = &plans["plans"][2];
        let (planned, got) =
            (plan["bits_per_key"].as_f64().unwrap(), built["bits_per_key"].as_f64().unwrap());
        assert!((planned / got - 1.0).abs() < 0.01, "{load}: {planned} {got}");
        figures.push((got, plan["second_lines"].as_f64().unwrap()));
    }
    assert!(figures.is_sorted_by(|a, b| a.0 > b.0 && a.1 < b.1), "{figures:?}");
}

#[test]
fn a_budget_of_bits_is_kept_at_every_load() {
    let folder = folder();
    for load in [80, 130] {
        let flags = format!("--kind compact --bits-per-key 10 --compact-load {load}");
        let built = folder.run(&format!("build keys -o filter {flags} --json")).json();
        let bits = built["bits_per_key"].as_f64().unwrap();
        assert!((8.5..10.02).contains(&bits), "{load}: {bits}");
    }
}

#[test]
fn a_table_with_a_compact_filter() {
    let folder = Folder::with_keys(&["apple", "plum"]);
    folder.write("pairs", "pear\tgreen\napple\tred\n");
    folder.ok("table pairs -o table --kind compact");
    assert_eq!(folder.ok("get table keys"), "apple\tred\n");
    assert_eq!(folder.run("inspect table --json").json()["filter"]["kind"], "compact");
    folder.ok("verify table");
}

#[test]
fn what_a_compact_filter_can_not_have() {
    let folder = folder();
    for (flags, says) in [
        (
            "--fpp 1e-6",
            "--fpp: a false-positive rate of 1e-6 is out of reach for a compact filter: the lowest is 1.5259e-5",
        ),
        ("--bits-per-key 4", "--bits-per-key: a compact filter takes at least 4.14 bits per key here, got 4"),
        ("--compact-load 79", "--compact-load: the load must be 80 to 130 keys per hundred slots, got 79"),
        ("--compact-load 131", "--compact-load: the load must be 80 to 130 keys per hundred slots, got 131"),
        ("--capacity 10", "--capacity: a compact filter has the size of its keys"),
        ("--growth 2", "--growth: of use to --kind scalable only"),
    ] {
        folder.run(&format!("build keys -o filter --kind compact {flags}")).fails(2, says);
    }
    let says = "--compact-load: of use to --kind compact only";
    for command in [
        "build keys -o out",
        "build keys -o out --kind classic",
        "build keys -o out --kind scalable",
        "table keys -o out",
    ] {
        folder.run(&format!("{command} --compact-load 100")).fails(2, says);
    }
    assert_eq!(folder.names(), ["keys"]);
}
