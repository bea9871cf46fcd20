//! A keys file without keys builds a filter that calls everything absent.

use crate::support::Folder;

#[test]
fn no_keys_make_a_filter_that_answers_absent_to_everything() {
    let folder = Folder::with_keys(&["apple", ""]);
    folder.write("none", "");
    for kind in ["blocked", "classic"] {
        let built = folder.run(&format!("build none -o filter --kind {kind} --json")).json();
        assert_eq!(
            (&built["keys"], &built["bits_per_key"], &built["expected_fpp"]),
            (&serde_json::json!(0), &serde_json::json!(0.0), &serde_json::json!(0.0))
        );
        assert_eq!(folder.run("query filter keys").code, Some(1));
        assert_eq!(folder.ok("query filter keys --absent"), "apple\n\n");
        assert!(folder.ok("verify filter").contains("valid"));
        let filter = &folder.run("inspect filter --measure --json").json()["filter"];
        assert_eq!((&filter["kind"], &filter["keys"]), (&kind.into(), &0.into()));
        assert_eq!(filter["measured_fpp"], 0.0);
    }
}

#[test]
fn no_keys_on_standard_input_make_the_same_file() {
    let folder = Folder::new();
    folder.write("none", "");
    let said = folder.ok("build none -o file");
    assert!(said.ends_with("; no keys: it calls every key absent\n"), "{said}");
    folder.ok("build - -o stdin");
    assert_eq!(folder.read("file"), folder.read("stdin"));
}

#[test]
fn no_pairs_make_a_table_that_finds_nothing() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("none", "");
    assert_eq!(folder.run("table none -o table --json").json()["entries"], 0);
    let run = folder.run("get table keys");
    assert_eq!((run.code, run.text()), (Some(1), ""));
    folder.ok("verify table");
}
