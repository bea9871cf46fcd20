//! Prints what is in the filters of RocksDB table files.
//!
//! ```text
//! cargo run --release -p bloomline-rocksdb --example inspect -- PATH…
//! ```
//!
//! Each path is an `.sst` file or the folder of a database, which may be open. Exit code 2 when a path cannot be
//! read, 3 when a file is damaged.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::ExitCode;

use bloomline_rocksdb::inspect::{self, Table};
use bloomline_rocksdb::{Error, Kind};

/// "blocked Bloom, 6 probes", or several kinds when partitions differ.
fn kinds(table: &Table) -> String {
    let names: BTreeSet<String> = table
        .blocks
        .iter()
        .map(|block| match block.kind {
            Kind::Blocked { probes, .. } => format!("blocked Bloom, {probes} probes"),
            Kind::Compact { fingerprint_bits, layers, .. } => {
                format!("compact, {fingerprint_bits} bits, {layers} layers")
            }
            Kind::Ribbon { columns, .. } => format!("Ribbon, {columns:.2} bits"),
            Kind::Legacy { probes } => format!("legacy Bloom, {probes} probes"),
            Kind::Unknown => "unknown: lets every key through".to_owned(),
            _ => "another kind".to_owned(),
        })
        .collect();
    match names.len() {
        0 => "no filter".to_owned(),
        1 => names.into_iter().collect(),
        // Ribbon partitions differ in the last digits, compact ones in their layers.
        kinds => format!("{} and {} others", names.into_iter().next().unwrap_or_default(), kinds - 1),
    }
}

fn layout(table: &Table) -> String {
    match (table.blocks.len(), table.partitioned) {
        (0, _) => "-".to_owned(),
        (parts, true) => format!("{parts} partitions"),
        (_, false) => "full".to_owned(),
    }
}

fn print(table: &Table) {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let percent = |share: f64, digits: usize| format!("{:.digits$}%", share * 100.0);
    println!(
        "{:<16} {:<30} {:<16} {:>12} {:>9} {:>7} {:>9}",
        table.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        kinds(table),
        layout(table),
        if table.filter_entries == 0 { "-".to_owned() } else { table.filter_entries.to_string() },
        or_dash(table.bits_per_key().map(|bits| format!("{bits:.3}"))),
        or_dash(table.fill().map(|fill| percent(fill, 1))),
        or_dash(table.rate().map(|rate| percent(rate, 3))),
    );
}

fn read(path: &Path) -> Result<Vec<Table>, Error> {
    if path.is_dir() { inspect::folder(path) } else { inspect::table(path).map(|table| vec![table]) }
}

fn main() -> ExitCode {
    let paths: Vec<_> = env::args_os().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: inspect PATH…   (.sst files and folders of databases)");
        return ExitCode::from(2);
    }
    println!(
        "{:<16} {:<30} {:<16} {:>12} {:>9} {:>7} {:>9}",
        "file", "filter", "layout", "keys", "bits/key", "fill", "rate"
    );
    let mut code = ExitCode::SUCCESS;
    for path in paths {
        match read(Path::new(&path)) {
            Ok(tables) => tables.iter().for_each(print),
            Err(error) => {
                eprintln!("inspect: {error}");
                let damaged =
                    matches!(&error, Error::Inspect { reason, .. } if reason.starts_with("Corruption"));
                code = ExitCode::from(if damaged { 3 } else { 2 });
            }
        }
    }
    code
}
