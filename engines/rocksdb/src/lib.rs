//! Bloomline filters as a RocksDB `FilterPolicy`.
