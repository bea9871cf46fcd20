//! Hands inputs to [`bloomline_fuzz::operations`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_fuzz::operations::run(input));
