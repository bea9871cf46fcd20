//! A writer that is killed at any moment leaves the old file or the new one, whole.
//!
//! A child process replaces one table over and over, each time with another generation of entries. It is killed
//! at random moments; what is then under the name must verify and be of one generation. Temporary files of killed
//! writers are the only thing left behind, and show that kills did fall into the writing.

#![cfg(unix)]

mod table_common;

use std::path::Path;
use std::time::Duration;

use bloomline::TableOptions;
use table_common::child;

const ENTRIES: u32 = 2000;
const KILLS: usize = 25;

fn write_generation(path: &Path, generation: u64) {
    let mut writer = bloomline::TableWriter::create(path, TableOptions::default()).unwrap();
    let value = generation.to_le_bytes().repeat(13);
    for i in 0..ENTRIES {
        writer.add(format!("key {i:05}").as_bytes(), &value).unwrap();
    }
    writer.finish().unwrap();
}

/// The generation of the table, which must be that of all its entries.
fn generation(path: &Path) -> u64 {
    let table = table_common::open(path).unwrap();
    assert_eq!(table.entries(), ENTRIES.into());
    let values: Vec<_> = table.iter().unwrap().map(|entry| entry.unwrap().1).collect();
    assert!(values.iter().all(|value| value == &values[0]), "entries of two generations");
    u64::from_le_bytes(values[0][..8].try_into().unwrap())
}

#[test]
fn the_old_file_or_the_new_one() {
    if let Some(path) = child::path() {
        let first = generation(&path);
        for next in first + 1.. {
            write_generation(&path, next);
            if next == first + 1 {
                child::reached("the second generation");
            }
        }
    }
    let (folder, path) = table_common::scratch("victim.table");
    write_generation(&path, 0);
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    println!("seed of the moments: {seed}");
    let mut moment = seed;
    let mut last = 0;
    for _ in 0..KILLS {
        // A path without a folder, so that this is tried too.
        let mut command = child::command("the_old_file_or_the_new_one", Path::new("victim.table"));
        command.current_dir(folder.path());
        let mut writer = child::start(command);
        child::wait_until_reached(&mut writer, "the second generation");
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((moment >> 33) % 60_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let now = generation(&path);
        assert!(now > last, "a finished generation is gone");
        last = now;
    }
    let names = table_common::names_in(folder.path());
    let left: Vec<_> = names.iter().filter(|name| *name != "victim.table").collect();
    assert!(!left.is_empty(), "no kill fell into the writing of a file");
    for name in left {
        assert!(name.starts_with(".bloomline-") && name.ends_with(".tmp"), "{name}");
    }
}
