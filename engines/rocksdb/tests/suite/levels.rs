//! Policies by level, on a database with levels.

use std::collections::BTreeMap;

use bloomline_rocksdb::{FilterPolicy, Kind, Reason, When, inspect};
use rocksdb::DB;

use crate::harness::{Model, folder, open, options};

/// The kinds of filters by level; `None` for files without one.
fn kinds(db: &DB) -> BTreeMap<i32, Vec<Option<Kind>>> {
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for file in db.live_files().unwrap() {
        let table = inspect::table(db.path().join(file.name.trim_start_matches('/'))).unwrap();
        kinds.entry(file.level).or_default().push(table.blocks.first().map(|block| block.kind));
    }
    kinds
}

#[test]
fn flushes_compactions_and_the_bottom_get_their_own_filters() {
    let ribbon = FilterPolicy::rocksdb_ribbon(10.0).unwrap();
    the_deepest_level_gets(&ribbon, |kind| matches!(kind, Kind::Ribbon { .. }));
    let compact = FilterPolicy::compact(0.001).unwrap();
    the_deepest_level_gets(&compact, |kind| matches!(kind, Kind::Compact { fingerprint_bits: 10, .. }));
}

fn the_deepest_level_gets(deepest: &FilterPolicy, is: impl Fn(Kind) -> bool) {
    let policy = FilterPolicy::per_level(
        [
            (When::any().level(0).reason(Reason::Flush), FilterPolicy::blocked(16.0).unwrap()),
            (When::any().from_last(0..=0), deepest.clone()),
        ],
        &FilterPolicy::none(),
    )
    .unwrap();
    let folder = folder();
    let mut options = options();
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    let mut model = Model::default();
    model.fill(&db, 0..10_000);
    assert!(kinds(&db).into_iter().all(|(level, kinds)| {
        level == 0 && kinds.iter().all(|kind| matches!(kind, Some(Kind::Blocked { probes: 9, .. })))
    }));
    db.compact_range::<&[u8], &[u8]>(None, None);
    model.fill(&db, 10_000..12_000);
    let kinds = kinds(&db);
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), [0, 6]);
    assert!(kinds[&6].iter().all(|kind| kind.is_some_and(&is)), "{kinds:?}");
    model.check(&db, 1_000);
}

#[test]
fn the_bottommost_run_can_go_without_a_filter() {
    let bottom = When::any().bottommost(true);
    let ten = FilterPolicy::blocked(10.0).unwrap();
    let policy = FilterPolicy::per_level([(bottom, FilterPolicy::none())], &ten).unwrap();
    let folder = folder();
    let mut options = options();
    policy.install(&mut options).unwrap();
    let db = open(&options, folder.path());
    let mut model = Model::default();
    model.fill(&db, 0..5_000);
    db.compact_range::<&[u8], &[u8]>(None, None);
    assert_eq!(kinds(&db).into_values().flatten().collect::<Vec<_>>(), [None]);
    model.fill(&db, 5_000..6_000);
    assert_eq!(kinds(&db)[&0].len(), 4);
    assert!(kinds(&db)[&0].iter().all(Option::is_some));
    model.check(&db, 1_000);
}

#[test]
fn optimize_filters_for_hits_leaves_the_last_level_without() {
    let folder = folder();
    let mut options = options();
    options.set_optimize_filters_for_hits(true);
    FilterPolicy::blocked(10.0).unwrap().install(&mut options).unwrap();
    let db = open(&options, folder.path());
    let mut model = Model::default();
    model.fill(&db, 0..5_000);
    db.compact_range::<&[u8], &[u8]>(None, None);
    model.fill(&db, 5_000..6_000);
    let kinds = kinds(&db);
    assert_eq!(kinds[&6], [None]);
    assert!(kinds[&0].iter().all(Option::is_some));
    model.check(&db, 1_000);
}
