//! `bloomline build`: a filter file from a file of keys.

use std::path::PathBuf;
use std::time::Instant;

use bloomline::filter::{Bloom, Schema};
use bloomline::hash::{Hasher, Hashers, KeyHash};
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{FilterBuilder, FilterReader, Membership, ScalableFilter};
use clap::Args;
use serde::Serialize;

use crate::container;
use crate::exit::{Failure, Outcome};
use crate::input::{LineArgs, Source};
use crate::output::{bytes, count, percent, print_report};
use crate::pipeline::hash_lines;
use crate::sizing::{FilterArgs, KindName, ScalableArgs, parse_keys};

/// Build a filter file from a file of keys
///
/// A regular file is read twice, once to count the keys and once to add them, in the memory of the filter and
/// a few buffers; one that then has another number of lines is refused. Standard input and pipes are read once, and take 8 more bytes for each key. With --capacity,
/// or --kind scalable, everything is read once and nothing but the filter is held. --kind compact takes 16 bytes
/// for each key and the filter, whatever the input is. The output appears whole or not at all, never in place of
/// the input or the file of the secret key, and is the same whatever the number of threads.
///
/// A file without keys gives a filter that calls every key absent. A key that comes twice is counted twice when
/// the filter is sized; only a compact filter and a scalable one take it for one.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline build keys.txt -o keys.blf\n  \
    bloomline build keys.txt -o keys.blf --fpp 0.001 --threads 2\n  \
    bloomline build keys.txt -o small.blf --kind compact --threads 2\n  \
    cut -f1 table.tsv | bloomline build - -o keys.blf --bits-per-key 12.5\n  \
    cut -f1 table.tsv | bloomline build - -o keys.blf --kind scalable --first-capacity 1e5\n  \
    bloomline build keys.txt -o shard.blf --capacity 1e6\n  \
    head -c 16 /dev/urandom > secret\n  \
    bloomline build keys.txt -o keyed.blf --hasher siphash-2-4 --key-file secret\n\n\
    JSON: {\"kind\",\"keys\",\"bits_per_key\",\"bytes\",\"expected_fpp\",\"seconds\"}; `keys` are the lines read, \
    `bits_per_key` the filter's bits for each of them, `bytes` the size of the file, `expected_fpp` the rate by \
    the bits that are set.")]
pub(super) struct Build {
    /// The keys, one a line; - is standard input
    keys: Source,
    /// The filter file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kind of filter
    #[arg(long, value_enum, default_value = "blocked")]
    kind: KindName,
    #[command(flatten)]
    filter: FilterArgs,
    /// Size the filter for N keys, not for those that are read: filters that are to be merged must be of one size.
    /// More keys than that are taken, at a higher rate
    #[arg(long, value_name = "N", value_parser = parse_keys)]
    capacity: Option<u64>,
    #[command(flatten)]
    scalable: ScalableArgs,
    /// Threads: one adds, the others read and hash; a compact filter is then solved by all
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    #[command(flatten)]
    lines: LineArgs,
    /// Print one JSON object in place of a sentence
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    kind: &'static str,
    keys: u64,
    bits_per_key: f64,
    bytes: u64,
    expected_fpp: f64,
    seconds: f64,
}

/// A filter, and what the report says of it.
struct Built {
    filter: Box<dyn Membership>,
    bits: u64,
    keys: u64,
}

