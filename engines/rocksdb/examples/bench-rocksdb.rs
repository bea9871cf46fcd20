//! Bloomline's filters beside RocksDB's own, in one run: bits, rate, build, lookup, and whole databases.
//!
//! ```text
//! cargo run --release -p bloomline-rocksdb --example bench-rocksdb -- [--keys N,N,…] [--rounds N] [--db-keys N]
//! ```
//!
//! Every contender gets the same keys through RocksDB's own interfaces: the virtual `AddKey`, `Finish`, `MayMatch` and
//! `HashMayMatch` of the objects that a table would get, called from C++ in a loop. `HashMayMatch` takes the hash of a
//! key, ready: the filter itself, where `MayMatch` hashes 20 bytes first. "The library by itself" asks the same lines
//! by ready hash from Rust, without RocksDB's interface, its unaligned memory and the plugin's counters. Answers are checked before anything is
//! timed, and every timed pass must give the count of the checked one. Rounds are interleaved (each contender once per
//! round, in turn), and the medians are printed, so that a machine that slows down slows all of them.

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use bloomline::KeyHash;
use bloomline::compact::{self, CompactLayout};
use bloomline::filter::FilterBlock;
use bloomline::format::HEADER_BYTES;
use bloomline::line::{LINE_BYTES, LineBuf};
use bloomline::probe::{Backend, Probe};
use bloomline::sizing::{BlockedParams, CompactParams};
use bloomline_rocksdb::testing::{BitsBuilder, BitsReader, Keys, Policy, key_hash};
use bloomline_rocksdb::{FilterPolicy, Tickers, inspect};
use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch};

/// A column of the tables: its name and the policy that the object registry knows it by.
const CONTENDERS: [(&str, &str); 4] = [
    ("Bloomline blocked", "bloomline:blocked:10"),
    // At a rate below that of the Bloom filters: 1/128.
    ("Bloomline compact", "bloomline:compact:0.009"),
    ("RocksDB Bloom", "bloomfilter:10"),
    ("RocksDB Ribbon", "ribbonfilter:10:-1"),
];

/// Keys of one timed pass of lookups. They stay in the second-level cache, and are too many for a branch
/// predictor to learn their answers.
const LOOKUPS: u64 = 64 << 10;
/// Absent keys that measure a rate.
const RATE_KEYS: u64 = 2_000_000;
/// Keys handed to a builder or a reader at a time.
const CHUNK: u64 = 500_000;
/// Passes of lookups in each round: they are short, and a build is long.
const PASSES: usize = 5;
/// The data cache of the database runs.
const CACHE_BYTES: usize = 8 << 20;
/// Lookups of one timed pass over a database.
const GETS: usize = 50_000;

/// 20 bytes: a prefix, and a number spread over its range so that neighbours in number are not so in order.
/// Even numbers are written, odd ones are absent.
fn key(number: u64) -> [u8; 20] {
    let mut key = *b"user________________";
    key[4..12].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key[12..].copy_from_slice(&number.to_be_bytes());
    key
}

/// 0..keys in ranges of [`CHUNK`].
fn chunks(keys: u64) -> impl Iterator<Item = Range<u64>> {
    (0..keys.div_ceil(CHUNK)).map(move |chunk| chunk * CHUNK..keys.min((chunk + 1) * CHUNK))
}

fn present(range: Range<u64>) -> Keys {
    Keys::new(range.map(|number| key(number * 2)))
}

fn absent(range: Range<u64>) -> Keys {
    Keys::new(range.map(|number| key(number * 2 + 1)))
}

/// Numbers of the keys, in an order that visits the filter at random.
fn scattered(keys: u64) -> impl Iterator<Item = u64> {
    (0..LOOKUPS).map(move |i| i.wrapping_mul(0x2545_F491_4F6C_DD1D) % keys)
}

/// Keys to look up, and their hashes.
struct Sample {
    keys: Keys,
    hashes: Vec<u64>,
}

impl Sample {
    fn new(keys: impl Iterator<Item = [u8; 20]>) -> Self {
        let keys: Vec<_> = keys.collect();
        Self { hashes: keys.iter().map(|key| key_hash(key)).collect(), keys: Keys::new(keys) }
    }
}

