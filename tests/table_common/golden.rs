//! The recipe of the golden files: what `examples/make_golden.rs` wrote once, and what the files are held against.

use std::path::Path;

use bloomline::error::TableError;
use bloomline::filter::Budget;
use bloomline::format::Kind;
use bloomline::hash::{Hasher, HasherId, SecretKey};
use bloomline::table::write_filter_block;
use bloomline::{FilterBuilder, FilterOptions, TableOptions, TableWriter};

/// One golden file.
#[derive(Debug)]
pub(crate) struct Golden {
    /// The file's name; its end says whether it is a table.
    pub(crate) name: &'static str,
    /// The kind of its filter, if it has one.
    pub(crate) kind: Option<Kind>,
    /// The hasher of its filter, by name and seed. The secret key is [`secret_key`].
    pub(crate) hasher: (HasherId, u64),
    /// Its keys are [`key`] of 0 up to this.
    pub(crate) keys: u32,
    /// What is special about it.
    pub(crate) what: &'static str,
}

/// The files of version 1.
pub(crate) const GOLDEN: [Golden; 11] = {
    use HasherId as Id;
    use Kind::{Blocked, Classic};
    const fn file(
        name: &'static str,
        kind: Option<Kind>,
        hasher: (HasherId, u64),
        keys: u32,
        what: &'static str,
    ) -> Golden {
        Golden { name, kind, hasher, keys, what }
    }
    let xxh3 = (Id::XXH3_64, 0);
    [
        file("v1-blocked.filter", Some(Blocked), xxh3, 1000, "the default"),
        file("v1-classic.filter", Some(Classic), xxh3, 1000, "probes anywhere"),
        file("v1-empty.filter", Some(Blocked), xxh3, 0, "no keys and no lines"),
        file(
            "v1-seeded.filter",
            Some(Blocked),
            (Id::XXH3_64, 0x0123_4567_89AB_CDEF),
            100,
            "a seed of 64 bits",
        ),
        file("v1-murmur3.filter", Some(Blocked), (Id::MURMUR3_X64_128, 42), 100, "a seed of 32 bits"),
        file("v1-fnv1a.filter", Some(Classic), (Id::FNV1A_64, 0), 100, "a hasher without a seed"),
        file("v1-siphash.filter", Some(Blocked), (Id::SIPHASH_2_4, 0), 100, "the secret key 00 01 .. 0f"),
        file("v1-blocked.table", Some(Blocked), xxh3, 500, "data blocks of 1 KiB and a filter"),
        file("v1-classic.table", Some(Classic), xxh3, 100, "one data block and a classic filter"),
        file("v1-plain.table", None, xxh3, 500, "data blocks of 1 KiB and no filter"),
        file("v1-empty.table", Some(Blocked), xxh3, 0, "no entries and an empty filter"),
    ]
};

/// Key number `i`, in ascending order. The file's keys are the first of them; all others are absent.
pub(crate) fn key(i: u32) -> Vec<u8> {
    format!("golden/{:04}/{i:08}", i / 100).into_bytes()
}

/// The value of key number `i`: the number in decimal, 0 to 4 times.
pub(crate) fn value(i: u32) -> Vec<u8> {
    i.to_string().repeat(i as usize % 5).into_bytes()
}

/// The secret key of the keyed file.
pub(crate) fn secret_key() -> SecretKey {
    SecretKey::from_bytes(std::array::from_fn(|i| u8::try_from(i).unwrap_or_default()))
}

impl Golden {
    /// True for a table, false for a filter file.
    pub(crate) fn is_table(&self) -> bool {
        self.name.ends_with(".table")
    }

    fn hasher(&self) -> Hasher {
        match self.hasher {
            (HasherId::SIPHASH_2_4, _) => Hasher::siphash_2_4(secret_key()),
            (id, seed) => Hasher::from_seed(id, seed).expect("a seed in range"),
        }
    }

    /// Writes the file anew.
    pub(crate) fn write(&self, path: &Path) -> Result<(), TableError> {
        let filter = self.kind.map(|kind| {
            let budget = Budget::BitsPerKey(10.0);
            FilterOptions::default().kind(kind).budget(budget).hasher(self.hasher())
        });
        if self.is_table() {
            let block_bytes = if self.keys == 100 { 1 << 20 } else { 1024 };
            let options = TableOptions::default().filter(filter).block_bytes(block_bytes);
            let mut writer = TableWriter::create(path, options)?;
            for i in 0..self.keys {
                writer.add(&key(i), &value(i))?;
            }
            return writer.finish().map(drop);
        }
        let mut builder = FilterBuilder::new(filter.unwrap_or_default());
        for i in 0..self.keys {
            builder.add(&key(i));
        }
        let block =
            builder.finish().map_err(|source| TableError::Filter { path: path.to_owned(), source })?;
        write_filter_block(path, &block).map(drop)
    }
}
