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
        assert_eq!(kinds, ["blocked", "classic", "compact"]);
        for plan in plans {
            assert_eq!(
                fields(plan),
                ["bits_per_key", "bytes", "expected_fpp", "kind", "second_lines", "target"]
            );
            let kind = plan["kind"].as_str().unwrap();
            folder.ok(&format!("build keys -o filter --kind {kind} {budget}"));
            let filter = folder.run("inspect filter --json").json()["filter"].clone();
            let body = filter["bits"].as_u64().unwrap().div_ceil(512) * 64;
            // How many lines a compact filter takes is chance, up to a few; the others are sized exactly.
            let off = if kind == "compact" { 3 * 64 } else { 0 };
            let planned = plan["bytes"].as_u64().unwrap();
            assert!(planned.abs_diff(body) <= off, "{kind} {budget}: {planned} {body}");
            let second = &plan["second_lines"];
            match kind {
                "blocked" => assert_eq!(second, 0.0),
                "classic" => assert!(second.is_null()),
                _ => assert!((0.1..0.2).contains(&second.as_f64().unwrap()), "{plan}"),
            }
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
            let target = plan["target"]["fpp"].as_f64().unwrap();
            // The rates of a compact filter are powers of two, down to 2^-16.
            let (is_compact, got) = (plan["kind"] == "compact", plan["expected_fpp"].as_f64());
            match got {
                Some(got) => {
                    assert!(got <= target && got > target * if is_compact { 0.5 } else { 0.98 }, "{plan}");
                }
                None => assert!(is_compact && target < 1.0 / 65536.0 && plan["error"].is_string(), "{plan}"),
            }
            target
        })
        .collect();
    assert!(rates.len() >= 18 && rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    let text = folder.ok("plan --keys 1e6");
    assert!(text.starts_with("1,000,000 keys\n") && text.contains("MiB"), "{text}");
    assert_eq!(text.lines().count(), rates.len() + 2);
}

#[test]
fn what_cannot_be_met_is_said_in_its_line() {
    let folder = Folder::new();
    let plan = folder.run("plan --keys 1e15 --fpp 0.01 --json").json();
    for plan in &plan["plans"].as_array().unwrap()[..2] {
        assert!(plan["error"].as_str().unwrap().contains("larger than"), "{plan}");
    }
}

#[test]
fn a_rate_may_be_a_percentage() {
    let folder = Folder::new();
    let plan = |rate: &str| folder.run(&format!("plan --keys 1e6 --fpp {rate} --json")).json();
    assert_eq!(plan("0.1%"), plan("0.001"));
    for wrong in ["one", "%", "1%%", "1e%"] {
        let run = folder.run(&format!("plan --keys 1e6 --fpp {wrong}"));
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("--fpp") && run.stderr.contains("such as 0.01 or 1%"), "{run:?}");
    }
    folder.run("plan --keys 1e6 --fpp 100%").fails_saying(2, &["--fpp"]);
}
