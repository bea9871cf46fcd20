//! `--kind scalable`: for input of unknown length.

use serde_json::json;

use crate::support::{Folder, fields};

fn keys(count: u32) -> String {
    (0..count).map(|number| format!("key {number}\n")).collect()
}

#[test]
fn it_grows_and_keeps_its_rate() {
    let folder = Folder::new();
    folder.write("keys", keys(20_000));
    let flags = "--kind scalable --first-capacity 1e3 --fpp 0.02 --json";
    let built = folder.run_with_input(&format!("build - -o filter {flags}"), keys(20_000).as_bytes()).json();
    assert_eq!((&built["kind"], &built["keys"]), (&json!("scalable"), &json!(20_000)));
    assert!(built["expected_fpp"].as_f64().unwrap() < 0.02, "{built}");
    assert_eq!(folder.ok("query filter keys --count"), "20000\n");
    folder.ok("verify filter");
    // From a file, and by several threads, it is the same.
    folder.ok(&format!("build keys -o again {flags} --threads 3"));
    assert!(folder.read("filter") == folder.read("again"));

    let filter = folder.run("inspect filter --measure=200000 --json").json()["filter"].clone();
    let scalable = &filter["scalable"];
    assert_eq!(fields(scalable), ["first_capacity", "growth", "layers", "target_fpp", "tightening"]);
    let options = ["first_capacity", "growth", "target_fpp", "tightening"].map(|name| &scalable[name]);
    assert_eq!(options, [&json!(1000), &json!(2), &json!(0.02), &json!(0.5)]);
    let layers = scalable["layers"].as_array().unwrap();
    assert_eq!(fields(&layers[0]), ["bits", "capacity", "keys", "kind", "probes"]);
    let numbers = |name: &str| layers.iter().map(|layer| layer[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers("capacity"), [1000, 2000, 4000, 8000, 16_000]);
    assert_eq!(numbers("keys")[..4], [1000, 2000, 4000, 8000]);
    assert_eq!(json!(numbers("keys").iter().sum::<u64>()), filter["keys"]);
    assert_eq!(json!(numbers("bits").iter().sum::<u64>()), filter["bits"]);
    let bits_per_key = filter["bits"].as_f64().unwrap() / 20_000.0;
    assert_eq!(built["bits_per_key"], bits_per_key);
    assert!(filter["probes"].is_null() && filter["compact"].is_null());
    assert!(filter["measured_fpp"].as_f64().unwrap() < 0.02, "{filter}");

    let text = folder.ok("inspect filter");
    for part in [
        "kind            scalable, first capacity 1,000, rate 2.00%, growth 2, tightening 0.5\n",
        "layers, oldest  blocked, ",
        " probes, 8,000 of 8,000 keys, ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn its_options_shape_it() {
    let folder = Folder::new();
    folder.write("keys", keys(10_000));
    folder.ok("build keys -o filter --kind scalable --first-capacity 100 --growth 4 --tightening 0.9");
    let filter = folder.run("inspect filter --json").json()["filter"].clone();
    let scalable = &filter["scalable"];
    assert_eq!((&scalable["growth"], &scalable["tightening"]), (&json!(4), &json!(0.9)));
    assert_eq!(scalable["layers"].as_array().unwrap().len(), 5);
    // By default the first layer takes a million.
    folder.ok("build keys -o filter --kind scalable");
    let scalable = folder.run("inspect filter --json").json()["filter"]["scalable"].clone();
    assert_eq!(
        (&scalable["first_capacity"], &scalable["layers"][0]["keys"]),
        (&json!(1_000_000), &json!(10_000))
    );
}

#[test]
fn no_keys_are_no_keys() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("nothing", "");
    let built = folder.run("build nothing -o filter --kind scalable --first-capacity 10 --json").json();
    assert_eq!(
        (&built["keys"], &built["bits_per_key"], &built["expected_fpp"]),
        (&json!(0), &json!(0.0), &json!(0.0))
    );
    assert_eq!(folder.ok("query filter keys --absent"), "apple\n");
}

#[test]
fn a_layer_damaged_is_found_without_the_key() {
    let folder = Folder::with_keys(&["apple"]);
    folder.write("secret", [3; 16]);
    folder.ok(
        "build keys -o filter --kind scalable --first-capacity 10 --hasher siphash-2-4 --key-file secret",
    );
    let mut bytes = folder.read("filter");
    // Past the file's header of 16 bytes, the block's of 48 and a directory of two lines.
    bytes[16 + 48 + 128] ^= 1;
    folder.write("damaged", &bytes);
    for command in ["verify damaged", "inspect damaged"] {
        folder.run(command).fails_saying(3, &["damaged: filter block: layer 0: damaged body"]);
    }
}

#[test]
fn what_can_not_be_is_refused_by_its_flag() {
    let folder = Folder::with_keys(&["apple"]);
    for (flags, says) in [
        ("--bits-per-key 10", "--bits-per-key: a scalable filter is made by its rate, expected --fpp"),
        ("--growth 3", "--growth: the growth must be 2 or 4, got 3"),
        ("--tightening 0.95", "--tightening: the tightening must be 0.5 to 0.9, got 0.95"),
        ("--tightening -1", "--tightening: the tightening must be 0.5 to 0.9, got -1"),
        ("--fpp 0", "--fpp: the false-positive rate must lie strictly between 0 and 1, got 0"),
        ("--capacity 10", "--capacity: a scalable filter grows, expected --first-capacity"),
    ] {
        folder.run(&format!("build keys -o filter --kind scalable {flags}")).fails(2, says);
    }
    for flag in ["--first-capacity 10", "--growth 2", "--tightening 0.5"] {
        let name = flag.split_once(' ').unwrap().0;
        folder
            .run(&format!("build keys -o filter {flag}"))
            .fails(2, &format!("{name}: of use to --kind scalable only"));
    }
    let run = folder.run("build keys -o filter --kind scalable --first-capacity 0");
    assert_eq!(run.code, Some(2));
    // A table knows how many keys it has.
    let run = folder.run("table keys -o out --kind scalable");
    assert!(
        run.code == Some(2) && run.stderr.contains("[possible values: blocked, classic, compact]"),
        "{run:?}"
    );
    assert_eq!(folder.names(), ["keys"]);
}

#[test]
fn a_target_that_growth_can_not_keep_is_not_missed_in_silence() {
    let folder = Folder::new();
    folder.write("keys", keys(40_000));
    folder.run("build keys -o filter --kind scalable --first-capacity 1 --fpp 1e-9").fails_saying(
        2,
        &["--first-capacity: too small: the filter could not grow past 3 layers: a false-positive rate of "],
    );
    assert_eq!(folder.names(), ["keys"]);
}
