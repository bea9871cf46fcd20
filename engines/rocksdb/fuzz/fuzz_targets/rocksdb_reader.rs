//! Hands inputs to [`bloomline_rocksdb_fuzz::run`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_rocksdb_fuzz::run(input));
