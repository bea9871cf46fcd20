//! Filters to begin with: of every kind and hasher, with their keys known.

use arbitrary::Arbitrary;
use bloomline::filter::{Bloom, Schema};
use bloomline::format::Kind;
use bloomline::hash::{Hasher, HasherId, Hashers, KeyHash, SecretKey};
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{FilterBuilder, FilterOptions, ScalableFilter, filter::Budget};

/// A hasher, of every id and of two that are an application's.
#[derive(Arbitrary, Debug, Clone, Copy)]
pub enum AnyHasher {
    /// XXH3.
    Xxh3(u64),
    /// MurmurHash3.
    Murmur3(u32),
    /// FNV-1a.
    Fnv1a,
    /// SipHash under a key.
    SipHash(u8),
    /// A poor one: the first 8 bytes of the key. The fuzzer then chooses hashes.
    Prefix(u64),
}

impl AnyHasher {
    /// The hasher.
    pub fn hasher(self) -> Hasher {
        match self {
            Self::Xxh3(seed) => Hasher::xxh3_64(seed),
            Self::Murmur3(seed) => Hasher::murmur3_x64_128(seed),
            Self::Fnv1a => Hasher::fnv1a_64(),
            Self::SipHash(byte) => Hasher::siphash_2_4(SecretKey::from_bytes([byte; 16])),
            Self::Prefix(seed) => Hasher::application(HasherId::FIRST_APPLICATION, seed, |key: &[u8]| {
                let mut bytes = [0; 8];
                let length = key.len().min(8);
                bytes[..length].copy_from_slice(&key[..length]);
                u64::from_le_bytes(bytes)
            })
            .expect("an id of the applications' range"),
        }
    }

    /// What a reader needs for a block of this hasher.
    pub fn hashers(self) -> Hashers {
        Hashers::new().with_application(self.hasher())
    }
}

/// Keys: a run of numbers, and any others.
#[derive(Arbitrary, Debug, Clone)]
pub struct Keys {
    first: u8,
    count: u16,
    others: Vec<Vec<u8>>,
}

impl Keys {
    /// The keys, those of the run at most `most`.
    pub fn keys(&self, most: u16) -> Vec<Vec<u8>> {
        let run =
            (0..self.count % most.max(1)).map(|i| (u64::from(self.first) << 16 | u64::from(i)).to_le_bytes());
        run.map(|key| key.to_vec()).chain(self.others.iter().cloned()).collect()
    }
}

/// The options of a scalable filter.
#[derive(Arbitrary, Debug, Clone, Copy)]
pub struct Growing {
    first: u8,
    fpp: u8,
    by_four: bool,
    tightening: u8,
}

impl Growing {
    /// The options: a first layer of 1 to 256 keys, a rate of 0.2% to 50%.
    pub fn params(self) -> ScalableParams {
        ScalableParams::new(u64::from(self.first) + 1, (f64::from(self.fpp) + 1.0) / 512.0)
            .and_then(|params| params.with_growth(if self.by_four { 4 } else { 2 }))
            .and_then(|params| params.with_tightening(0.5 + f64::from(self.tightening % 5) / 10.0))
            .expect("options in range")
    }
}

/// How a filter is made.
#[derive(Arbitrary, Debug, Clone, Copy)]
pub enum Make {
    /// Of so many lines and probes.
    Blocked {
        /// Less one.
        lines: u8,
        /// Less one.
        probes: u8,
    },
    /// Of so many bits and probes.
    Classic {
        /// Less one.
        bits: u16,
        /// Less one.
        probes: u8,
    },
    /// By the builder, for a rate.
    Built {
        /// Classic, blocked or compact.
        kind: u8,
        /// The rate is two to the power of minus 1 to 16.
        rate: u8,
        /// Of a compact filter: 80 to 130.
        load: u8,
    },
    /// A scalable filter with blocked layers.
    GrowingBlocked(Growing),
    /// A scalable filter with classic layers.
    GrowingClassic(Growing),
}

/// A filter block and what is known of it.
#[derive(Arbitrary, Debug, Clone)]
pub struct Recipe {
    /// How it is made.
    pub make: Make,
    /// Its hasher.
    pub hasher: AnyHasher,
    /// Its keys.
    pub keys: Keys,
}

/// Most keys of a run.
const RUN: u16 = 1500;

impl Recipe {
    /// The hashes of the keys.
    pub fn hashes(&self) -> Vec<KeyHash> {
        let hasher = self.hasher.hasher();
        self.keys.keys(RUN).iter().map(|key| hasher.hash(key)).collect()
    }

    /// The block.
    pub fn block(&self) -> Vec<u8> {
        let hashes = self.hashes();
        match self.make {
            Make::Blocked { lines, probes } => {
                let bits = (u64::from(lines) + 1) * 512;
                self.fixed(
                    BlockedParams::explicit(bits, u32::from(probes) % 30 + 1).expect("in range"),
                    &hashes,
                )
            }
            Make::Classic { bits, probes } => {
                let params = ClassicParams::explicit(u64::from(bits) + 1, u32::from(probes) % 64 + 1);
                self.fixed(params.expect("in range"), &hashes)
            }
            Make::Built { kind, rate, load } => {
                let kind = [Kind::Classic, Kind::Blocked, Kind::Compact][usize::from(kind % 3)];
                let budget = Budget::Fpp(0.5_f64.powi(i32::from(rate % 16) + 1));
                let options = FilterOptions::default().kind(kind).budget(budget).hasher(self.hasher.hasher());
                let mut builder = FilterBuilder::new(options.compact_load(80 + u16::from(load) % 51));
                hashes.iter().for_each(|&hash| builder.add_hash(hash));
                builder.finish().expect("a rate that all kinds have")
            }
            Make::GrowingBlocked(growing) => self.growing::<BlockedParams>(growing, &hashes),
            Make::GrowingClassic(growing) => self.growing::<ClassicParams>(growing, &hashes),
        }
    }

    fn fixed<P: Schema>(&self, params: P, hashes: &[KeyHash]) -> Vec<u8> {
        let mut filter = Bloom::with_hasher(params, self.hasher.hasher()).expect("memory");
        filter.add_hashes(hashes);
        filter.encode()
    }

    fn growing<P: Schema>(&self, growing: Growing, hashes: &[KeyHash]) -> Vec<u8> {
        let mut filter =
            ScalableFilter::<P>::with_hasher(growing.params(), self.hasher.hasher()).expect("memory");
        filter.add_hashes(hashes);
        filter.encode()
    }
}
