//! `plan` tells what `build` then makes.

use crate::support::{Folder, fields};

#[test]
fn a_plan_is_what_a_build_makes() {
    let folder = Folder::new();
    folder.write("keys", (0..5000).map(|number| format!("key {number}\n")).collect::<String>());
    for budget in ["--fpp 0.01", "--fpp 0.0001", "--bits-per-key 12.5"] {
        let plan = folder.run(&format!("plan --keys 5000 {budget} --json")).json();
        assert_eq!(fields(&plan), ["keys", "plans"]);
        let plans = plan["plans"].as_array().unwrap();
        let kinds: Vec<_> = plans.iter().map(|plan| plan["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["blocked", "classic"]);
        for plan in plans {
            assert_eq!(fields(plan), ["bits_per_key", "bytes", "expected_fpp", "kind", "target"]);
            let kind = plan["kind"].as_str().unwrap();
            folder.ok(&format!("build keys -o filter --kind {kind} {budget}"));
            let filter = folder.run("inspect filter --json").json()["filter"].clone();
            let body = filter["bits"].as_u64().unwrap().div_ceil(512) * 64;
            assert_eq!(plan["bytes"], body, "{kind} {budget}");
            let (planned, built) =
                (plan["expected_fpp"].as_f64().unwrap(), filter["expected_fpp_from_fill"].as_f64().unwrap());
            assert!((planned / built - 1.0).abs() < 0.15, "{kind} {budget}: {planned} {built}");
        }
    }
}

#[test]
fn without_a_target_a_range_is_shown() {
    let folder = Folder::new();
    let plan = folder.run("plan --keys 1e6 --json").json();
    let rates: Vec<_> = plan["plans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| {
            let (target, got) =
                (plan["target"]["fpp"].as_f64().unwrap(), plan["expected_fpp"].as_f64().unwrap());
            assert!(got <= target && got > target * 0.98, "{plan}");
            target
        })
        .collect();
    assert!(rates.len() >= 12 && rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    let text = folder.ok("plan --keys 1e6");
    assert!(text.starts_with("1,000,000 keys\n") && text.contains("MiB"), "{text}");
    assert_eq!(text.lines().count(), rates.len() + 2);
}

#[test]
fn what_cannot_be_met_is_said_in_its_line() {
    let folder = Folder::new();
    let plan = folder.run("plan --keys 1e15 --fpp 0.01 --json").json();
    for plan in plan["plans"].as_array().unwrap() {
        assert!(plan["error"].as_str().unwrap().contains("larger than"), "{plan}");
    }
}
