//! A panic in Rust never reaches RocksDB: the filter is missing, the data is not.

use bloomline_rocksdb::testing::{Stage, faulty};

use crate::harness::{Model, SORTS, folder, open, options};

#[test]
fn a_panic_at_any_stage_costs_a_filter_and_nothing_else() {
    // The panics are on purpose: their messages would only hide a real one.
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.to_string();
        if !text.contains("a fault on demand") {
            previous(info);
        }
    }));
    let stages = [Stage::Choose, Stage::Prepare, Stage::Write, Stage::Open, Stage::Probe];
    for (sort, stage) in SORTS.into_iter().flat_map(|sort| stages.map(|stage| (sort, stage))) {
        let folder = folder();
        let sound = sort.policy();
        let policy = faulty(&sound, stage);
        let mut model = Model::default();
        {
            let mut options = options();
            policy.install(&mut options).unwrap();
            let db = open(&options, folder.path());
            model.fill(&db, 0..2_000);
            db.compact_range::<&[u8], &[u8]>(None, None);
            model.check(&db, 500);
            let counters = policy.counters();
            assert_eq!(counters.negatives, 0, "{stage:?}");
            assert_eq!(counters.filters_failed > 0, matches!(stage, Stage::Prepare | Stage::Write));
            // A block that could not be made is written as one that lets every key through.
            let open = matches!(stage, Stage::Prepare | Stage::Write | Stage::Open);
            assert_eq!(counters.readers_fell_open > 0, open, "{stage:?}");
        }
        let mut options = options();
        sound.install(&mut options).unwrap();
        let db = open(&options, folder.path());
        model.check(&db, 500);
        let counters = sound.counters();
        match stage {
            Stage::Choose => assert_eq!(counters.readers_opened + counters.readers_fell_open, 0),
            Stage::Prepare | Stage::Write => assert!(counters.readers_fell_open > 0),
            Stage::Open | Stage::Probe => assert!(counters.negatives > 900),
        }
    }
    let _ = std::panic::take_hook();
}
