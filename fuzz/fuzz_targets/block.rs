//! Hands inputs to [`bloomline_fuzz::block`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_fuzz::block::run(input));
