//! `build --capacity`: a size that doesn't follow from the input.

use crate::support::Folder;

#[test]
fn the_size_is_that_of_so_many_keys_whatever_the_input() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("more", (0..3000).map(|number| format!("key {number}\n")).collect::<String>());
    let bytes = |args: &str| folder.run(&format!("build {args} --json")).json()["bytes"].as_u64().unwrap();
    for kind in ["blocked", "classic"] {
        let full = bytes(&format!("more -o full --kind {kind}"));
        assert_eq!(bytes(&format!("keys -o few --kind {kind} --capacity 3000")), full);
        assert!(bytes(&format!("more -o many --kind {kind} --capacity 1e3")) < full / 2);
        assert_eq!(folder.ok("query many more --count"), "3000\n");
        // Sized alike, read once or twice, from a file or a pipe: the same filter.
        folder.ok(&format!("build more -o again --kind {kind} --capacity 3000"));
        assert!(folder.read("again") == folder.read("full"));
        let input = folder.read("more");
        folder.run_with_input(&format!("build - -o piped --kind {kind} --capacity 3000"), &input).succeeds();
        assert!(folder.read("piped") == folder.read("full"));
    }
}

#[test]
fn more_keys_show_in_the_rate() {
    let folder = Folder::new();
    folder.write("keys", (0..3000).map(|number| format!("key {number}\n")).collect::<String>());
    let built = folder.run("build keys -o filter --capacity 1000 --json").json();
    // Theory for a third of the bits: far over the target of 1%.
    assert!(built["expected_fpp"].as_f64().unwrap() > 0.2, "{built}");
    let said = |capacity| folder.ok(&format!("build keys -o filter --capacity {capacity}"));
    assert!(said(2999).contains("; more keys than its capacity of 2,999"));
    assert!(!said(3000).contains("capacity"));
}

#[test]
fn a_capacity_is_at_least_one_key() {
    let folder = Folder::with_keys(&["apple"]);
    for capacity in ["0", "-1", "1.5", "many"] {
        let run = folder.run(&format!("build keys -o filter --capacity={capacity}"));
        assert!(run.code == Some(2) && run.stderr.contains("expected a whole number of keys"), "{run:?}");
    }
}
