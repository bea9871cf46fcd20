//! Every field of every file, set to values that no writer gives it, with all checksums mended as an attacker would.
//!
//! A file that is accepted answers as before. Of a filter alone there is an exception, for some of its numbers and
//! all of its body make *another filter* when they are changed, as valid as the first, which knows other keys. Which
//! these are is written down here, and each must be seen to be one. A table with such a filter is refused.

mod allocator;
mod table_common;

use std::collections::BTreeSet;
use std::sync::Mutex;

use bloomline::filter::open_any;
use bloomline::format::Kind;
use bloomline::hash::Hashers;
use bloomline::sizing::ScalableParams;
use bloomline::table::{verify_file, write_filter_block};
use bloomline::{
    Budget, FilterBuilder, FilterOptions, FilterReader, ScalableFilter, TableOptions, TableReader,
};
use table_common::surgery::{self, Map, mend, mend_filter};
use table_common::{entries, fields, overwrite, scratch, table_bytes};

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> impl Drop {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn key(i: u32) -> [u8; 4] {
    i.to_le_bytes()
}

fn built(kind: Kind, budget: Budget, keys: u32) -> Vec<u8> {
    let mut builder = FilterBuilder::new(FilterOptions::default().kind(kind).budget(budget));
    (0..keys).for_each(|i| builder.add(&key(i)));
    builder.finish().unwrap()
}

fn scalable(kind: Kind) -> Vec<u8> {
    let params = ScalableParams::new(20, 0.01).unwrap();
    if kind == Kind::Classic {
        let mut filter = ScalableFilter::classic(params).unwrap();
        (0..KEYS).for_each(|i| _ = filter.add(&key(i)));
        return filter.encode();
    }
    let mut filter = ScalableFilter::blocked(params).unwrap();
    (0..KEYS).for_each(|i| _ = filter.add(&key(i)));
    filter.encode()
}

/// Keys in a filter. As many others are absent.
const KEYS: u32 = 300;

/// A filter block of each kind, and the fields of it that make another filter.
fn blocks() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let bits = Budget::BitsPerKey;
    let of_layers = &["kind", "probes of a layer"][..];
    let blocks = vec![
        ("blocked", built(Kind::Blocked, bits(10.0), KEYS), &["kind", "probes"][..]),
        ("classic", built(Kind::Classic, bits(10.1), KEYS), &["probes", "bits"]),
        ("compact, 7 bits", built(Kind::Compact, bits(8.5), KEYS), &["kind", "threshold"]),
        (
            "compact, 11 bits",
            built(Kind::Compact, bits(13.5), 2000),
            &["kind", "probes", "lines of a layer", "threshold"],
        ),
        ("blocked layers", scalable(Kind::Blocked), of_layers),
        ("classic layers", scalable(Kind::Classic), &["kind", "probes of a layer", "bits of a layer"]),
    ];
    for (name, block, _) in &blocks {
        assert!(surgery::layers(block).len() != 1, "{name} has one layer");
    }
    blocks
}

fn answers(reader: &FilterReader<&[u8]>) -> Vec<bool> {
    (0..2 * KEYS).map(|i| reader.might_contain(&key(i))).collect()
}

/// Whether a block is accepted, and then its answers. Nothing panics, however it is opened, and opening takes no
/// more memory than the block has bytes, and some for what is said of it.
fn opened(block: &[u8]) -> Option<Vec<bool>> {
    const SOME: usize = 16 << 10;
    let hashers = Hashers::new();
    let (reader, bytes) = allocator::growth_of(|| FilterReader::open(block, &hashers));
    assert!(bytes <= SOME, "{bytes} bytes to open a block of {}", block.len());
    let (copy, bytes) = allocator::growth_of(|| open_any(block, &hashers));
    assert!(bytes <= 2 * block.len() + SOME, "{bytes} bytes for a block of {}", block.len());
    if let Ok(unverified) = FilterReader::open_unverified(block, &hashers) {
        let mut batch = vec![false; 2 * KEYS as usize];
        unverified.might_contain_batch(&(0..2 * KEYS).map(key).collect::<Vec<_>>(), &mut batch);
        assert_eq!(answers(&unverified), batch);
        _ = (
            unverified.expected_fpp(),
            unverified.block().fill(),
            unverified.block().expected_fpp_from_fill(),
        );
    }
    assert_eq!(reader.is_ok(), copy.is_ok());
    let answers = answers(&reader.ok()?);
    let copied: Vec<_> =
        (0..2 * KEYS).map(|i| copy.as_ref().unwrap().membership().might_contain(&key(i))).collect();
    assert_eq!(answers, copied);
    Some(answers)
}

#[test]
fn of_a_filter_block() {
    let _alone = alone();
    for (name, block, another) in blocks() {
        let layers = surgery::layers(&block);
        let right = opened(&block).expect("it is whole");
        assert!(right[..KEYS as usize].iter().all(|&maybe| maybe));
        let all = fields::of_filter(&block);
        let (mut tried, mut accepted, mut others) = (0, 0, BTreeSet::new());
        for field in &all {
            for value in field.values(&block, &all) {
                let mut edited = block.clone();
                field.put(&mut edited, value);
                let edited_magic = edited[0] != block[0];
                mend_filter(&mut edited, &layers);
                tried += 1;
                let Some(answers) = opened(&edited) else { continue };
                assert!(!edited_magic);
                accepted += 1;
                if answers != right {
                    assert!(
                        another.contains(&&*field.name),
                        "{name}: `{}` = {value} changes answers",
                        field.name
                    );
                    others.insert(&*field.name);
                }
            }
        }
        println!("{name}: {tried} edits of {} fields, {accepted} accepted", all.len());
        assert_eq!(others, another.iter().copied().collect(), "{name}");
    }
}

