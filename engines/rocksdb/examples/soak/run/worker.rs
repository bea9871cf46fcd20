//! One thread: what it does to its keys, and what it must find.

use std::collections::BTreeMap;
use std::iter::Sum;

use rocksdb::{DB, Direction, ErrorKind, IteratorMode, ReadOptions, WriteBatch};

/// Bytes of a key's prefix: the thread and a group.
pub(crate) const PREFIX_BYTES: usize = 3;
const GROUPS: u16 = 128;
const NUMBERS: u16 = 128;

type Key = [u8; 5];

/// How the database may be read in a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    /// A prefix extractor is set.
    pub(crate) prefixes: bool,
    /// Half the reads verify no checksums.
    pub(crate) unchecked: bool,
    /// A read may fail with "Corruption": a file with a damaged filter lives.
    pub(crate) may_fail: bool,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) writes: u64,
    pub(crate) range_deletes: u64,
    pub(crate) flushes: u64,
    pub(crate) compactions: u64,
    /// Keys whose answer was compared with the model.
    pub(crate) compared: u64,
    /// Reads that failed with "Corruption".
    pub(crate) refused: u64,
}

impl Work {
    pub(crate) fn operations(self) -> u64 {
        self.writes + self.range_deletes + self.flushes + self.compactions + self.compared
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            writes: a.writes + b.writes,
            range_deletes: a.range_deletes + b.range_deletes,
            flushes: a.flushes + b.flushes,
            compactions: a.compactions + b.compactions,
            compared: a.compared + b.compared,
            refused: a.refused + b.refused,
        })
    }
}

/// A thread's keys, which no other thread touches.
pub(crate) struct Worker {
    id: u8,
    random: fastrand::Rng,
    model: BTreeMap<Key, Vec<u8>>,
    pub(crate) done: Work,
}

impl Worker {
    pub(crate) fn new(id: u8, random: fastrand::Rng) -> Self {
        Self { id, random, model: BTreeMap::new(), done: Work::default() }
    }

    fn key(&self, group: u16, number: u16) -> Key {
        let ([a, b], [c, d]) = (group.to_be_bytes(), number.to_be_bytes());
        [self.id, a, b, c, d]
    }

    fn any_key(&mut self) -> Key {
        let (group, number) = (self.random.u16(..GROUPS), self.random.u16(..NUMBERS));
        self.key(group, number)
    }

    fn value(&mut self) -> Vec<u8> {
        let length = self.random.usize(..200);
        std::iter::repeat_with(|| self.random.u8(..)).take(length).collect()
    }

    /// Some write or read.
    pub(crate) fn operation(&mut self, db: &DB, reads: Reads) -> Result<(), String> {
        let key = self.any_key();
        let mut batch = WriteBatch::default();
        let what = match self.random.u32(0..10_000) {
            0..3_000 => {
                let value = self.value();
                batch.put(key, &value);
                self.model.insert(key, value);
                "put"
            }
            3_000..3_800 => {
                batch.delete(key);
                self.model.remove(&key);
                "delete"
            }
            3_800..4_500 => {
                let operand = self.random.u8(..);
                batch.merge(key, [operand]);
                self.model.entry(key).or_default().push(operand);
                "merge"
            }
            4_500..4_900 => {
                for _ in 0..self.random.usize(1..40) {
                    let (key, value) = (self.any_key(), self.value());
                    batch.put(key, &value);
                    self.model.insert(key, value);
                }
                batch.delete(key);
                self.model.remove(&key);
                "batch"
            }
            4_900..4_930 => {
                let (a, b) = (key, self.any_key());
                // Wide ones are rare, or the database would never grow to several levels.
                let (from, to) = if self.random.u8(0..100) == 0 { (a.min(b), a.max(b)) } else { (a, a) };
                let to = [to[0], to[1], to[2], to[3], to[4].saturating_add(10)];
                batch.delete_range(from, to);
                self.model.retain(|key, _| !(from..to).contains(key));
                self.done.range_deletes += 1;
                "range delete"
            }
            4_930..4_935 => {
                self.done.flushes += 1;
                return db.flush().map_err(|error| format!("flush: {error}"));
            }
            4_935..4_938 => {
                let other = self.any_key();
                db.compact_range(Some(key.min(other)), Some(key.max(other)));
                self.done.compactions += 1;
                return Ok(());
            }
            4_938..5_400 => {
                let keys: Vec<Key> = (0..self.random.usize(1..64)).map(|_| self.any_key()).collect();
                return self.check_batch(db, &keys, reads);
            }
            5_400..5_500 => return self.check_range(db, key, reads),
            _ => return self.check_key(db, &key, reads),
        };
        self.done.writes += 1;
        db.write(batch).map_err(|error| format!("{what}: {error}"))
    }

