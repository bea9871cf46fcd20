//! The plugin against RocksDB itself, one scenario per module. Every scenario that writes a database compares
//! what it reads with a `BTreeMap` that was given the same writes.

mod blocks;
mod cache;
mod compact;
mod damage;
mod families;
mod faults;
mod harness;
mod inspection;
mod install;
mod layouts;
mod levels;
mod load;
mod monkey;
mod observe;
mod reopen;
mod soak;
mod stock;
mod writes;
