//! Hands inputs to [`bloomline_fuzz::cli`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bloomline_fuzz::cli::run(input));
