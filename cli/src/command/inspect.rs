//! `bloomline inspect`: what a file holds, and how good its filter is.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher as _};
use std::path::PathBuf;

use bloomline::filter::FilterBlock;
use bloomline::format::{Container, Kind};
use bloomline::hash::Hashers;
use bloomline::{FilterReader, TableReader};
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
/// with more keys than it was made for. The secret key of siphash-2-4 is needed only to --measure.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline inspect keys.blf\n  \
    bloomline inspect keys.blf --measure\n  \
    bloomline inspect pairs.blt --json | jq .filter.expected_fpp\n\n\
    JSON: {\"file\",\"type\",\"bytes\",\"writer\",\"filter\",\"filter_error\",\"table\"}; `filter` (null where \
    there is none) is {\"kind\",\"keys\",\"probes\",\"bits\",\"bits_per_key\",\"fill\",\"expected_fpp\",\
    \"expected_fpp_from_fill\",\"measured_fpp\",\"measured_with\",\"hasher\",\"hasher_id\",\"seed\",\"hasher_check\",\
    \"compact\",\"scalable\"}, where `probes` and `fill` are null for kinds without; `compact` (null for other \
    kinds) is {\"fingerprint_bits\",\"layers\"}, `scalable` {\"first_capacity\",\"target_fpp\",\"growth\",\
    \"tightening\",\"layers\":[{\"kind\",\"capacity\",\"keys\",\"probes\",\"bits\"}, ...]}; `filter_error` says what is \
    wrong with a filter that --no-verify let through; `table` (null for a filter file) is {\"entries\",\
    \"key_bytes\",\"value_bytes\",\"first_key\",\"last_key\"}, where keys that are not UTF-8 come as \
    \"first_key_hex\" and \"last_key_hex\".")]
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
    filter_error: Option<String>,
    table: Option<TableReport>,
}

#[derive(Serialize)]
struct FilterReport {
    kind: &'static str,
    keys: u64,
    probes: Option<u8>,
    bits: u64,
    bits_per_key: f64,
    fill: Option<f64>,
    expected_fpp: f64,
    expected_fpp_from_fill: f64,
    measured_fpp: Option<f64>,
    measured_with: Option<u64>,
    hasher: String,
    hasher_id: u16,
    seed: u64,
    hasher_check: u32,
    compact: Option<CompactReport>,
    scalable: Option<ScalableReport>,
}

#[derive(Serialize)]
struct CompactReport {
    fingerprint_bits: u8,
    layers: usize,
}

#[derive(Serialize)]
struct ScalableReport {
    first_capacity: u64,
    target_fpp: f64,
    growth: u8,
    tightening: f64,
    layers: Vec<LayerReport>,
}

#[derive(Serialize)]
struct LayerReport {
    kind: &'static str,
    capacity: u64,
    keys: u64,
    probes: u8,
    bits: u64,
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
        let hashers = self.secret.hashers()?;
        let table = container::open_to_inspect(&self.file, &hashers, self.check)?;
        let properties = table.properties();
        let (filter, filter_error) = match table.filter_block() {
            Ok(Some(block)) => (Some(self.filter_report(&table, block, &hashers)?), None),
            Ok(None) => (None, None),
            Err(fault) => (None, Some(fault.to_string())),
        };
        let report = Report {
            file: self.file.display().to_string(),
            r#type: if table.is_filter_only() { "filter" } else { "table" },
            bytes: table.file_bytes(),
            writer: properties.writer.clone(),
            filter,
            filter_error,
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

    fn filter_report<B: AsRef<[u8]> + Clone>(
        &self,
        table: &TableReader,
        block: &FilterBlock<B>,
        hashers: &Hashers,
    ) -> Result<FilterReport, Failure> {
        let mut report = FilterReport::of(block);
        if let Some(sample) = self.measure {
            let filter = block.clone().with_hasher(hashers);
            let filter = filter.map_err(|fault| container::filter_failure(table, fault))?;
            report.measured_fpp = Some(measure_fpp(&filter, sample));
            report.measured_with = Some(sample);
        }
        Ok(report)
    }
}

impl FilterReport {
    fn of<B: AsRef<[u8]>>(block: &FilterBlock<B>) -> Self {
        let header = block.header();
        let (keys, container, layout) = (header.count, block.container(), block.compact_layout());
        let scalable = container.map(ScalableReport::of);
        // The directory of a scalable filter is left out.
        let bits = scalable.as_ref().map_or(header.bits, ScalableReport::bits);
        let is_bloom = matches!(block.kind(), Kind::Classic | Kind::Blocked);
        Self {
            kind: block.kind().name(),
            keys,
            probes: is_bloom.then_some(header.probes),
            bits,
            bits_per_key: if keys == 0 { 0.0 } else { bits as f64 / keys as f64 },
            fill: (block.kind() != Kind::Compact).then(|| block.fill()),
            expected_fpp: block.expected_fpp(),
            expected_fpp_from_fill: block.expected_fpp_from_fill(),
            measured_fpp: None,
            measured_with: None,
            hasher: header.hasher.id.to_string(),
            hasher_id: header.hasher.id.get(),
            seed: header.hasher.seed,
            hasher_check: header.hasher.check,
            compact: layout.map(|layout| CompactReport {
                fingerprint_bits: layout.fingerprint_bits(),
                layers: layout.layers(),
            }),
            scalable,
        }
    }

