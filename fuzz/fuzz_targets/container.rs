//! Hands inputs to [`bloomline_fuzz::container`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_fuzz::container::run(input));