/// The header of one layer where that of another should be, with its own lines' checksum.
#[test]
fn a_layer_in_the_place_of_another() {
    let _alone = alone();
    for block in [scalable(Kind::Classic), scalable(Kind::Blocked)] {
        let layers = surgery::layers(&block);
        let header = |layer: usize| 48 + 64 + 48 * layer;
        for (from, to) in (0..layers.len()).flat_map(|from| (0..layers.len()).map(move |to| (from, to))) {
            let mut copied = block.clone();
            copied.copy_within(header(from)..header(from + 1), header(to));
            mend_filter(&mut copied, &layers);
            assert_eq!(opened(&copied).is_some(), from == to, "layer {from} in place of layer {to}");
        }
    }
}

/// A table of each kind of filter, and a filter file.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let table = |kind, budget| {
        let filter = FilterOptions::default().kind(kind).budget(Budget::BitsPerKey(budget));
        table_bytes(KEYS, TableOptions::default().block_bytes(1500).filter(Some(filter)))
    };
    let mut files = vec![
        ("table, blocked", table(Kind::Blocked, 10.0)),
        ("table, classic", table(Kind::Classic, 10.1)),
        ("table, compact", table(Kind::Compact, 8.5)),
        ("table, no filter", table_bytes(KEYS, TableOptions::default().block_bytes(1500).filter(None))),
    ];
    let (_folder, path) = scratch("some.filter");
    write_filter_block(&path, &built(Kind::Blocked, Budget::BitsPerKey(10.0), KEYS)).unwrap();
    files.push(("filter file", std::fs::read(&path).unwrap()));
    files
}

/// Opens a file in every way. `true` where it is accepted, and then it has all its entries.
fn is_accepted(path: &std::path::Path, file_bytes: usize) -> bool {
    let hashers = Hashers::new();
    let (table, bytes) = allocator::growth_of(|| TableReader::open(path, &hashers));
    assert!(bytes <= 16 * file_bytes + (64 << 10), "{bytes} bytes for a file of {file_bytes}");
    let unlocked = verify_file(path, &hashers);
    if let Ok(unverified) = TableReader::open_unverified(path, &hashers) {
        for (key, value) in entries(KEYS) {
            // A damaged filter may deny a key until it is verified; what is found is the key's.
            if let Ok(Some(got)) = unverified.get(&key) {
                assert!(got == value || table.is_err(), "another value");
            }
            _ = unverified.get_without_filter(&key);
        }
        _ = unverified.iter().map(Iterator::count);
    }
    let Ok(table) = table else { return false };
    assert!(unlocked.is_ok());
    if !table.is_filter_only() {
        for (key, value) in entries(KEYS) {
            assert_eq!(table.get(&key).unwrap(), Some(&value[..]), "a key is denied");
        }
        assert_eq!((table.iter().unwrap().count(), table.entries()), (KEYS as usize, KEYS.into()));
    }
    true
}

fn mended(mut bytes: Vec<u8>, map: &Map) -> Vec<u8> {
    mend(&mut bytes, map);
    bytes
}

#[test]
fn of_a_file() {
    let _alone = alone();
    for (name, bytes) in files() {
        let map = surgery::map(&bytes);
        let (_folder, path) = scratch("edited");
        let mut all = fields::of_container(&bytes, &map);
        // The filter of a filter file is the other test's.
        if let (Some(filter), Some(_)) = (&map.filter, &map.index) {
            all.extend(
                fields::of_filter(&bytes[filter.clone()]).into_iter().map(|field| field.moved(filter.start)),
            );
        }
        let (mut tried, mut accepted) = (0, BTreeSet::new());
        for field in &all {
            for value in field.values(&bytes, &all) {
                let mut edited = bytes.clone();
                field.put(&mut edited, value);
                overwrite(&path, &mended(edited, &map));
                tried += 1;
                if is_accepted(&path, bytes.len()) {
                    accepted.insert(&*field.name);
                }
            }
        }
        println!("{name}: {tried} edits of {} fields, accepted some of {accepted:?}", all.len());
    }
}

/// Every section said to be where another is, or nowhere: they overlap, or leave a gap, and are refused.
#[test]
fn sections_in_each_others_place() {
    let _alone = alone();
    for (name, bytes) in files() {
        let map = surgery::map(&bytes);
        let (_folder, path) = scratch("swapped");
        let extent = |range: &Option<std::ops::Range<usize>>| {
            range.as_ref().map_or((0, 0), |range| (range.start as u64, range.len() as u64))
        };
        let right = [extent(&map.filter), extent(&map.index), extent(&Some(map.properties.clone()))];
        let data = map.blocks.first().zip(map.blocks.last());
        let data = data.map_or((16, 0), |(first, last)| (16, (last.end - first.start) as u64));
        let choices = [right[0], right[1], right[2], data, (0, 0), (0, bytes.len() as u64)];
        let mut tried = 0;
        for claimed in
            choices.iter().flat_map(|a| choices.iter().flat_map(move |b| choices.map(|c| [*a, *b, c])))
        {
            if claimed == right {
                continue;
            }
            let mut edited = bytes.clone();
            for (field, (offset, length)) in claimed.into_iter().enumerate() {
                let at = map.footer + 16 * field;
                edited[at..at + 8].copy_from_slice(&offset.to_le_bytes());
                edited[at + 8..at + 16].copy_from_slice(&length.to_le_bytes());
            }
            overwrite(&path, &mended(edited, &map));
            tried += 1;
            assert!(!is_accepted(&path, bytes.len()), "{name}: {claimed:?} in place of {right:?}");
        }
        println!("{name}: {tried} ways to say where the sections are");
    }
}