/// Bloomline's filter of a block, asked by itself. Its lines are copied to where a filter of the library has them: each
/// in one line of the cache, where RocksDB's buffers start anywhere.
struct Library {
    lines: LineBuf,
    schema: Schema,
}

enum Schema {
    Blocked(BlockedParams),
    Compact(CompactLayout),
}

impl Library {
    /// The filter in a block of the plugin's, less RocksDB's trailer of five bytes.
    fn of(block: &[u8], policy: &str) -> Option<Self> {
        let (body, trailer) = block.split_last_chunk::<5>()?;
        let (schema, bytes) = if policy.starts_with("bloomline:blocked") {
            let params = BlockedParams::explicit(body.len() as u64 * 8, trailer[2].into()).ok()?;
            (Schema::Blocked(params), body)
        } else if policy.starts_with("bloomline:compact") {
            let layout = FilterBlock::open(body).ok()?.compact_layout()?.clone();
            (Schema::Compact(layout), body.get(HEADER_BYTES..)?)
        } else {
            return None;
        };
        let mut lines = LineBuf::zeroed(bytes.len() / LINE_BYTES).ok()?;
        lines.lines_mut().as_flattened_mut().copy_from_slice(bytes);
        Some(Self { lines, schema })
    }

    /// Makes the lines anew from the hashes of all keys.
    fn build(&self, hashes: &[KeyHash]) -> LineBuf {
        match &self.schema {
            Schema::Blocked(params) => {
                let mut lines = LineBuf::zeroed(self.lines.len()).expect("memory for a filter");
                params.add_batch(Backend::detect(), lines.lines_mut(), hashes);
                lines
            }
            Schema::Compact(layout) => {
                let params = CompactParams::new(layout.fingerprint_bits()).expect("those of a filter");
                compact::build(hashes, params, 1).expect("memory for a filter").lines
            }
        }
    }

    fn count_hashes(&self, hashes: &[u64]) -> usize {
        let (backend, lines) = (Backend::detect(), self.lines.lines());
        let hashes = hashes.iter().map(|&hash| KeyHash::new(hash));
        match &self.schema {
            &Schema::Blocked(params) => {
                hashes.filter(move |&hash| params.might_contain(backend, lines, hash)).count()
            }
            Schema::Compact(layout) => {
                let view = layout.view(backend, lines).expect("the lines of the layout");
                hashes.filter(move |&hash| view.might_contain(hash)).count()
            }
        }
    }
}

type Count = fn(&BitsReader<'_>, &Sample) -> usize;

/// How a lookup is asked for: a row of the tables for absent keys, and one for present ones.
const LOOKUP_KINDS: [(&str, Count); 3] = [
    ("", |reader, sample| reader.count(&sample.keys)),
    (", ready hash", |reader, sample| reader.count_hashes(&sample.hashes)),
    (", batches of 32", |reader, sample| reader.count_batched(&sample.keys, 32)),
];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// Nanoseconds per item of one call.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn time<T>(items: u64, call: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(call());
    start.elapsed().as_nanos() as f64 / items as f64
}

/// Prints one row of a table.
fn row(name: &str, values: impl IntoIterator<Item = String>) {
    print!("| {name:34} |");
    values.into_iter().for_each(|value| print!(" {value:>18} |"));
    println!();
}

fn header(title: &str) {
    println!();
    row(title, CONTENDERS.map(|(name, _)| name.to_owned()));
    println!("|{:-<36}|{}", "", format!("{:->19}:|", "").repeat(CONTENDERS.len()));
}

/// Builds the filter of `keys` keys; returns the builder, and the nanoseconds per key of all and of the part that the
/// hashes don't take, [`BitsBuilder::finish`].
fn build(policy: &Policy, keys: u64) -> (BitsBuilder, [f64; 2]) {
    let mut builder = policy.builder(3, false).expect("a policy that builds filters");
    let mut adding = 0.0;
    for chunk in chunks(keys).map(present) {
        adding += time(1, || builder.add(&chunk));
    }
    let finishing = time(1, || builder.finish().map(<[u8]>::len));
    (builder, [adding + finishing, finishing].map(|spent| spent / ratio(keys, 1)))
}

