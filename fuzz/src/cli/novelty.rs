//! Telling the fuzzer what it can't see for itself, as the program that does it is another: counters that
//! libFuzzer reads beside those of the code. An input after which another one isn't zero any more is kept.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const COUNTERS: usize = 1 << 14;

#[cfg_attr(feature = "libfuzzer", expect(unsafe_code, reason = "the name of the section is libFuzzer's"))]
#[cfg_attr(feature = "libfuzzer", unsafe(link_section = "__libfuzzer_extra_counters"))]
static SEEN: [AtomicU8; COUNTERS] = [const { AtomicU8::new(0) }; COUNTERS];

/// Counts a command with its exit code and what it said, its numbers and quotations left out.
pub(super) fn tell(command: &str, code: i32, stderr: &str) {
    let mut quoted = false;
    let said = stderr.chars().filter(|&char| {
        quoted ^= char == '"' || char == '\'';
        !quoted && !char.is_ascii_digit()
    });
    let text = command.chars().chain(char::from_digit(code.unsigned_abs(), 36)).chain(said);
    let hash = text.fold(0xCBF2_9CE4_8422_2325, |hash: u64, char| {
        (hash ^ u64::from(char)).wrapping_mul(0x0100_0000_01B3)
    });
    let counter = (hash >> 32) % COUNTERS as u64;
    SEEN[usize::try_from(counter).expect("a few thousand")].store(1, Relaxed);
}
