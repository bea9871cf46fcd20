//! Build a filter and ask it: what is printed, and the exit codes.

use crate::support::Folder;

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("key {number}\n")).collect()
}

#[test]
fn every_key_that_was_added_is_printed_in_order() {
    let folder = Folder::new();
    folder.write("keys", numbers(0..10_000));
    for kind in ["blocked", "classic"] {
        folder.ok(&format!("build keys -o filter --kind {kind}"));
        assert_eq!(folder.ok("query filter keys"), numbers(0..10_000));
        assert_eq!(folder.ok("query filter keys --count"), "10000\n");
    }
}

#[test]
fn absent_keys_are_told_at_the_rate_that_was_asked_for() {
    let folder = Folder::new();
    folder.write("keys", numbers(0..50_000));
    folder.write("absent", numbers(50_000..250_000));
    // The hash is fixed, and so are these numbers: 200,000 times the rate, give or take five deviations.
    for (kind, fpp, expected) in
        [("blocked", 0.01, 2000.0), ("classic", 0.01, 2000.0), ("blocked", 0.001, 200.0)]
    {
        folder.ok(&format!("build keys -o filter --kind {kind} --fpp {fpp}"));
        let maybe: f64 = folder.ok("query filter absent --count").trim().parse().unwrap();
        assert!((maybe - expected).abs() < 5.0 * expected.sqrt(), "{kind} {fpp}: {maybe}");
        let absent: f64 = folder.ok("query filter absent --absent --count").trim().parse().unwrap();
        assert_eq!(maybe + absent, 200_000.0);
    }
}

#[test]
fn with_absent_the_other_keys_are_printed() {
    let folder = Folder::new();
    folder.write("keys", numbers(0..1000));
    folder.write("mixed", numbers(500..3000));
    folder.ok("build keys -o filter");
    let maybe = folder.ok("query filter mixed");
    let absent = folder.ok("query filter mixed --absent");
    assert!(maybe.starts_with(&numbers(500..1000)), "{maybe}");
    let mut both: Vec<_> = maybe.lines().chain(absent.lines()).collect();
    both.sort_unstable_by_key(|line| line[4..].parse::<u32>().unwrap());
    assert_eq!(both.join("\n") + "\n", numbers(500..3000));
    assert!(absent.lines().count() > 1900);
}

#[test]
fn exit_codes_are_those_of_grep() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("some", "plum\napple\n");
    folder.write("none", "plum\ncherry\n");
    folder.write("nothing", "");
    folder.ok("build keys -o filter --fpp 0.000001");
    for (args, code, printed) in [
        ("query filter some", 0, "apple\n"),
        ("query filter some --absent", 0, "plum\n"),
        ("query filter none", 1, ""),
        ("query filter none --absent", 0, "plum\ncherry\n"),
        ("query filter keys --absent", 1, ""),
        ("query filter none --count", 1, "0\n"),
        ("query filter keys --absent --count", 1, "0\n"),
        ("query filter keys --count", 0, "2\n"),
        ("query filter nothing", 1, ""),
        ("query filter none --no-verify", 1, ""),
    ] {
        let run = folder.run(args);
        assert_eq!((run.code, run.text()), (Some(code), printed), "{run:?}");
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn build_says_what_it_made_and_shows_no_progress_off_a_terminal() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    let said = folder.ok("build keys -o filter --bits-per-key 256");
    assert!(said.starts_with("filter: 2 keys, 256.00 bits per key, "), "{said}");
    assert_eq!(said.lines().count(), 1);
    folder.ok("--quiet build keys -o filter");
    folder.ok("build keys -o filter --no-progress");
}

#[test]
fn a_query_of_a_table_asks_its_filter() {
    let folder = Folder::new();
    folder.write("pairs", "apple\t1\npear\t2\n");
    folder.write("some", "plum\napple\n");
    folder.ok("table pairs -o table --fpp 0.000001");
    assert_eq!(folder.ok("query table some"), "apple\n");
}
