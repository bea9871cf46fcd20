//! Tables: lines in any order in, values out.

use crate::support::Folder;

#[test]
fn pairs_in_any_order_are_found() {
    let folder = Folder::new();
    folder.write("pairs", "pear\tgreen\napple\tred\n\tno key\nempty\t\ntabs\ta\tb\t\n");
    folder.write("keys", "tabs\nplum\napple\n\npear\nempty\napple\n");
    folder.ok("table pairs -o table");
    assert_eq!(
        folder.ok("get table keys"),
        "tabs\ta\tb\t\napple\tred\n\tno key\npear\tgreen\nempty\t\napple\tred\n"
    );
    folder.write("none", "plum\ncherry\n");
    let run = folder.run("get table none");
    assert_eq!((run.code, run.text(), run.stderr.as_str()), (Some(1), "", ""));
    assert_eq!(folder.run("get table none --stats --json").code, Some(1));
}

/// Pairs that take several times the memory that is allowed make the table that they make in memory.
#[test]
fn more_pairs_than_memory_make_the_same_table() {
    let folder = Folder::new();
    let pair = |number: u64| {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("{key:016x}\tvalue {number}\n")
    };
    folder.write("pairs", (0..100_000).map(pair).collect::<String>());
    folder.ok("table pairs -o in-memory");
    folder.ok("table pairs -o spilled --memory 1");
    assert!(folder.read("in-memory") == folder.read("spilled"));
    assert_eq!(folder.names(), ["in-memory", "pairs", "spilled"]);
    folder
        .write("keys", (0..100_000).map(|number| pair(number)[..17].replace('\t', "\n")).collect::<String>());
    assert_eq!(folder.ok("get spilled keys"), (0..100_000).map(pair).collect::<String>());
}

#[test]
fn a_line_without_tab_is_named_by_its_number() {
    let folder = Folder::new();
    folder.write("pairs", format!("{}bare\n", "k\tv\n".repeat(70_000)));
    folder.run("table pairs -o table").fails(2, "pairs: line 70001 has no TAB, expected key, TAB, value");
    folder
        .run_with_input("table - -o table", b"\n")
        .fails(2, "standard input: line 1 has no TAB, expected key, TAB, value");
}

#[test]
fn a_key_that_comes_twice_is_refused_or_the_last_kept() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("pairs", "apple\tred\npear\tgreen\napple\tyellow\napple\tbrown\n");
    folder.run("table pairs -o table").fails(
        2,
        "pairs: the key \"apple\" is on line 1 and on line 3, expected each key once (or --duplicates last)",
    );
    folder.ok("table pairs -o table --duplicates last");
    assert_eq!(folder.ok("get table keys"), "apple\tbrown\npear\tgreen\n");
    folder.write("odd", b"\t1\n\xff\t2\n\xff\t3\n");
    folder.run("table odd -o table").fails_saying(2, &["the key \"\\xff\" is on line 2 and on line 3"]);
}

#[test]
fn the_filter_saves_block_reads() {
    let folder = Folder::new();
    folder.write("pairs", (0..20_000).map(|number| format!("key {number}\t{number}\n")).collect::<String>());
    folder.write("absent", (20_000..40_000).map(|number| format!("key {number}\n")).collect::<String>());
    folder.ok("table pairs -o table --fpp 0.01");
    let run = folder.run("get table absent --stats --json");
    assert_eq!(run.code, Some(1));
    let stats = run.json();
    let reads = stats["block_reads"].as_u64().unwrap();
    assert!((120..=280).contains(&reads), "{stats}");
    assert_eq!(
        stats["filter_negatives"].as_u64().unwrap() + stats["false_positives"].as_u64().unwrap(),
        20_000
    );
}

#[test]
fn a_table_takes_the_flags_of_a_filter() {
    let folder = Folder::new();
    folder.write("pairs", "a\t1\n");
    folder.ok("table pairs -o table --kind classic --bits-per-key 40 --hasher murmur3-x64-128 --seed 7");
    let filter = &folder.run("inspect table --json").json()["filter"];
    assert_eq!(filter["kind"], "classic");
    assert_eq!(filter["bits"], 40);
    assert_eq!((&filter["hasher_id"], &filter["seed"]), (&2.into(), &7.into()));
}