impl Build {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let started = Instant::now();
        if self.kind != KindName::Scalable {
            self.scalable.refuse_if_given()?;
        }
        container::check_output(&self.output, [self.keys.clone()], &self.filter.hasher.secret)?;
        let built = match self.kind {
            KindName::Blocked => self.fixed::<BlockedParams>()?,
            KindName::Classic => self.fixed::<ClassicParams>()?,
            KindName::Compact => self.compact()?,
            KindName::Scalable => self.scalable()?,
        };
        let file_bytes = container::write_filter(&self.output, &*built.filter)?;
        let report = Report {
            kind: self.kind.kind().name(),
            keys: built.keys,
            bits_per_key: if built.keys == 0 { 0.0 } else { built.bits as f64 / built.keys as f64 },
            bytes: file_bytes,
            expected_fpp: built.filter.expected_fpp_from_fill(),
            seconds: started.elapsed().as_secs_f64(),
        };
        print_report(self.json, &report, |report, out| out.text(self.sentence(report)))?;
        Ok(Outcome::Success)
    }

    /// A Bloom filter of fixed size, for as many keys as the input turns out to have unless --capacity says.
    fn fixed<P: Schema + 'static>(&self) -> Result<Built, Failure> {
        self.filter.options(P::KIND)?;
        let hasher = self.filter.hasher()?;
        let (filter, keys) = match self.capacity {
            Some(capacity) => {
                let mut filter = self.empty::<P>(capacity, &hasher)?;
                let keys = self.add_all(&hasher, |hashes| filter.add_hashes(hashes))?;
                (filter, keys)
            }
            None if self.keys.is_regular_file() => self.in_two_passes::<P>(&hasher)?,
            None => self.in_one_pass::<P>(&hasher)?,
        };
        Ok(Built { bits: filter.params().bits(), filter: Box::new(filter), keys })
    }

    /// Counts, makes a filter that fits, adds.
    fn in_two_passes<P: Schema>(&self, hasher: &Hasher) -> Result<(Bloom<P>, u64), Failure> {
        let keys = self.keys.open("counting keys")?.count()?;
        let mut filter = self.empty::<P>(keys, hasher)?;
        let added = self.add_all(hasher, |hashes| filter.add_hashes(hashes))?;
        if added != keys {
            let problem = format!("changed while it was read: {keys} keys at first, then {added}");
            return Err(Failure::input(&self.keys, problem));
        }
        Ok((filter, keys))
    }

    /// Collects hashes until the number of keys is known.
    fn in_one_pass<P: Schema>(&self, hasher: &Hasher) -> Result<(Bloom<P>, u64), Failure> {
        let mut hashes: Vec<KeyHash> = Vec::new();
        let keys = self.hash_all("reading keys", hasher, |more| {
            hashes
                .try_reserve(more.len())
                .map_err(|_| Failure::input(&self.keys, "no memory for the hashes of so many keys"))?;
            hashes.extend_from_slice(more);
            Ok(())
        })?;
        let mut filter = self.empty::<P>(keys, hasher)?;
        filter.add_hashes(&hashes);
        Ok((filter, keys))
    }

    fn empty<P: Schema>(&self, keys: u64, hasher: &Hasher) -> Result<Bloom<P>, Failure> {
        let params = self.filter.params::<P>(keys)?;
        Bloom::with_hasher(params, hasher.clone()).map_err(|error| self.filter.refuse(error))
    }

    /// A compact filter, solved when all keys are known.
    fn compact(&self) -> Result<Built, Failure> {
        if self.capacity.is_some() {
            return Err(Failure::input("--capacity", "a compact filter has the size of its keys"));
        }
        let options = self.filter.options(self.kind.kind())?;
        let mut builder = FilterBuilder::new(options.threads(self.threads.into()));
        let hasher = builder.hasher().clone();
        let keys = self.hash_all("reading keys", &hasher, |hashes| {
            hashes.iter().for_each(|&hash| builder.add_hash(hash));
            Ok(())
        })?;
        let block = builder.finish().map_err(|error| self.filter.refuse(error))?;
        let filter = FilterReader::open_unverified(block, &Hashers::new().with_application(hasher))
            .map_err(|error| Failure::input("filter", error))?;
        Ok(Built { bits: filter.header().bits, filter: Box::new(filter), keys })
    }

    /// A filter that grows while it is filled.
    fn scalable(&self) -> Result<Built, Failure> {
        if self.capacity.is_some() {
            return Err(Failure::input("--capacity", "a scalable filter grows, expected --first-capacity"));
        }
        self.filter.load.refuse_if_given()?;
        let params = self.scalable.params(self.filter.budget)?;
        let hasher = self.filter.hasher()?;
        let mut filter = ScalableFilter::<BlockedParams>::with_hasher(params, hasher.clone())
            .map_err(|error| self.filter.refuse(error))?;
        let keys = self.add_all(&hasher, |hashes| filter.add_hashes(hashes))?;
        if let Some(error) = filter.growth_failure() {
            let layers = filter.layers().len();
            let problem = format!("too small: the filter could not grow past {layers} layers: {error}");
            return Err(Failure::input("--first-capacity", problem));
        }
        Ok(Built { bits: filter.bytes() as u64 * 8, filter: Box::new(filter), keys })
    }

    /// Hands the hashes of all keys to a filter, and returns the number of keys.
    fn add_all(&self, hasher: &Hasher, mut add: impl FnMut(&[KeyHash]) -> u64) -> Result<u64, Failure> {
        self.hash_all("adding keys", hasher, |hashes| {
            add(hashes);
            Ok(())
        })
    }

    fn hash_all(
        &self,
        label: &'static str,
        hasher: &Hasher,
        use_hashes: impl FnMut(&[KeyHash]) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let lines = self.keys.open(label)?;
        hash_lines(lines, self.lines.ends(), hasher, self.threads.into(), use_hashes)
    }

    fn sentence(&self, report: &Report) -> String {
        // What nobody means to make, and what would be noticed too late.
        let warning = match self.capacity {
            _ if report.keys == 0 => "; no keys: it calls every key absent".to_owned(),
            Some(capacity) if report.keys > capacity => {
                format!("; more keys than its capacity of {}", count(capacity))
            }
            _ => String::new(),
        };
        format!(
            "{}: {} keys, {:.2} bits per key, {}, expected false-positive rate {}, {:.2} s{warning}",
            self.output.display(),
            count(report.keys),
            report.bits_per_key,
            bytes(report.bytes),
            percent(report.expected_fpp),
            report.seconds
        )
    }
}
