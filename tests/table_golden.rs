//! Files that a released version wrote, which every later version reads: see `fixtures/golden/MANIFEST.tsv`. The
//! files are never overwritten.

mod table_common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bloomline::TableReader;
use bloomline::hash::Hashers;
use table_common::golden::{self, GOLDEN, Golden};
use table_common::{scratch, surgery};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden")
}

/// The lines of the manifest, split into their seven fields.
fn manifest() -> Vec<[String; 7]> {
    let text = std::fs::read_to_string(folder().join("MANIFEST.tsv")).unwrap();
    let fields = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    text.lines().skip(1).map(fields).collect()
}

fn open(name: &str) -> TableReader {
    let hashers = Hashers::new().with_secret_key(golden::secret_key());
    TableReader::open(&folder().join(name), &hashers).unwrap()
}

#[test]
fn every_file_is_as_its_manifest_says() {
    for [name, kind, hasher, seed, keys, maybes, _] in manifest() {
        let reader = open(&name);
        let keys: u32 = keys.parse().unwrap();
        if let Some(filter) = reader.filter() {
            assert_eq!(filter.kind().name(), kind, "{name}");
            let identity = filter.hasher().identity();
            assert_eq!(identity.id.name(), Some(hasher.as_str()), "{name}");
            assert_eq!(identity.seed.to_string(), seed, "{name}");
            assert!((0..keys).all(|i| filter.might_contain(&golden::key(i))), "{name}");
            // The exact count: the same bits and the same probes as when the file was written.
            let maybe = (keys..keys + 10_000).filter(|&i| filter.might_contain(&golden::key(i)));
            assert_eq!(maybe.count().to_string(), maybes, "{name}");
        } else {
            assert_eq!(kind, "none", "{name}");
        }
        assert_eq!(reader.is_filter_only(), name.ends_with(".filter"), "{name}");
        if !reader.is_filter_only() {
            assert_eq!(reader.entries(), u64::from(keys), "{name}");
            let entries: Vec<_> = reader.iter().unwrap().map(Result::unwrap).collect();
            for ((key, value), i) in entries.iter().zip(0..keys) {
                assert_eq!((key, *value), (&golden::key(i), golden::value(i).as_slice()), "{name}");
                assert_eq!(reader.get(key).unwrap(), Some(*value), "{name}");
            }
            assert_eq!(reader.get(&golden::key(keys)).unwrap(), None, "{name}");
        }
    }
}

#[test]
fn manifest_and_folder_list_the_same_files() {
    let listed: BTreeSet<_> = manifest().into_iter().map(|[name, ..]| name).collect();
    let names = table_common::names_in(&folder()).into_iter();
    let golden = |name: &String| name.ends_with(".filter") || name.ends_with(".table");
    assert_eq!(names.filter(golden).collect::<BTreeSet<_>>(), listed);
    assert!(GOLDEN.iter().all(|file| listed.contains(file.name)));
}

/// The writer of this version gives the bytes of the golden files, except for the version that it writes into
/// the properties.
#[test]
fn the_same_recipe_gives_the_same_bytes() {
    let parts = |bytes: &[u8], file: &Golden| {
        let map = surgery::map(bytes);
        let before_properties = bytes[..map.properties.start].to_vec();
        let extents = bytes[map.footer..map.footer + 40].to_vec();
        // Three counts of 14 bytes in a table; what follows them are keys, and the writer.
        let counts = if file.is_table() { 3 * 14 } else { 0 };
        let properties = bytes[map.properties.start..map.properties.start + counts].to_vec();
        (before_properties, properties, extents)
    };
    for file in &GOLDEN {
        let (_folder, path) = scratch(file.name);
        file.write(&path).unwrap();
        let golden = std::fs::read(folder().join(file.name)).unwrap();
        let anew = std::fs::read(&path).unwrap();
        assert!(parts(&anew, file) == parts(&golden, file), "{} has changed", file.name);
    }
}
