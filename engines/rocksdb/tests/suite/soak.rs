//! A short run of the soak test, `make soak`, and the proof that it would tell.

#[path = "../../examples/soak/run/mod.rs"]
mod run;

use rocksdb::{DB, IteratorMode};

use crate::harness::{folder, open, stock};
use crate::writes::append;
use run::{Settings, Soak};

#[test]
fn ten_seconds_without_a_wrong_answer() {
    let folder = folder();
    let settings = Settings { seconds: 10, seed: 0x50A4, threads: 4 };
    let mut soak = Soak::new(settings, folder.path());
    soak.run(|line| println!("{line}")).unwrap();
    // On a slow machine, or under a sanitizer, ten seconds are a round. Damage is dealt at random in each of the first
    // seven, and looked for in the next.
    while soak.summary.damaged_rounds == 0 && soak.summary.rounds < 8 {
        soak.round().unwrap();
    }
    println!("{}", soak.summary);
    assert!(soak.summary.work.compared > 10_000);
    assert!(soak.summary.filters_built > 0 && soak.summary.negatives > 0);
    assert!(soak.summary.damage > 0 && soak.summary.damaged_rounds > 0);
    assert_eq!(soak.summary.filters_failed, 0);
}

/// Whatever is done behind the model's back is found in the next round.
#[test]
fn a_key_lost_or_gained_is_found() {
    type Trick = fn(&DB, &[u8]);
    let tricks: [Trick; 3] = [
        |db, key| db.delete(key).unwrap(),
        |db, key| db.put(key, b"another value").unwrap(),
        |db, key| db.put([&key[..3], &[0, 128]].concat(), b"absent from the model").unwrap(),
    ];
    for trick in tricks {
        let folder = folder();
        let mut soak = Soak::new(Settings { seconds: 0, seed: 7, threads: 2 }, folder.path());
        soak.round().unwrap();
        {
            let db = open_as_stock(folder.path());
            let first = db.iterator(IteratorMode::Start).next().expect("a key").unwrap().0;
            trick(&db, &first);
        }
        let mut rounds = 0;
        let story = loop {
            rounds += 1;
            match soak.round() {
                Err(story) => break story,
                // A round may overwrite what was done before it looks there.
                Ok(()) => assert!(rounds < 2, "nothing was noticed"),
            }
        };
        println!("{story}");
        assert!(story.starts_with("seed 7, 2 threads, round ") && story.contains("the model has"), "{story}");
    }
}

fn open_as_stock(path: &std::path::Path) -> DB {
    let mut options = stock(|_| ());
    options.set_merge_operator_associative("append", append);
    open(&options, path)
}
