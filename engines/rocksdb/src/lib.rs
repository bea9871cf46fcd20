//! Bloomline filters in RocksDB: a `FilterPolicy` for the crate [`rocksdb`].
//!
//! After a key is written, a lookup of it is never turned away by a filter, in this process and after any number
//! of re-opened databases. A filter's "absent" is a fact; its "may be present" is a probability.
//!
//! - [`FilterPolicy`] is what a user makes and installs, in one call on [`rocksdb::Options`].
//! - [`When`] and [`Monkey`] give each level of the tree the filter that it deserves.
//! - [`Counters`] and [`Tickers`] say what the filters did.
//! - [`inspect`] looks into the filters of table files.
//!
//! # How it works
//! RocksDB offers no filter policy from outside C++, so a small shim (`shim/`) subclasses RocksDB's classes and
//! calls Rust through a C interface that nothing unwinds across. Filters are over RocksDB's own key hash and under
//! RocksDB's own name, so those that exist keep working from the first minute. Blocked filters are RocksDB's own
//! format, and a database can go back to stock RocksDB with its filters in use; compact ones are Bloomline's, take a
//! quarter less memory, and let every key through in a stock RocksDB. What differs is the code: builds
//! fetch their lines ahead, and lookups probe with the best instructions of the processor that runs them, where
//! a default build of RocksDB has only the portable loop.
//!
//! # What it refuses to do
//! It never turns a lookup away on bytes that it cannot prove to be a filter: anything else is left to RocksDB's
//! own readers or lets every key through, and is counted. It is no security boundary: RocksDB's key hash has no
//! secret, and keys chosen by an attacker can be made to collide.

#![expect(unsafe_code, reason = "one crate is one border: the shim is C++")]

mod block;
mod blocked;
mod builder;
mod callbacks;
mod compact;
mod counters;
mod error;
mod faults;
mod ffi;
mod hashes;
pub mod inspect;
mod policy;
mod reader;
#[cfg(feature = "testing")]
pub mod testing;
mod tickers;

use std::sync::atomic::{AtomicU64, Ordering};

/// The crate that the policies are for, of the one version that fits.
pub use rocksdb;

pub use block::Kind;
pub use counters::Counters;
pub use error::Error;
pub use policy::{Allocation, FilterPolicy, Layout, LevelShare, Monkey, Reason, When, policy_name};
pub use tickers::Tickers;

/// Counts one.
fn relaxed(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
