//! The secret key of a keyed hasher.

use std::fmt;

/// A secret 128-bit key for SipHash-2-4.
///
/// Take 16 bytes from a cryptographic random source, not a password: a file shows 32 bits that depend on
/// the key (the hasher check), and those are enough to test guesses of a weak one. The key itself is never
/// written to a file, and neither [`Debug`](fmt::Debug) nor any error shows it. It is not wiped from memory
/// when dropped.
#[derive(Clone)]
pub struct SecretKey([u8; 16]);

impl SecretKey {
    /// Takes the 16 bytes of the key, in the order of the SipHash paper (k0 is the first eight, as a
    /// little-endian number).
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the hash function only.
    pub(super) const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<[u8; 16]> for SecretKey {
    fn from(bytes: [u8; 16]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}
