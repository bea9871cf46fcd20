//! Filter blocks as RocksDB hands them to the plugin's readers: any bytes, and sound blocks of every kind, changed
//! most of all in the trailer, by which a block is known.
//!
//! What must hold: a block that can't be proved to be a filter gets no reader and lets every key through; one of
//! Bloomline's kinds answers as DESIGN.md defines it; any other that is recognised answers as RocksDB's own reader
//! does. Each block is in memory of exactly its length, so that the address sanitizer finds a read past it.

use arbitrary::{Arbitrary, Unstructured};
use bloomline_fuzz::edit::Edit;
use bloomline_fuzz::mend::{self, Mend};
use bloomline_fuzz::model;
use bloomline_rocksdb::testing::{Keys, Policy, key_hash};
use bloomline_rocksdb::{Counters, FilterPolicy, Kind, inspect};

const TRAILER: usize = 5;
/// Most keys of a filter.
const KEYS: u16 = 1500;

/// An input.
#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// A block of one of these kinds, changed.
    Changed { kind: u8, bits: u8, keys: u16, edits: Vec<Edit>, trailer: Vec<(u8, u8)>, mend: Mend },
}

/// Policies that build blocks: the plugin's, and those of RocksDB.
fn builder(kind: u8, bits: u8) -> Policy {
    let id = match kind % 5 {
        0 => format!("bloomline:blocked:{}", bits % 60 + 1),
        1 => format!("bloomline:compact:{}", 0.5_f64.powi(i32::from(bits % 13) + 4)),
        2 => format!("ribbonfilter:{}:-1", bits % 30 + 1),
        3 => format!("rocksdb.internal.LegacyBloomFilter:{}", bits % 30 + 1),
        _ => format!("bloomfilter:{}", bits % 60 + 1),
    };
    Policy::named(&id).unwrap_or_else(|| panic!("{id}"))
}

/// Runs one input.
pub fn run(input: &[u8]) {
    match Input::arbitrary_take_rest(Unstructured::new(input)) {
        Ok(Input::Bytes(bytes)) => check(bytes.to_vec(), &keys(64), None),
        Ok(Input::Changed { kind, bits, keys: count, edits, trailer, mend }) => {
            let known = keys(count % KEYS);
            let sound = builder(kind, bits).build(&Keys::new(&known));
            let mut block = sound.clone();
            if let Some(body) = block.len().checked_sub(TRAILER) {
                let mut parts = mend::block_parts(&block[..body]);
                parts.push(body..block.len());
                edits.iter().take(8).for_each(|edit| edit.apply(&mut block, &parts));
            }
            if let Some(body) = block.len().checked_sub(TRAILER) {
                for (at, byte) in trailer {
                    block[body + usize::from(at) % TRAILER] = byte;
                }
                if kind % 5 == 1 {
                    mend::block(&mut block[..body], mend);
                }
            }
            check(block, &known, Some(&sound));
        }
        Err(_) => {}
    }
}

fn keys(count: u16) -> Vec<[u8; 4]> {
    (0..u32::from(count)).map(|i| i.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect()
}

/// Has the plugin read a block, and asks it for keys, those of the sound block that it came from and others.
fn check(block: Vec<u8>, known: &[[u8; 4]], sound: Option<&[u8]>) {
    let block = block.into_boxed_slice();
    let policy = FilterPolicy::blocked(10.0).expect("a policy");
    let ours = Policy::of(&policy).expect("a policy");
    let before = policy.counters();
    let reader = ours.reader(&block);
    let after = policy.counters();
    let kind = inspect::classify(&block);
    let changed = |count: fn(&Counters) -> u64| count(&after) - count(&before);
    let opened = [
        changed(|counters| counters.readers_opened),
        changed(|counters| counters.readers_delegated),
        changed(|counters| counters.readers_fell_open),
    ];

    let others = keys(KEYS).into_iter().rev().take(100);
    let asked: Vec<[u8; 4]> = known.iter().copied().chain(others).collect();
    let keys = Keys::new(&asked);
    let answers = reader.answers(&keys);
    for batch in [1, 7, 32] {
        assert!(
            reader.answers_batched(&keys, batch) == answers,
            "{kind:?}: batches of {batch} answer otherwise"
        );
    }
    let stock = || Policy::named("bloomfilter:10").expect("RocksDB's own").reader(&block).answers(&keys);
    let (counted, expected) = match kind {
        Kind::Blocked { probes, .. } => {
            let expected = model(block[..block.len() - TRAILER].to_vec(), 2, probes, &asked);
            assert!(expected == stock(), "RocksDB reads a blocked filter otherwise");
            ([1, 0, 0], expected)
        }
        Kind::Compact { fingerprint_bits, .. } => {
            let lines = block[mend::HEADER..block.len() - TRAILER].to_vec();
            assert!(stock().iter().all(|&maybe| maybe), "RocksDB turns keys of a compact filter away");
            ([1, 0, 0], model(lines, 3, fingerprint_bits, &asked))
        }
        Kind::Unknown => ([0, 0, 1], vec![true; asked.len()]),
        _ => ([0, 1, 0], stock()),
    };
    assert_eq!(opened, counted, "{kind:?}: readers opened, delegated and fallen open");
    assert_eq!(reader.is_open(), kind != Kind::Unknown, "{kind:?}");
    assert!(answers == expected, "{kind:?}: other answers than expected");

    if let Some(sound) = sound
        && denies_nothing(sound, &block)
    {
        assert!(answers[..known.len()].iter().all(|&maybe| maybe), "{kind:?}: a key is forgotten");
    }
}

/// Whether a changed block must still know every key: it is the sound one, or a blocked one with more bits set.
fn denies_nothing(sound: &[u8], block: &[u8]) -> bool {
    let blocked = matches!(inspect::classify(sound), Kind::Blocked { .. });
    let body = sound.len().saturating_sub(TRAILER);
    let more = || {
        let superset = sound.iter().zip(block).take(body).all(|(old, new)| old & new == *old);
        superset && sound[body..] == block[body..]
    };
    sound == block || (blocked && sound.len() == block.len() && more())
}

/// The answers of the definition, over lines of a kind, which get a header as in Bloomline's own block.
fn model(lines: Vec<u8>, kind: u8, probes: u8, keys: &[[u8; 4]]) -> Vec<bool> {
    let mut block = vec![0; mend::HEADER];
    block[5..7].copy_from_slice(&[kind, probes]);
    block[8..16].copy_from_slice(&(lines.len() as u64 * 8).to_le_bytes());
    block.extend(lines);
    keys.iter().map(|key| model::might_contain(&block, key_hash(key))).collect()
}
