//! Column families have options of their own, and so policies of their own.

use std::collections::BTreeMap;

use bloomline_rocksdb::{FilterPolicy, Tickers, policy_name};
use rocksdb::{ColumnFamilyDescriptor, DB, Options};

use crate::harness::{absent, folder, options, present};

#[test]
fn each_column_family_has_its_own_policy() {
    let folder = folder();
    let ids = ["blocked:10", "blocked:20", "rocksdb-ribbon:10", "none", "compact:0.001"];
    let policies = ids.map(|id| id.parse::<FilterPolicy>().unwrap());
    let families: Vec<Options> = policies
        .iter()
        .map(|policy| {
            let mut options = options();
            policy.install(&mut options).unwrap();
            options
        })
        .collect();
    let mut db_options = options();
    db_options.create_missing_column_families(true);
    let names = ["default", "twenty", "ribbon", "none", "compact"];
    let open = || {
        let descriptors = names
            .iter()
            .zip(&families)
            .map(|(name, options)| ColumnFamilyDescriptor::new(*name, options.clone()));
        DB::open_cf_descriptors(&db_options, folder.path(), descriptors).unwrap()
    };

    let mut models = [const { BTreeMap::new() }; 5];
    {
        let db = open();
        for (at, (name, model)) in names.iter().zip(&mut models).enumerate() {
            let family = db.cf_handle(name).unwrap();
            for number in (0..5_000).map(|number| number * 5 + at as u64) {
                db.put_cf(family, present(number), number.to_be_bytes()).unwrap();
                model.insert(present(number), number.to_be_bytes());
            }
            db.flush_cf(family).unwrap();
        }
    }
    let db = open();
    for (name, model) in names.iter().zip(&models) {
        let family = db.cf_handle(name).unwrap();
        for number in 0..25_000 {
            let got = db.get_cf(family, present(number)).unwrap();
            assert_eq!(got.as_deref(), model.get(&present(number)).map(|value| &value[..]));
        }
        for number in 0..1_000 {
            assert_eq!(db.get_cf(family, absent(number)).unwrap(), None);
        }
    }
    let built = policies.each_ref().map(|policy| policy.counters().filters_built);
    assert_eq!(built, [1, 1, 0, 0, 1]);
    let opened = policies.each_ref().map(|policy| policy.counters().readers_opened > 0);
    assert_eq!(opened, [true, true, false, false, true]);
    assert!(policies[2].counters().readers_delegated > 0);
    // The rate is lower at twenty bits per key, and all answered nearly everything.
    let negatives = policies.each_ref().map(|policy| policy.counters().negatives);
    assert!(negatives[0] > 20_000 && negatives[1] > negatives[0], "{negatives:?}");
    assert!(negatives[4] > negatives[0], "{negatives:?}");
    assert!(Tickers::read(&db_options).unwrap().useful > 80_000);
    assert_eq!(policy_name(&families[1]), "bloomline:blocked:20");
}
