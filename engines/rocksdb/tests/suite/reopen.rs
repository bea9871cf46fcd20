//! Option strings and OPTIONS files carry the policy and its parameters.

use bloomline_rocksdb::{FilterPolicy, Monkey, Reason, Tickers, When, policy_name};
use rocksdb::{Cache, DB, Env, Options};

use crate::harness::{Model, folder, open, options};

fn policies() -> Vec<FilterPolicy> {
    let ten = FilterPolicy::blocked(10.0).unwrap();
    let rules = [
        (When::any().level(0).reason(Reason::Flush), FilterPolicy::blocked(13.125).unwrap()),
        (When::any().from_last(0..=1).bottommost(false), FilterPolicy::rocksdb_ribbon(9.5).unwrap()),
        (When::any().bottommost(true), FilterPolicy::none()),
    ];
    vec![
        ten.clone(),
        FilterPolicy::blocked_with_probes(9.999, 4).unwrap(),
        FilterPolicy::per_level(rules, &ten).unwrap(),
        FilterPolicy::monkey(&Monkey::default()).unwrap(),
        FilterPolicy::none(),
        FilterPolicy::compact(0.01).unwrap(),
        FilterPolicy::per_level([(When::any().level(0), ten)], &FilterPolicy::compact(0.001).unwrap())
            .unwrap(),
    ]
}

#[test]
fn a_database_opens_again_from_its_options_file() {
    FilterPolicy::register().unwrap();
    for policy in policies() {
        let folder = folder();
        let mut model = Model::default();
        {
            let mut options = options();
            policy.install(&mut options).unwrap();
            model.fill(&open(&options, folder.path()), 0..4_000);
        }
        let cache = Cache::new_lru_cache(1 << 20);
        let (db_options, families) =
            Options::load_latest(folder.path(), Env::new().unwrap(), false, cache).unwrap();
        let db = DB::open_cf_descriptors(&db_options, folder.path(), families).unwrap();
        let loaded = FilterPolicy::in_use(&db).expect("a policy from the file");
        assert_eq!(loaded, policy);
        model.check(&db, 500);
        model.fill(&db, 4_000..6_000);
        model.check(&db, 500);
        let (counters, builds) = (loaded.counters(), policy != FilterPolicy::none());
        assert_eq!(counters.filters_built > 0, builds, "{policy}");
        assert_eq!(counters.negatives > 0, builds, "{policy}");
    }
}

#[test]
fn option_strings_name_every_policy() {
    FilterPolicy::register().unwrap();
    for policy in policies() {
        let text = format!("block_based_table_factory={{block_size=8192;filter_policy=bloomline:{policy}}}");
        let options = options().get_options_from_string(&text).unwrap();
        assert_eq!(FilterPolicy::installed(&options), Some(policy.clone()), "{text}");
        assert_eq!(policy_name(&options), format!("bloomline:{policy}"));
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
}

#[test]
fn wrong_parameters_give_no_policy_or_an_error_and_never_another_policy() {
    FilterPolicy::register().unwrap();
    for id in [
        "bloomline",
        "bloomline:",
        "bloomline:blocked:0",
        "bloomline:blocked:10k99",
        "bloomline:levels:else",
        "bloomline:compact:0",
        "bloomline:compact:1",
    ] {
        let text = format!("block_based_table_factory={{filter_policy={id}}}");
        if let Ok(options) = options().get_options_from_string(&text) {
            assert_eq!(policy_name(&options), "", "{id}");
        }
    }
}

#[test]
fn set_options_changes_the_policy_of_an_open_database() {
    let folder = folder();
    let mut options = options();
    FilterPolicy::blocked(5.0).unwrap().install(&mut options).unwrap();
    let db = open(&options, folder.path());
    let mut model = Model::default();
    model.fill(&db, 0..4_000);
    db.set_options(&[("block_based_table_factory", "{filter_policy=bloomline:blocked:15}")]).unwrap();
    let changed = FilterPolicy::in_use(&db).unwrap();
    assert_eq!(changed, FilterPolicy::blocked(15.0).unwrap());
    model.fill(&db, 4_000..8_000);
    assert_eq!(changed.counters().keys, 4_000);
    assert_eq!(changed.counters().bytes, 4 * (1_000_u64 * 15 / 8).next_multiple_of(64) + 4 * 5);
    model.check(&db, 1_000);
    let rate = Tickers::read(&options).unwrap().false_positive_rate().unwrap();
    assert!(rate < 0.1, "{rate}");
}
