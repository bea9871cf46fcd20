//! From lines to hashes, on one thread or several.
//!
//! With several, one thread adds and the others take turns at the input:
//!
//! ```text
//! reader goes round the hashing threads; each takes one chunk and passes the reader on
//!   thread 0: [read chunk 0][hash        ]      [read chunk 2][hash ...
//!   thread 1:               [read chunk 1][hash         ]     [read ...
//!   adding:                  [add chunk 0 ]     [add chunk 1]  ...      in the order of the input
//! ```
//!
//! Hashes arrive in the order of the input whatever the number of threads, so the file that is built is the
//! same. Reading is never done by two threads at a time: it is one system call per chunk.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use bloomline::hash::{Hasher, KeyHash};

use crate::exit::Failure;
use crate::input::{BATCH, Chunk, LineEnds, Lines};

/// Hashing threads that one adding thread can keep up with, and then some.
const MAX_HASHING_THREADS: usize = 8;

/// Chunks that a hashing thread may be ahead of the adding thread.
const AHEAD: usize = 2;

/// Hashes every line, in order, and returns how many there were. `threads` includes the one that calls
/// `use_hashes`, which is the caller's.
pub(crate) fn hash_lines(
    lines: Lines,
    ends: LineEnds,
    hasher: &Hasher,
    threads: usize,
    use_hashes: impl FnMut(&[KeyHash]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    match threads {
        0 | 1 => hash_here(lines, ends, hasher, use_hashes),
        _ => hash_in_turns(lines, ends, hasher, (threads - 1).min(MAX_HASHING_THREADS), use_hashes),
    }
}

fn hash_here(
    mut lines: Lines,
    ends: LineEnds,
    hasher: &Hasher,
    mut use_hashes: impl FnMut(&[KeyHash]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut chunk = Chunk::default();
    let mut hashes = Vec::with_capacity(BATCH);
    let mut keys = 0;
    while lines.read(&mut chunk)? {
        chunk.batches(ends, |batch| {
            hashes.clear();
            hashes.extend(batch.iter().map(|key| hasher.hash(key)));
            keys += batch.len() as u64;
            use_hashes(&hashes)
        })?;
    }
    Ok(keys)
}

fn hash_in_turns(
    lines: Lines,
    ends: LineEnds,
    hasher: &Hasher,
    workers: usize,
    mut use_hashes: impl FnMut(&[KeyHash]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    thread::scope(|scope| {
        // One channel into each worker, for the reader; the ring is closed by shifting the senders by one.
        let (mut passes, turns): (Vec<_>, Vec<_>) = (0..workers).map(|_| sync_channel(1)).unzip();
        if passes[0].send(lines).is_err() {
            unreachable!("its receiver is in `turns`");
        }
        passes.rotate_left(1);
        let outputs: Vec<_> = turns
            .into_iter()
            .zip(passes)
            .map(|(turn, pass)| {
                let (output, hashed) = sync_channel(AHEAD);
                scope.spawn(move || take_turns(&turn, &pass, &output, ends, hasher));
                hashed
            })
            .collect();
        let mut keys = 0;
        for hashed in outputs.iter().cycle() {
            // The worker whose turn it would be has seen the end.
            let Ok(hashes) = hashed.recv() else { break };
            let hashes = hashes?;
            keys += hashes.len() as u64;
            use_hashes(&hashes)?;
        }
        Ok(keys)
    })
}

/// A hashing thread. It ends at the end of the input, at a failure, or when no one wants its hashes any more;
/// dropping `pass` and `output` then tells its neighbour and the adding thread.
fn take_turns(
    turn: &Receiver<Lines>,
    pass: &SyncSender<Lines>,
    output: &SyncSender<Result<Vec<KeyHash>, Failure>>,
    ends: LineEnds,
    hasher: &Hasher,
) {
    let mut chunk = Chunk::default();
    let mut expected = 0;
    while let Ok(mut lines) = turn.recv() {
        match lines.read(&mut chunk) {
            Ok(true) => {}
            Ok(false) => return,
            Err(failure) => {
                // Where no one is left to hear of it, a failure came first elsewhere.
                let _ = output.send(Err(failure));
                return;
            }
        }
        // The neighbour is only gone when the adding thread is.
        let passed = pass.send(lines);
        // Chunks have much the same number of lines, so that one allocation does.
        let mut hashes = Vec::with_capacity(expected);
        hashes.extend(chunk.lines(ends).map(|key| hasher.hash(key)));
        expected = hashes.len() + hashes.len() / 8;
        if passed.is_err() || output.send(Ok(hashes)).is_err() {
            return;
        }
    }
}
