//! The corpus, run by a plain test on stable Rust: what fuzzing once reached stays reached.
//!
//! One test, for the bound on memory is of the process.

use std::fs;
use std::path::Path;

/// A target and what it does with an input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 5] = [
    ("block", bloomline_fuzz::block::run),
    ("container", bloomline_fuzz::container::run),
    ("table", bloomline_fuzz::table::run),
    ("operations", bloomline_fuzz::operations::run),
    ("cli", bloomline_fuzz::cli::run),
];

#[test]
fn every_input_of_the_corpus_holds() {
    for (name, run) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut inputs: Vec<_> = inputs.map(|input| input.expect("readable").path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "no inputs in {}", folder.display());
        println!("{name}: {} inputs", inputs.len());
        for input in inputs {
            // Shown when it fails.
            println!("{}", input.display());
            run(&fs::read(&input).expect("readable"));
        }
    }
}