    /// Every key of the model, and as many that are in no model.
    pub(crate) fn check_all(&mut self, db: &DB, reads: Reads) -> Result<(), String> {
        let keys: Vec<Key> = self.model.keys().copied().collect();
        keys.iter().try_for_each(|key| self.check_key(db, key, reads))?;
        keys.chunks(50).try_for_each(|keys| self.check_batch(db, keys, reads))?;
        let absent: Vec<Key> =
            (0..GROUPS).flat_map(|group| [self.key(group, NUMBERS), self.key(GROUPS + group, 0)]).collect();
        absent.chunks(50).try_for_each(|keys| self.check_batch(db, keys, reads))?;
        (0..GROUPS).step_by(7).try_for_each(|group| self.check_range(db, self.key(group, 0), reads))
    }

    fn read_options(&mut self, reads: Reads) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.set_verify_checksums(!(reads.unchecked && self.random.bool()));
        options
    }

    fn check_key(&mut self, db: &DB, key: &Key, reads: Reads) -> Result<(), String> {
        let got = db.get_opt(key, &self.read_options(reads));
        self.compare("get", key, got, reads)
    }

    fn check_batch(&mut self, db: &DB, keys: &[Key], reads: Reads) -> Result<(), String> {
        let got = db.multi_get_opt(keys, &self.read_options(reads));
        keys.iter().zip(got).try_for_each(|(key, got)| self.compare("multi_get", key, got, reads))
    }

    fn compare(
        &mut self,
        what: &str,
        key: &Key,
        got: Result<Option<Vec<u8>>, rocksdb::Error>,
        reads: Reads,
    ) -> Result<(), String> {
        let expected = self.model.get(key);
        match got {
            Ok(got) if got.as_ref() == expected => {
                self.done.compared += 1;
                Ok(())
            }
            Ok(got) => Err(format!("{what} of {key:02x?} gave {got:02x?}, the model has {expected:02x?}")),
            Err(error) if reads.may_fail && error.kind() == ErrorKind::Corruption => {
                self.done.refused += 1;
                Ok(())
            }
            Err(error) => Err(format!("{what} of {key:02x?} failed: {error}")),
        }
    }

    /// The keys of one prefix from `from` on, by an iterator, which asks the filter where prefixes are in it.
    fn check_range(&mut self, db: &DB, from: Key, reads: Reads) -> Result<(), String> {
        let mut options = self.read_options(reads);
        options.set_prefix_same_as_start(reads.prefixes);
        let mut expected =
            self.model.range(from..).take_while(|(key, _)| key[..PREFIX_BYTES] == from[..PREFIX_BYTES]);
        for item in db.iterator_opt(IteratorMode::From(&from, Direction::Forward), options) {
            let (key, value) = match item {
                Ok(item) => item,
                Err(error) if reads.may_fail && error.kind() == ErrorKind::Corruption => {
                    self.done.refused += 1;
                    return Ok(());
                }
                Err(error) => return Err(format!("iterator from {from:02x?} failed: {error}")),
            };
            if !key.starts_with(&from[..PREFIX_BYTES]) {
                break;
            }
            let expected = expected.next();
            if expected.is_none_or(|(k, v)| *k != *key || *v != *value) {
                return Err(format!(
                    "iterator from {from:02x?} gave {key:02x?} with {value:02x?}, the model has {expected:02x?}"
                ));
            }
            self.done.compared += 1;
        }
        match expected.next() {
            Some(expected) => Err(format!("iterator from {from:02x?} ended before {expected:02x?}")),
            None => Ok(()),
        }
    }
}
