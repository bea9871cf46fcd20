//! Bloomline beside the Rust filters that people use and beside the limit of the memory, in one run.
//!
//! At each size every contender is built from the same keys, its answers are checked, and then all are timed in
//! turns: rounds go over all contenders, and the median of the rounds is shown with the fastest and the slowest.
//! Keys are made outside the timer, and each call waits for a quiet core. Speed at another false-positive rate is no comparison, so bits per key and
//! the measured rate stand beside each time.
//!
//! 100 million keys need about 8 GB of memory while they are measured.

mod contender;
mod keys;
mod limit;
mod machine;
mod measure;
mod ours;
mod peers;
mod plot;
mod quiet;
mod rates;
mod report;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::contender::Contender;
use crate::keys::Keys;
use crate::measure::{Asked, Measure, Rounds, Row};
use crate::quiet::Quiet;

/// Bits per key of the Bloom filters in the tables: about 1%.
const BITS_PER_KEY: u32 = 10;

/// Keys with which rates are measured over a range of sizes.
const RATE_KEYS: u64 = 1_000_000;

/// Times Bloomline beside other filters; writes tables, values and plots.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Numbers of keys.
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000, 100_000_000])]
    sizes: Vec<u64>,
    /// Up to a million keys and few rounds: shows that all works, not what is fastest.
    #[arg(long)]
    quick: bool,
    /// Seconds to wait, in all, for moments in which nobody else uses the core: each thing is timed in one, as long
    /// as they last.
    #[arg(long, default_value_t = 600)]
    patience: u64,
    /// Folder for the results.
    #[arg(long, default_value = "benches/results")]
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let sizes = if args.quick { vec![100_000, 1_000_000] } else { args.sizes };
    let mut machine = machine::describe();
    let mut quiet = Quiet::new(Duration::from_secs(if args.quick { 0 } else { args.patience }));
    for (name, value) in &machine {
        println!("{name}: {value}");
    }
    let mut results: Vec<Vec<Row>> = Vec::new();
    for &keys in &sizes {
        println!("\n{keys} keys\n");
        let rows = run(keys, args.quick, &mut quiet);
        print!("{}", report::table(&rows));
        results.push(rows);
    }
    let points = measure_rates(args.quick);
    let waited = format!("{} s, at most {}", quiet.waited().as_secs(), args.patience);
    machine.push(("waited for a quiet core", waited));

    fs::create_dir_all(&args.out)?;
    let page = report::markdown(&machine, &contenders(sizes.first().copied().unwrap_or(1)), &results);
    fs::write(args.out.join("side-by-side.md"), page)?;
    let rows: Vec<Row> = results.iter_mut().flat_map(|rows| rows.drain(..)).collect();
    fs::write(args.out.join("times.csv"), report::times_csv(&machine, &rows))?;
    fs::write(args.out.join("rates.csv"), report::rates_csv(&machine, &points))?;
    for (file, title, measure) in [
        ("lookup.svg", "Lookup of absent keys by ready hash, one by one", Measure::HashMiss),
        ("batch.svg", "Lookup of absent keys by ready hash, in batches of 1,024", Measure::HashBatchMiss),
        ("build.svg", "Build from ready hashes, one thread", Measure::Build),
    ] {
        plot::times(&args.out.join(file), title, measure, &rows)?;
    }
    plot::rates(&args.out.join("rates.svg"), &points, &rates::curves())?;
    println!("\nresults are in {}", args.out.display());
    Ok(())
}

/// Everyone, set up for so many keys.
fn contenders(keys: u64) -> Vec<Contender> {
    let bits = f64::from(BITS_PER_KEY);
    let blocked = bloomline::sizing::BlockedParams::for_bits_per_key(keys, bits).expect("a usual size");
    vec![
        ours::blocked(keys, bits),
        ours::blocked_run(keys, bits),
        ours::classic(keys, bits),
        ours::compact("bloomline compact, r = 7", 7),
        ours::compact("bloomline compact, r = 8", 8),
        peers::fastbloom(keys, bits),
        peers::fastbloom_of_keys(keys, bits),
        peers::split_block(keys, BITS_PER_KEY),
        peers::binary_fuse8(),
        peers::bloomfilter(keys, bits),
        limit::memory(usize::try_from(blocked.bits() / 8).expect("a size in memory")),
    ]
}

/// Measures one size.
fn run(keys: u64, quick: bool, quiet: &mut Quiet) -> Vec<Row> {
    let added = Keys::numbered(0..keys);
    let asked = ask(keys, if quick { 1 << 18 } else { 1 << 20 }, 1 << 22);
    let rounds = match keys {
        _ if quick => Rounds { builds: 3, lookups: 3 },
        0..=1_000_000 => Rounds { builds: 15, lookups: 15 },
        1_000_001..=10_000_000 => Rounds { builds: 5, lookups: 9 },
        _ => Rounds { builds: 3, lookups: 7 },
    };
    measure::measure(&contenders(keys), &added, &asked, rounds, quiet)
}

/// Measures the rates over a range of sizes.
fn measure_rates(quick: bool) -> Vec<rates::Point> {
    let added = Keys::numbered(0..RATE_KEYS);
    rates::measure(&added, &ask(RATE_KEYS, 1000, if quick { 1 << 20 } else { 1 << 24 }))
}

/// Keys to ask for where the numbers under `keys` were added.
fn ask(keys: u64, timed: usize, absent: usize) -> Asked {
    let absent = Keys::numbered(keys..keys + absent as u64);
    Asked { misses: absent.first(timed), hits: Keys::sample(keys, timed as u64), absent }
}
