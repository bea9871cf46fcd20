//! `merge`: the union of filter files, and every reason to refuse one.

use serde_json::json;

use crate::support::{Folder, fields};

/// Keys from `start` to `end` as a file of that name.
fn keys(folder: &Folder, name: &str, start: u32, end: u32) {
    folder.write(name, (start..end).map(|number| format!("key {number}\n")).collect::<String>());
}

/// The lines of a filter file: past the file's header of 16 bytes and the block's of 48.
fn body(folder: &Folder, name: &str, bits: usize) -> Vec<u8> {
    folder.read(name)[64..64 + bits.div_ceil(512) * 64].to_vec()
}

fn bits(folder: &Folder, name: &str) -> usize {
    let bits = folder.run(&format!("inspect {name} --json")).json()["filter"]["bits"].as_u64().unwrap();
    usize::try_from(bits).unwrap()
}

#[test]
fn three_shards_make_the_filter_of_all_keys() {
    let folder = Folder::new();
    keys(&folder, "all", 0, 30_000);
    for kind in ["blocked", "classic"] {
        for (shard, start) in [("a", 0), ("b", 8000), ("c", 20_000)] {
            // They overlap: 0 to 12,000, 8,000 to 20,000, 20,000 to 30,000.
            keys(&folder, "shard", start, (start + 12_000).min(30_000));
            folder.ok(&format!("build shard -o {shard} --kind {kind} --capacity 30000"));
        }
        let merged = folder.run("merge a b c -o union --json").json();
        assert_eq!(fields(&merged), ["bytes", "expected_fpp", "files", "keys", "seconds"]);
        assert_eq!(merged["files"], 3);
        assert_eq!(merged["bytes"], folder.read("union").len());
        let estimate = merged["keys"].as_f64().unwrap();
        assert!((estimate / 30_000.0 - 1.0).abs() < 0.015, "{kind}: {estimate}");
        let rate = merged["expected_fpp"].as_f64().unwrap();
        assert!((0.0085..0.0105).contains(&rate), "{kind}: {rate}");

        folder.ok(&format!("build all -o one --kind {kind} --capacity 30000"));
        let bits = bits(&folder, "one");
        assert!(body(&folder, "union", bits) == body(&folder, "one", bits), "{kind}");
        assert_eq!(folder.ok("query union all --count"), "30000\n");
        folder.ok("verify union");
    }
}

#[test]
fn scalable_filters_with_as_many_layers() {
    let folder = Folder::new();
    for (name, start) in [("a", 0), ("b", 5000), ("short", 0)] {
        keys(&folder, name, start, start + if name == "short" { 10 } else { 5000 });
        folder.ok(&format!("build {name} -o {name}.blf --kind scalable --first-capacity 1000"));
    }
    let said = folder.ok("merge a.blf b.blf -o union");
    assert!(said.starts_with("union: 2 files, about "), "{said}");
    for name in ["a", "b"] {
        assert_eq!(folder.ok(&format!("query union {name} --count")), "5000\n");
    }
    folder
        .run("merge a.blf short.blf -o out")
        .fails(2, "a.blf and short.blf: can't merge: `layers` differs, 3 and 1");
    folder.ok("build a -o other --kind scalable --first-capacity 2000");
    folder
        .run("merge a.blf other -o out")
        .fails(2, "a.blf and other: can't merge: `first capacity` differs, 1000 and 2000");
}