/// The filters by themselves.
fn filters(keys: u64, rounds: usize) {
    let policies = CONTENDERS.map(|(_, id)| Policy::named(id).expect("a registered policy"));
    let builders: Vec<BitsBuilder> = policies.iter().map(|policy| build(policy, keys).0).collect();
    let blocks: Vec<&[u8]> =
        builders.iter().map(|builder| builder.block().expect("a finished filter")).collect();
    let readers: Vec<_> = policies.iter().zip(&blocks).map(|(policy, block)| policy.reader(block)).collect();
    let libraries: Vec<_> =
        blocks.iter().zip(CONTENDERS).map(|(block, (_, id))| Library::of(block, id)).collect();

    let mut rates = Vec::new();
    for (reader, (name, _)) in readers.iter().zip(CONTENDERS) {
        for chunk in chunks(keys).map(present) {
            assert_eq!(reader.count(&chunk), chunk.len(), "{name} denies a key");
            assert_eq!(reader.count_batched(&chunk, 32), chunk.len(), "{name} denies a key of a batch");
        }
        let mut positives = 0;
        for chunk in chunks(RATE_KEYS).map(absent) {
            let count = reader.count(&chunk);
            assert_eq!(reader.count_batched(&chunk, 32), count, "{name} answers batches differently");
            positives += count as u64;
        }
        rates.push(ratio(positives, RATE_KEYS));
    }

    let samples = [
        ("absent", Sample::new(scattered(keys.max(LOOKUPS)).map(|number| key(number * 2 + 1)))),
        ("present", Sample::new(scattered(keys).map(|number| key(number * 2)))),
    ];
    let mut builds = vec![[const { Vec::new() }; 2]; CONTENDERS.len()];
    let hashes: Vec<_> = (0..keys).map(|number| KeyHash::new(key_hash(&key(number * 2)))).collect();
    let mut by_itself = vec![[const { Vec::new() }; 2]; CONTENDERS.len()];
    let mut builds_by_itself = vec![Vec::new(); CONTENDERS.len()];
    let mut lookups = vec![[const { [const { Vec::new() }; 2] }; LOOKUP_KINDS.len()]; CONTENDERS.len()];
    for _ in 0..rounds {
        for (at, (policy, reader)) in policies.iter().zip(&readers).enumerate() {
            for (times, spent) in builds[at].iter_mut().zip(build(policy, keys).1) {
                times.push(spent);
            }
            // The build has driven this filter out of the cache: a pass that is not timed brings it back.
            let maybe = samples.each_ref().map(|(_, sample)| reader.count(&sample.keys));
            for _ in 0..PASSES {
                for ((_, count), times) in LOOKUP_KINDS.iter().zip(&mut lookups[at]) {
                    for (((_, sample), times), maybe) in samples.iter().zip(times).zip(maybe) {
                        let mut counted = 0;
                        times.push(time(LOOKUPS, || counted = count(reader, sample)));
                        assert_eq!(counted, maybe, "{} answers differently when timed", CONTENDERS[at].0);
                    }
                }
            }
            let Some(library) = &libraries[at] else { continue };
            let mut built = None;
            builds_by_itself[at].push(time(keys, || built = Some(library.build(&hashes))));
            assert!(built.is_some_and(|built| built.lines() == library.lines.lines()));
            library.count_hashes(&samples[0].1.hashes);
            for _ in 0..PASSES {
                for (((_, sample), times), maybe) in samples.iter().zip(&mut by_itself[at]).zip(maybe) {
                    let mut counted = 0;
                    times.push(time(LOOKUPS, || counted = library.count_hashes(&sample.hashes)));
                    assert_eq!(counted, maybe, "the library answers otherwise than the plugin");
                }
            }
        }
    }

    header(&format!("filter of {keys} keys"));
    row("bits per key", blocks.iter().map(|b| format!("{:.3}", ratio(b.len() as u64 * 8, keys))));
    row("false positives", rates.iter().map(|rate| format!("{:.3}%", rate * 100.0)));
    for (name, part) in [("build, ns/key", 0), ("build, of ready hashes, ns/key", 1)] {
        row(name, builds.iter().map(|times| format!("{:.1}", median(times[part].clone()))));
    }
    for (kind, (suffix, _)) in LOOKUP_KINDS.iter().enumerate() {
        for (at, (which, _)) in samples.iter().enumerate() {
            let medians = lookups.iter().map(|times| format!("{:.1}", median(times[kind][at].clone())));
            row(&format!("lookup {which}{suffix}, ns"), medians);
        }
    }
    let medians_by_itself = |times: &mut dyn Iterator<Item = &Vec<f64>>| -> Vec<String> {
        let text = |times: &Vec<f64>| format!("{:.1}", median(times.clone()));
        times.map(|times| if times.is_empty() { "–".to_owned() } else { text(times) }).collect()
    };
    row("the library by itself, build", medians_by_itself(&mut builds_by_itself.iter()));
    for (at, (which, _)) in samples.iter().enumerate() {
        let times = medians_by_itself(&mut by_itself.iter().map(|times| &times[at]));
        row(&format!("the library by itself, {which}"), times);
    }
}

