//! Writes the golden blocks that are not there yet, and the false positives that each has, into a folder:
//!
//! ```text
//! cargo run --example write_golden_blocks -- fixtures/golden_blocks
//! ```
//!
//! A block that exists is never written again: what this library has written it must go on reading, and writing,
//! byte for byte. A format that changes gets a new version and new blocks.

#[path = "../fixtures/golden_blocks/recipe.rs"]
mod recipe;

use std::error::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use bloomline::filter::open_any;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("name the folder to write to")?.into();
    fs::create_dir_all(&folder)?;
    for (name, block) in recipe::blocks() {
        let opened = open_any(&block, &recipe::hashers())?;
        let filter = opened.membership();
        let absent = recipe::KEYS..recipe::KEYS + recipe::ABSENT;
        let positives = absent.filter(|&i| filter.might_contain(&recipe::key(i))).count();
        match File::create_new(folder.join(&name)) {
            Ok(mut file) => {
                file.write_all(&block)?;
                let mut list =
                    File::options().create(true).append(true).open(folder.join("false_positives.tsv"))?;
                writeln!(list, "{name}\t{}\t{positives}", filter.count())?;
                println!("{name}: written");
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => println!("{name}: exists, kept"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