    fn print(&self, mut row: impl FnMut(&str, String) -> Result<(), Failure>) -> Result<(), Failure> {
        let kind = match (self.probes, &self.compact, &self.scalable) {
            (Some(probes), _, _) => format!("{}, {probes} probes", self.kind),
            (_, Some(compact), _) => {
                let CompactReport { fingerprint_bits, layers } = compact;
                format!("{}, {fingerprint_bits} fingerprint bits, {layers} layers", self.kind)
            }
            (_, _, Some(scalable)) => format!(
                "{}, first capacity {}, rate {}, growth {}, tightening {}",
                self.kind,
                count(scalable.first_capacity),
                percent(scalable.target_fpp),
                scalable.growth,
                scalable.tightening
            ),
            _ => self.kind.to_owned(),
        };
        row("kind", kind)?;
        for (number, layer) in self.scalable.iter().flat_map(|scalable| &scalable.layers).enumerate() {
            let name = if number == 0 { "layers, oldest" } else { "" };
            row(
                name,
                format!(
                    "{}, {} probes, {} of {} keys, {} bits",
                    layer.kind,
                    layer.probes,
                    count(layer.keys),
                    count(layer.capacity),
                    count(layer.bits)
                ),
            )?;
        }
        row("hasher", format!("{}, seed {}, check {:#010x}", self.hasher, self.seed, self.hasher_check))?;
        row("keys", format!("{}, as the filter counted them", count(self.keys)))?;
        row("bits", format!("{}, {:.2} per key", count(self.bits), self.bits_per_key))?;
        let by_keys = percent(self.expected_fpp);
        match self.fill {
            Some(fill) => {
                row("fill", percent(fill))?;
                let by_fill = percent(self.expected_fpp_from_fill);
                row("expected rate", format!("{by_keys} by the keys, {by_fill} by the fill"))?;
            }
            None => row("expected rate", format!("{by_keys}, whatever the keys"))?,
        }
        if let (Some(rate), Some(sample)) = (self.measured_fpp, self.measured_with) {
            row("measured rate", format!("{} of {} random keys", percent(rate), count(sample)))?;
        }
        Ok(())
    }
}

impl ScalableReport {
    fn of(container: &Container) -> Self {
        let params = container.params;
        let layers = (0..).zip(&container.layers).map(|(number, layer)| LayerReport {
            kind: container.layer_kind.name(),
            capacity: params.layer_capacity(number),
            keys: layer.header.count,
            probes: layer.header.probes,
            bits: layer.header.bits,
        });
        Self {
            first_capacity: params.first_capacity(),
            target_fpp: params.fpp(),
            growth: params.growth(),
            tightening: params.tightening(),
            layers: layers.collect(),
        }
    }

    fn bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits).sum()
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
        match (&self.filter, &self.filter_error) {
            (Some(filter), _) => filter.print(row),
            (None, Some(error)) => row("filter", error.clone()),
            (None, None) => row("filter", "none".to_owned()),
        }
    }
}
