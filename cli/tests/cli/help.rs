//! `--help` teaches, with examples that work.

use crate::support::Folder;

const COMMANDS: &[&str] = &[
    "build",
    "query",
    "table",
    "get",
    "merge",
    "inspect",
    "verify",
    #[cfg(feature = "rocksdb")]
    "sst",
    "plan",
    "demo",
    "completions",
];

#[test]
fn every_command_has_examples_and_says_what_its_json_holds() {
    let folder = Folder::new();
    let all = folder.ok("--help");
    for command in COMMANDS {
        assert!(all.contains(&format!("\n  {command} ")), "{command} is not listed");
        let help = folder.ok(&format!("{command} --help"));
        assert!(help.contains("Examples:\n  ") && help.contains(&format!("bloomline {command} ")), "{help}");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            !help.contains("--json") || help.contains("JSON: {\"") || help.contains("JSON: for each"),
            "{command}"
        );
    }
    for text in ["Exit codes:", "  3  a file that is not a whole, valid filter or table file"] {
        assert!(all.contains(text), "{text}");
    }
    assert!(!all.contains("demo-reader"));
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(Folder::new().ok("--version"), concat!("bloomline ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// Every example of every command, run by a shell in a folder that has the files they name.
#[cfg(unix)]
#[test]
fn the_examples_work() {
    let folder = Folder::with_keys(&["apple", "pear"]);
    folder.write("keys.txt", "apple\npear\n");
    folder.write("candidates.txt", "apple\nplum\n");
    folder.write("new.txt", "apple\nplum\n");
    folder.write("table.tsv", "apple\t1\npear\t2\n");
    folder.write("pairs.tsv", "apple\t1\npear\t2\n");
    folder.write("access.log", "10.0.0.1 GET\n10.0.0.2 GET\n10.0.0.1 PUT\n");
    folder.ok("build keys.txt -o keys.blf");
    for day in ["monday", "tuesday", "shard-1", "shard-2"] {
        folder.ok(&format!("build keys.txt -o {day}.blf --capacity 100"));
    }
    folder.ok("table pairs.tsv -o pairs.blt");
    #[cfg(feature = "rocksdb")]
    crate::sst::database(&folder.path("db"), Some("blocked:10"), false);
    let path = std::env::var("PATH").unwrap();
    let program_folder = crate::support::program().parent().unwrap();
    let mut tried = 0;
    for command in COMMANDS {
        let help = folder.ok(&format!("{command} --help"));
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        // `jq` may not be there, `completions` writes to the home folder, and the demo has tests of its own.
        let skip = ["jq", "~/", "bloomline demo"];
        for example in examples.lines().take_while(|line| line.starts_with("  ")) {
            if skip.iter().any(|part| example.contains(part)) {
                continue;
            }
            let output = std::process::Command::new("sh")
                .args(["-c", example])
                .env("PATH", format!("{}:{path}", program_folder.display()))
                .current_dir(folder.path("."))
                .output()
                .unwrap();
            assert!(output.status.success(), "{example}: {output:?}");
            tried += 1;
        }
    }
    assert!(tried >= 22, "only {tried} examples");
}
