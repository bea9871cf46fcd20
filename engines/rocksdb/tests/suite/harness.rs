//! A database beside its model.

use std::collections::BTreeMap;
use std::path::Path;

use bloomline_rocksdb::FilterPolicy;
use rocksdb::{BlockBasedOptions, DB, IteratorMode, Options};
use tempfile::TempDir;

/// Keys of 16 bytes whose order is not the order of their numbers; `kind` separates families that never meet.
pub(crate) fn key(kind: u8, number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key[8] = kind;
    key[9..].copy_from_slice(&number.to_be_bytes()[1..]);
    key
}

/// A key that is written.
pub(crate) fn present(number: u64) -> [u8; 16] {
    key(1, number)
}

/// A key that is never written.
pub(crate) fn absent(number: u64) -> [u8; 16] {
    key(0, number)
}

/// A kind of filter that Bloomline builds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sort {
    /// The policy's text.
    pub(crate) id: &'static str,
    /// The false-positive rate of its filters.
    pub(crate) rate: f64,
    /// Whether a stock RocksDB uses its filters.
    pub(crate) stock: bool,
    /// The first byte of its trailers.
    pub(crate) marker: u8,
}

/// Both kinds, at about the same rate. What holds of filters holds of each.
pub(crate) const SORTS: [Sort; 2] = [
    Sort { id: "blocked:10", rate: 0.0096, stock: true, marker: 0xff },
    Sort { id: "compact:0.01", rate: 0.0078125, stock: false, marker: 0xb3 },
];

impl Sort {
    /// A new policy.
    pub(crate) fn policy(self) -> FilterPolicy {
        self.id.parse().expect("a policy")
    }

    /// Whether a rate measured over some ten thousand lookups is the kind's.
    pub(crate) fn has_rate(self, measured: f64) -> bool {
        (measured / self.rate - 1.0).abs() < 0.25
    }
}

/// Options that count, do not compact by themselves, and create.
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    options.set_disable_auto_compactions(true);
    options
}

/// Options with a stock RocksDB filter.
pub(crate) fn stock(set: impl FnOnce(&mut BlockBasedOptions)) -> Options {
    let mut options = options();
    let mut table = BlockBasedOptions::default();
    set(&mut table);
    options.set_block_based_table_factory(&table);
    options
}

/// A folder that is removed at the end of the test.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// What a database must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model(pub(crate) BTreeMap<Vec<u8>, Vec<u8>>);

impl Model {
    /// Writes to both.
    pub(crate) fn put(&mut self, db: &DB, key: &[u8], value: &[u8]) {
        db.put(key, value).expect("put");
        self.0.insert(key.to_vec(), value.to_vec());
    }

    /// Deletes from both.
    pub(crate) fn delete(&mut self, db: &DB, key: &[u8]) {
        db.delete(key).expect("delete");
        self.0.remove(key);
    }

    /// Writes `present` keys of the range, four memtables of them, and flushes each.
    pub(crate) fn fill(&mut self, db: &DB, numbers: std::ops::Range<u64>) {
        let quarter = (numbers.end - numbers.start).div_ceil(4).max(1);
        for (count, number) in numbers.enumerate() {
            self.put(db, &present(number), format!("value {number}").as_bytes());
            if (count as u64 + 1).is_multiple_of(quarter) {
                db.flush().expect("flush");
            }
        }
        db.flush().expect("flush");
    }

    /// Everything in the model is in the database, by `get`, by `multi_get` and by a scan; `absent` keys are not.
    pub(crate) fn check(&self, db: &DB, absent_keys: u64) {
        for (key, value) in &self.0 {
            assert_eq!(db.get(key).expect("get").as_ref(), Some(value), "get {key:?}");
        }
        let keys: Vec<&Vec<u8>> = self.0.keys().collect();
        for keys in keys.chunks(100) {
            let got = db.multi_get(keys);
            for (key, got) in keys.iter().zip(got) {
                assert_eq!(got.expect("multi_get").as_ref(), self.0.get(*key), "multi_get {key:?}");
            }
        }
        let scanned: Vec<_> = db.iterator(IteratorMode::Start).map(|item| item.expect("scan")).collect();
        assert_eq!(scanned.len(), self.0.len(), "scan");
        for ((key, value), (got_key, got_value)) in self.0.iter().zip(&scanned) {
            assert_eq!((key.as_slice(), value.as_slice()), (&**got_key, &**got_value), "scan");
        }
        self.check_absent(db, absent_keys);
    }

    /// No `absent` key is found, alone or in batches.
    pub(crate) fn check_absent(&self, db: &DB, absent_keys: u64) {
        let keys: Vec<[u8; 16]> = (0..absent_keys).map(absent).collect();
        for keys in keys.chunks(100) {
            for got in db.multi_get(keys) {
                assert_eq!(got.expect("multi_get"), None);
            }
            for key in keys {
                assert_eq!(db.get(key).expect("get"), None, "get {key:?}");
            }
        }
    }
}

/// Opens a database.
pub(crate) fn open(options: &Options, path: &Path) -> DB {
    DB::open(options, path).expect("open")
}

/// A small generator with a printed seed (`SplitMix64`, Steele, Lea and Flood 2014).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// An index below `bound`.
    pub(crate) fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).expect("below a usize")
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}
