//! Every kind of write, at random, against the model: puts, deletes, merges, range deletes, and batches of them.

use rocksdb::{BlockBasedIndexType, MergeOperands, WriteBatch};

use crate::harness::{Model, Random, SORTS, Sort, folder, open, stock};

pub(crate) fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = existing.unwrap_or_default().to_vec();
    operands.iter().for_each(|operand| value.extend_from_slice(operand));
    Some(value)
}

fn scenario(partitioned: bool, detect_corruption: bool, seed: u64) {
    SORTS.into_iter().for_each(|sort| scenario_of(sort, partitioned, detect_corruption, seed));
}

fn scenario_of(sort: Sort, partitioned: bool, detect_corruption: bool, seed: u64) {
    const KEYS: u64 = 3_000;
    let folder = folder();
    let mut random = Random::new(seed);
    let key = |number: u64| format!("{number:05}").into_bytes();
    let mut options = stock(|table| {
        if partitioned {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(256);
        }
    });
    let text =
        format!("block_based_table_factory={{detect_filter_construct_corruption={detect_corruption}}}");
    options = options.get_options_from_string(text).unwrap();
    options.set_merge_operator_associative("append", append);
    sort.policy().install(&mut options).unwrap();
    let mut model = Model::default();
    let mut db = open(&options, folder.path());
    for step in 0..30_000 {
        let number = random.below(KEYS);
        match random.below(1_000) {
            0..500 => model.put(&db, &key(number), &random.next().to_be_bytes()),
            500..700 => model.delete(&db, &key(number)),
            700..900 => {
                let operand = random.byte();
                db.merge(key(number), [operand]).unwrap();
                model.0.entry(key(number)).or_default().push(operand);
            }
            900..960 => {
                let mut batch = WriteBatch::default();
                for number in number..number + 5 {
                    batch.put(key(number), b"batch");
                    model.0.insert(key(number), b"batch".to_vec());
                }
                batch.delete(key(number + 1));
                model.0.remove(&key(number + 1));
                db.write(batch).unwrap();
            }
            960..990 => {
                let end = number + random.below(30);
                let mut batch = WriteBatch::default();
                batch.delete_range(key(number), key(end));
                db.write(batch).unwrap();
                model.0.retain(|at, _| *at < key(number) || *at >= key(end));
            }
            990..997 => db.flush().unwrap(),
            997 => db.compact_range(Some(key(number)), Some(key(number + 500))),
            998 => {
                drop(db);
                db = open(&options, folder.path());
            }
            _ => {
                for number in (0..KEYS).step_by(7) {
                    let got = db.get(key(number)).unwrap();
                    assert_eq!(got.as_ref(), model.0.get(&key(number)), "{number} at step {step}");
                }
            }
        }
    }
    model.check(&db, 1_000);
    db.compact_range::<&[u8], &[u8]>(None, None);
    model.check(&db, 1_000);
}

#[test]
fn at_random_with_full_filters() {
    scenario(false, false, 0x000F_0011);
}

#[test]
fn at_random_with_partitioned_filters() {
    scenario(true, false, 0x0000_9A27);
}

#[test]
fn at_random_with_detection_of_corruption() {
    scenario(false, true, 0x000D_E7EC);
    scenario(true, true, 0x00D3_7EC7);
}
