//! Works RocksDB hard with the plugin's filters, for as long as you like, and compares every answer with a model.
//!
//! ```text
//! cargo run --release -p bloomline-rocksdb --example soak -- [--seconds N] [--seed N] [--threads N]
//! ```
//!
//! Without `--seconds`, `BLOOMLINE_SOAK_SECONDS` or a quarter of an hour. Exit code 1 and the story when an answer
//! differs; the database is then kept. The same seed and number of threads do the same things again, but for what the
//! threads do to each other.

mod run;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use run::{Settings, Soak};

fn settings() -> Result<Settings, Box<dyn Error>> {
    let seconds = env::var("BLOOMLINE_SOAK_SECONDS").map_or(Ok(15 * 60), |text| text.parse())?;
    let mut settings = Settings { seconds, seed: fastrand::u64(..), threads: 4 };
    let mut given = env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--seconds" => settings.seconds = value.parse()?,
            "--seed" => settings.seed = value.parse()?,
            "--threads" => settings.threads = value.parse()?,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    if settings.threads == 0 {
        return Err("there must be a thread at least".into());
    }
    Ok(settings)
}

fn main() -> ExitCode {
    let begun = settings().and_then(|settings| {
        println!("seed {}, {} threads, {} seconds", settings.seed, settings.threads, settings.seconds);
        let folder = tempfile::tempdir()?;
        Ok((Soak::new(settings, folder.path()), folder))
    });
    let (mut soak, folder) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::from(2);
        }
    };
    match soak.run(|line| println!("{line}")) {
        Ok(()) => {
            println!("\n{}\nno answer differed", soak.summary);
            ExitCode::SUCCESS
        }
        Err(story) => {
            println!("\n{}", soak.summary);
            eprintln!("soak: {story}\nthe database is in {}", folder.keep().display());
            ExitCode::from(1)
        }
    }
}
