//! The Monkey allocation on a real tree: fewer wasted reads than uniform bits, in the same memory.

use std::collections::BTreeMap;

use bloomline_rocksdb::{FilterPolicy, Monkey, Tickers, inspect};
use rocksdb::{DB, Options, WaitForCompactOptions};
use tempfile::TempDir;

use crate::harness::{Model, Random, absent, folder, open, options, present};

const KEYS: u64 = 250_000;
const LOOKUPS: u64 = 50_000;
const LEVEL0_FILES: usize = 3;

struct Tree {
    db: DB,
    options: Options,
    _folder: TempDir,
}

/// Keys in random order, compacted as they come, with dynamic levels of ratio 4 and then three files in level 0.
fn grow(policy: &FilterPolicy) -> (Tree, Model) {
    let folder = folder();
    let mut options = options();
    options.set_disable_auto_compactions(false);
    options.set_write_buffer_size(256 << 10);
    options.set_target_file_size_base(256 << 10);
    options.set_max_bytes_for_level_base(512 << 10);
    options.set_max_bytes_for_level_multiplier(4.0);
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    let mut model = Model::default();
    let mut random = Random::new(0x0010_7E57);
    for number in 0..KEYS {
        model.put(&db, &present(number), &random.next().to_be_bytes());
    }
    db.flush().unwrap();
    db.wait_for_compact(&WaitForCompactOptions::default()).unwrap();
    db.set_options(&[("disable_auto_compactions", "true")]).unwrap();
    let level0 = || db.live_files().unwrap().iter().filter(|file| file.level == 0).count();
    for round in level0()..LEVEL0_FILES {
        for number in 0..2_000 {
            model.put(&db, &present(KEYS + round as u64 * 2_000 + number), b"fresh");
        }
        db.flush().unwrap();
    }
    assert_eq!(level0(), LEVEL0_FILES);
    (Tree { db, options, _folder: folder }, model)
}

impl Tree {
    /// (keys by level, filter bits per key over the whole tree)
    fn shape(&self) -> (BTreeMap<i32, u64>, f64) {
        let (mut levels, mut bytes, mut keys) = (BTreeMap::<_, u64>::new(), 0, 0);
        for file in self.db.live_files().unwrap() {
            let table = inspect::table(self.db.path().join(file.name.trim_start_matches('/'))).unwrap();
            *levels.entry(file.level).or_default() += table.entries;
            bytes += table.filter_bytes;
            keys += table.entries;
        }
        #[expect(clippy::cast_precision_loss, reason = "some hundred thousand")]
        let bits_per_key = bytes as f64 * 8.0 / keys as f64;
        (levels, bits_per_key)
    }

    /// Reads that found nothing, for each lookup of an absent key.
    fn wasted_reads(&self) -> f64 {
        let before = Tickers::read(&self.options).unwrap();
        for number in 0..LOOKUPS {
            assert_eq!(self.db.get(absent(number)).unwrap(), None);
        }
        #[expect(clippy::cast_precision_loss, reason = "some thousand")]
        let wasted = Tickers::read(&self.options).unwrap().since(before).wasted_reads() as f64;
        wasted / LOOKUPS as f64
    }
}

#[test]
fn fewer_reads_are_wasted_in_the_same_memory() {
    let budget =
        Monkey { bits_per_key: 8.0, size_ratio: 4.0, levels: 4, level0_files: 3, ..Monkey::default() };
    let (tree, model) = grow(&FilterPolicy::monkey(&budget).unwrap());
    let (levels, bits_per_key) = tree.shape();
    let monkey = tree.wasted_reads();
    model.check(&tree.db, 1_000);

    // The same memory, spread evenly.
    let (even, model) = grow(&FilterPolicy::blocked(bits_per_key).unwrap());
    let (even_levels, even_bits) = even.shape();
    let uniform = even.wasted_reads();
    model.check(&even.db, 1_000);

    let expected = budget.allocate().unwrap();
    println!("keys by level {levels:?}, {bits_per_key:.3} bits per key: {monkey:.4} wasted reads per lookup");
    println!(
        "keys by level {even_levels:?}, {even_bits:.3} bits per key: {uniform:.4} wasted reads per lookup"
    );
    println!("by the model {:.4} and {:.4}", expected.wasted_reads, expected.wasted_reads_uniform);
    assert!(levels.len() >= 4 && even_levels.len() >= 4, "{levels:?} {even_levels:?}");
    assert!((even_bits / bits_per_key - 1.0).abs() < 0.02, "{even_bits} and {bits_per_key}");
    assert!(monkey < uniform * 0.8, "{monkey} and {uniform}");
}
