//! The 64-byte line.

/// The bytes of one line, at any address.
pub type LineBytes = [u8; 64];
