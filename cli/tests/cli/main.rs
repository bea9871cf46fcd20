//! The `bloomline` command as a user meets it: one scenario a file, each run on the real program.

mod answers;
mod bad_files;
mod bad_input;
mod capacity;
mod closed_output;
mod compact;
mod completions;
mod demo;
mod empty_keys;
mod every_bit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod help;
mod inspect;
mod interrupt;
mod json;
mod keys_are_bytes;
mod large_lines;
mod merge;
mod nothing_overwritten;
mod plan;
mod scalable;
mod secret_key;
#[cfg(feature = "rocksdb")]
mod sst;
mod standard_input;
mod support;
mod table;
