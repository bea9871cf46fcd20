//! The run: rounds of work on one database, opened anew for each.
//!
//! ```text
//! until the time is up:
//!     open the database, under another policy and layout than before
//!     each thread: some thousand writes and reads of its own keys, each answer compared with its own model
//!     each thread: every key of its model, and keys that are not there
//!     close
//!     in rounds of damage: flip bits in filter blocks on disk, while threads read or when the database is closed
//! ```
//!
//! Rounds of damage alternate with as many without, so that each policy sees both.
//!
//! Threads share the database, so that flushes, compactions and filters meet everyone's keys, and share no keys, so
//! that each has a model of what it must find.
//!
//! **Damage**: bits are flipped in filter blocks and nowhere else, so the data is whole, and every answer must still be
//! right. Opening and reading may fail with RocksDB's "Corruption" while a damaged file lives, and only then. Checksums can be
//! switched off where all damaged blocks are compact ones, which have a checksum of their own: a Bloom filter with a
//! bit less cannot be told from a sound one.

mod damage;
mod setup;
mod summary;
mod worker;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rocksdb::{BottommostLevelCompaction, CompactOptions, DB, ErrorKind};

use damage::{Damage, Extent};
use setup::{POLICIES, Setup};
pub(crate) use summary::Summary;
use worker::{Reads, Worker};

/// What a run is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    pub(crate) threads: u8,
}

/// A database, its model and what was done so far.
pub(crate) struct Soak {
    settings: Settings,
    path: PathBuf,
    random: fastrand::Rng,
    workers: Vec<Worker>,
    damage: Damage,
    pub(crate) summary: Summary,
}

impl Soak {
    pub(crate) fn new(settings: Settings, path: &Path) -> Self {
        let mut random = fastrand::Rng::with_seed(settings.seed);
        let workers = (0..settings.threads).map(|id| Worker::new(id, random.fork())).collect();
        Self {
            settings,
            path: path.to_owned(),
            random,
            workers,
            damage: Damage::default(),
            summary: Summary::default(),
        }
    }

    /// Rounds until the time is up; an error is the story of an answer that differed.
    pub(crate) fn run(&mut self, mut progress: impl FnMut(&str)) -> Result<(), String> {
        let start = Instant::now();
        let time = Duration::from_secs(self.settings.seconds);
        let mut told = start;
        while start.elapsed() < time {
            self.round()?;
            if told.elapsed() >= Duration::from_secs(10) {
                told = Instant::now();
                let left = time.saturating_sub(start.elapsed()).as_secs();
                progress(&format!(
                    "{} rounds, {} operations, {} damaged blocks, {left} s left",
                    self.summary.rounds,
                    self.summary.work.operations(),
                    self.damage.blocks,
                ));
            }
        }
        Ok(())
    }

    /// One opening of the database.
    pub(crate) fn round(&mut self) -> Result<(), String> {
        let (Settings { seed, threads, .. }, round) = (self.settings, self.summary.rounds);
        let setup = Setup::choose(round, &mut self.random);
        let turn = round % (2 * POLICIES.len());
        let striking = turn + 1 < POLICIES.len();
        let extent = if self.random.bool() { Extent::Compact } else { Extent::Any };
        // A mapped file is seen as it is at that instant, by those too who have checked it before.
        let live = striking && !setup.mapped && self.random.bool();
        let before = self.damage.extent();
        let damage = if live && before != Extent::Any { extent } else { before };
        let reads = Reads {
            prefixes: setup.prefixes,
            unchecked: damage == Extent::Compact,
            may_fail: damage != Extent::None,
        };
        let story = |what: String| format!("seed {seed}, {threads} threads, round {round}, {setup}: {what}");
        let options = setup.options()?;
        let db = match DB::open(&options, &self.path) {
            Err(error) if before != Extent::None && error.kind() == ErrorKind::Corruption => {
                // RocksDB reads the partitions of filters that it is to keep in memory at once, and insists on them.
                self.summary.refused_opens += 1;
                self.damage.mend().map_err(story)?;
                DB::open(&options, &self.path)
            }
            opened => opened,
        };
        let db = db.map_err(|error| story(format!("open: {error}")))?;
        let operations = self.random.u32(1_000..20_000);
        let work = |worker: &mut Worker| {
            (0..operations).try_for_each(|_| worker.operation(&db, reads))?;
            worker.check_all(&db, reads)
        };
        let work = &work;
        let results: Vec<Result<(), String>> = thread::scope(|scope| {
            let running: Vec<_> =
                self.workers.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
            let struck = if live { self.damage.strike(&self.path, extent, &mut self.random) } else { Ok(()) };
            let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|result| result.unwrap_or_else(|_| Err("a thread panicked".to_owned())))
                .chain([struck])
                .collect()
        });
        results.into_iter().collect::<Result<(), String>>().map_err(story)?;
        if turn + 1 == POLICIES.len() {
            heal(&db);
        }
        drop(db);
        self.summary.count_round(
            &setup,
            &options,
            reads,
            self.workers.iter().map(|worker| worker.done).sum(),
        );
        if striking && self.random.bool() {
            self.damage.strike(&self.path, extent, &mut self.random).map_err(story)?;
        }
        self.summary.damage = self.damage.blocks;
        Ok(())
    }
}

/// Writes every file anew, and with it every filter.
fn heal(db: &DB) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt::<&[u8], &[u8]>(None, None, &options);
}
