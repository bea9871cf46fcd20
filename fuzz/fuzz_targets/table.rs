//! Hands inputs to [`bloomline_fuzz::table`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_fuzz::table::run(input));