/// Whole databases: every level's reads, a data cache smaller than the data.
fn databases(keys: u64, rounds: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut databases = Vec::new();
    for (at, (_, id)) in CONTENDERS.into_iter().enumerate() {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.enable_statistics();
        options.set_block_based_table_factory(&table);
        let options =
            options.get_options_from_string(format!("block_based_table_factory={{filter_policy={id}}}"))?;
        let path = folder.path().join(at.to_string());
        let db = DB::open(&options, &path)?;
        let mut batch = WriteBatch::default();
        for number in 0..keys {
            batch.put(key(number * 2), [b'v'; 100]);
            if batch.len() == 1000 {
                db.write(std::mem::take(&mut batch))?;
            }
        }
        db.write(batch)?;
        db.compact_range::<&[u8], &[u8]>(None, None);
        databases.push((db, options, path));
    }

    let get = |db: &DB, odd: u64, found: bool| {
        scattered(keys).take(GETS).for_each(|number| {
            let got = db.get_pinned(key(number * 2 + odd)).expect("get");
            assert_eq!(got.is_some(), found);
        });
    };
    let mut times = vec![[const { Vec::new() }; 2]; CONTENDERS.len()];
    for _ in 0..rounds {
        for ((db, ..), times) in databases.iter().zip(&mut times) {
            times[0].push(time(GETS as u64, || get(db, 1, false)));
            times[1].push(time(GETS as u64, || get(db, 0, true)));
        }
    }
    let mut memory = Vec::new();
    let mut rates = Vec::new();
    for (_, options, path) in &databases {
        memory.push(inspect::folder(path)?.iter().map(|table| table.filter_bytes).sum::<u64>());
        rates.push(Tickers::read(options).and_then(Tickers::false_positive_rate).unwrap_or(f64::NAN));
    }
    header(&format!("database of {keys} keys"));
    row("filter memory, KiB", memory.iter().map(|bytes| format!("{:.0}", ratio(*bytes, 1024))));
    row("false positives (tickers)", rates.iter().map(|rate| format!("{:.3}%", rate * 100.0)));
    row("get absent, ns", times.iter().map(|times| format!("{:.0}", median(times[0].clone()))));
    row("get present, ns", times.iter().map(|times| format!("{:.0}", median(times[1].clone()))));
    Ok(())
}

/// The machine, and how both sides were compiled.
fn describe() {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let build = if cfg!(target_feature = "avx2") {
        "a build for this processor: RocksDB's AVX2 path"
    } else {
        "a default build: RocksDB's portable path"
    };
    println!("{}, {build}.", model.map_or("unknown processor", |(_, name)| name));
}

struct Arguments {
    keys: Vec<u64>,
    rounds: usize,
    db_keys: u64,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments =
        Arguments { keys: vec![100_000, 1_000_000, 10_000_000], rounds: 7, db_keys: 2_000_000 };
    let mut given = env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--keys" => arguments.keys = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--rounds" => arguments.rounds = value.parse()?,
            "--db-keys" => arguments.db_keys = value.parse()?,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    let counts = arguments.keys.iter().chain([&arguments.db_keys]);
    if arguments.rounds == 0 || counts.into_iter().any(|&keys| keys == 0) {
        return Err("keys and rounds must be at least 1".into());
    }
    Ok(arguments)
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    FilterPolicy::register()?;
    describe();
    arguments.keys.iter().for_each(|&keys| filters(keys, arguments.rounds));
    databases(arguments.db_keys, arguments.rounds)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-rocksdb: {error}");
            ExitCode::from(2)
        }
    }
}
