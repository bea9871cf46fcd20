//! `bloomline inspect`: what a file holds, and how good its filter is.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher as _};
use std::path::PathBuf;

use bloomline::FilterReader;
use clap::Args;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::container::{self, CheckArgs};
use crate::exit::{Failure, Outcome};
use crate::hashers::KeyFileArgs;
use crate::input::BATCH;
use crate::output::{Output, bytes, count, json_bytes, percent, print_report, quoted};

/// Show what a file holds, and how good its filter is
///
/// The rate is given by theory for the keys that were counted, and by the bits that are really set; with
/// --measure also as measured on random keys. A rate by fill far above the one that was asked for means a filter
/// with more keys than it was made for.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline inspect keys.blf\n  \
    bloomline inspect keys.blf --measure\n  \
    bloomline inspect pairs.blt --json | jq .filter.expected_fpp\n\n\
    JSON: {\"file\",\"type\",\"bytes\",\"writer\",\"filter\",\"table\"}; `filter` (null where there is \
    none) is {\"kind\",\"keys\",\"probes\",\"bits\",\"bits_per_key\",\"fill\",\"expected_fpp\",\
    \"expected_fpp_from_fill\",\"measured_fpp\",\"measured_with\",\"hasher\",\"hasher_id\",\"seed\",\"hasher_check\"}, `table` (null for a \
    filter file) is {\"entries\",\"key_bytes\",\"value_bytes\",\"first_key\",\"last_key\"}, where keys that are not UTF-8 \
    come as \"first_key_hex\" and \"last_key_hex\".")]
pub(super) struct Inspect {
    /// The filter or table file
    file: PathBuf,
    /// Measure the false-positive rate with N random keys
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1000000",
        value_parser = clap::value_parser!(u64).range(1..))]
    measure: Option<u64>,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    secret: KeyFileArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    r#type: &'static str,
    bytes: u64,
    writer: String,
    filter: Option<FilterReport>,
    table: Option<TableReport>,
}

#[derive(Serialize)]
struct FilterReport {
    kind: &'static str,
    keys: u64,
    probes: u8,
    bits: u64,
    bits_per_key: f64,
    fill: f64,
    expected_fpp: f64,
    expected_fpp_from_fill: f64,
    measured_fpp: Option<f64>,
    measured_with: Option<u64>,
    hasher: String,
    hasher_id: u16,
    seed: u64,
    hasher_check: u32,
}

struct TableReport {
    entries: u64,
    key_bytes: u64,
    value_bytes: u64,
    first_key: Option<Vec<u8>>,
    last_key: Option<Vec<u8>>,
}

impl Serialize for TableReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("entries", &self.entries)?;
        map.serialize_entry("key_bytes", &self.key_bytes)?;
        map.serialize_entry("value_bytes", &self.value_bytes)?;
        for (name, name_hex, key) in
            [("first_key", "first_key_hex", &self.first_key), ("last_key", "last_key_hex", &self.last_key)]
        {
            match key {
                Some(key) => json_bytes(&mut map, name, name_hex, key)?,
                None => map.serialize_entry(name, &None::<()>)?,
            }
        }
        map.end()
    }
}

impl Inspect {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let table = container::open(&self.file, &self.secret.hashers()?, self.check)?;
        let properties = table.properties();
        let report = Report {
            file: self.file.display().to_string(),
            r#type: if table.is_filter_only() { "filter" } else { "table" },
            bytes: table.file_bytes(),
            writer: properties.writer.clone(),
            filter: table.filter().map(|filter| FilterReport::of(filter, self.measure)),
            table: (!table.is_filter_only()).then(|| TableReport {
                entries: properties.entries,
                key_bytes: properties.key_bytes,
                value_bytes: properties.value_bytes,
                first_key: properties.first_key.clone(),
                last_key: properties.last_key.clone(),
            }),
        };
        print_report(self.json, &report, Report::print)?;
        Ok(Outcome::Success)
    }
}

impl FilterReport {
    fn of<B: AsRef<[u8]>>(filter: &FilterReader<B>, measure: Option<u64>) -> Self {
        let header = filter.header();
        let keys = filter.count();
        Self {
            kind: filter.kind().name(),
            keys,
            probes: header.probes,
            bits: header.bits,
            bits_per_key: if keys == 0 { 0.0 } else { header.bits as f64 / keys as f64 },
            fill: filter.fill(),
            expected_fpp: filter.expected_fpp(),
            expected_fpp_from_fill: filter.expected_fpp_from_fill(),
            measured_fpp: measure.map(|sample| measure_fpp(filter, sample)),
            measured_with: measure,
            hasher: header.hasher.id.to_string(),
            hasher_id: header.hasher.id.get(),
            seed: header.hasher.seed,
            hasher_check: header.hasher.check,
        }
    }
}

/// The share of `sample` random keys of 16 bytes that the filter lets through. That one of them is really in the
/// filter is out of the question.
fn measure_fpp<B: AsRef<[u8]>>(filter: &FilterReader<B>, sample: u64) -> f64 {
    let seed = RandomState::new().build_hasher().finish();
    let key = |number: u64| {
        // A key is a seed that no other run has, and a number that no other key has.
        let mut key = [0; 16];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(&number.to_le_bytes());
        key
    };
    let (mut let_through, mut done) = (0_u64, 0);
    let mut answers = [false; BATCH];
    while done < sample {
        let end = sample.min(done + BATCH as u64);
        let keys: Vec<_> = (done..end).map(key).collect();
        let answers = &mut answers[..keys.len()];
        filter.might_contain_batch(&keys, answers);
        let_through += answers.iter().filter(|&&maybe| maybe).count() as u64;
        done = end;
    }
    let_through as f64 / sample as f64
}

impl Report {
    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        let mut row = |name: &str, text: String| out.text(format_args!("{name:<16}{text}"));
        row("file", self.file.clone())?;
        row("type", format!("{}, written by {}", self.r#type, self.writer))?;
        row("size", format!("{} ({} bytes)", bytes(self.bytes), count(self.bytes)))?;
        if let Some(table) = &self.table {
            row("entries", count(table.entries).to_string())?;
            row("key bytes", count(table.key_bytes).to_string())?;
            row("value bytes", count(table.value_bytes).to_string())?;
            for (name, key) in [("first key", &table.first_key), ("last key", &table.last_key)] {
                row(name, key.as_deref().map_or_else(|| "none".to_owned(), quoted))?;
            }
        }
        let Some(filter) = &self.filter else {
            return row("filter", "none that can be used".to_owned());
        };
        row("kind", format!("{}, {} probes", filter.kind, filter.probes))?;
        row(
            "hasher",
            format!("{}, seed {}, check {:#010x}", filter.hasher, filter.seed, filter.hasher_check),
        )?;
        row("keys", format!("{}, as the filter counted them", count(filter.keys)))?;
        row("bits", format!("{}, {:.2} per key", count(filter.bits), filter.bits_per_key))?;
        row("fill", percent(filter.fill))?;
        row(
            "expected rate",
            format!(
                "{} by the keys, {} by the fill",
                percent(filter.expected_fpp),
                percent(filter.expected_fpp_from_fill)
            ),
        )?;
        if let (Some(rate), Some(sample)) = (filter.measured_fpp, filter.measured_with) {
            row("measured rate", format!("{} of {} random keys", percent(rate), count(sample)))?;
        }
        Ok(())
    }
}