#[test]
fn a_refusal_names_the_field_both_values_and_both_files() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("secret", [1; 16]);
    folder.write("other secret", [2; 16]);
    let build = |name: &str, flags: &str| {
        folder.ok(&format!("build keys -o {name} {flags}"));
    };
    build("a", "--capacity 1000");
    build("larger", "--capacity 2000");
    build("probes", "--capacity 766 --fpp 0.001");
    build("classic", "--capacity 1000 --kind classic");
    build("murmur", "--capacity 1000 --hasher murmur3-x64-128");
    build("seeded", "--capacity 1000 --seed 7");
    for (name, says) in [
        ("larger", "`bits` differs, 10240 and 19968"),
        ("classic", "`kind` differs, blocked and classic"),
        ("murmur", "`hasher` differs, xxh3-64 (id 1) and murmur3-x64-128 (id 2)"),
        ("seeded", "`seed` differs, 0 and 7"),
    ] {
        let run = folder.run(&format!("merge a a {name} -o out"));
        run.fails(2, &format!("a and {name}: can't merge: {says}"));
    }
    folder.ok("build keys -o keyed --capacity 1000 --hasher siphash-2-4 --key-file secret");
    folder
        .run("merge keyed -o out")
        .fails(2, "keyed: filter block: needs the secret key of siphash-2-4 (id 4), and none was given");
    folder.ok("merge keyed keyed -o out --key-file secret");
    assert_eq!(folder.ok("query out keys --key-file secret"), "apple\npear\n");
}

#[test]
fn probes_that_differ_are_refused() {
    let folder = Folder::with_keys(&["apple"]);
    // Both of 20 lines: with 10 bits for each of 1,024 keys and with 20 for each of 512.
    folder.ok("build keys -o a --capacity 1024 --bits-per-key 10");
    folder.ok("build keys -o b --capacity 512 --bits-per-key 20");
    folder.run("merge a b -o out").fails(2, "a and b: can't merge: `probes` differs, 6 and 11");
}

#[test]
fn what_can_not_be_merged_at_all() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("pairs", "apple\tred\n");
    folder.ok("build keys -o filter");
    folder.ok("build keys -o compact --kind compact");
    folder.ok("table pairs -o table");
    let compact = "compact: a compact filter can't be merged: build one from all keys instead";
    for files in ["compact", "compact compact", "filter compact"] {
        folder.run(&format!("merge {files} -o out")).fails(2, compact);
    }
    folder.run("merge filter table -o out").fails(
        2,
        "table: a table file, expected filter files: the filter of a table is sized for its entries",
    );
    folder.run("merge filter missing -o out").fails_saying(2, &["missing: no such file"]);
    folder.run("merge filter keys -o out").fails_saying(3, &["keys: not a filter or table file"]);
    assert!(!folder.path("out").exists());
    assert_eq!(folder.run("merge -o out").code, Some(2));
}

#[test]
fn a_damaged_file_does_not_spoil_the_union() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.ok("build keys -o filter");
    let mut bytes = folder.read("filter");
    bytes[70] ^= 1;
    folder.write("damaged", &bytes);
    folder.run("merge filter damaged -o out").fails_saying(3, &["damaged: filter block: damaged body"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn one_file_and_files_without_keys() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("nothing", "");
    folder.ok("build keys -o filter");
    folder.ok("build nothing -o empty");
    folder.ok("build nothing -o classic --kind classic");
    for files in ["filter", "empty filter", "filter empty empty"] {
        folder.ok(&format!("merge {files} -o out"));
        assert!(folder.read("out") == folder.read("filter"), "{files}");
    }
    let merged = folder.run("merge empty empty -o out --json").json();
    assert_eq!((&merged["keys"], &merged["expected_fpp"]), (&json!(0), &json!(0.0)));
    assert_eq!(folder.ok("query out keys --absent"), "apple\npear\n");
    folder
        .run("merge empty filter classic -o out")
        .fails(2, "filter and classic: can't merge: `kind` differs, blocked and classic");
}

#[test]
fn no_input_is_overwritten() {
    let folder = Folder::with_keys(&["apple"]);
    folder.ok("build keys -o a");
    folder.ok("build keys -o b");
    folder.run("merge a b -o b").fails(2, "b: is the input, and would be overwritten");
    folder.run("merge a b -o missing/out").fails(2, "missing/out: there is no folder missing to write it to");
}
