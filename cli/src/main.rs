//! The `bloomline` command.

fn main() {}
