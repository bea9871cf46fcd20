//! SipHash-2-4 by Jean-Philippe Aumasson and Daniel J. Bernstein (crate `siphasher`).
//!
//! For keys that an attacker may choose: without the secret key nobody can work out which keys collide or
//! which absent keys the filter takes for present. A pseudo-random function, at several times the cost of
//! XXH3 on short keys.

use siphasher::sip::SipHasher24;

use super::SecretKey;

/// SipHash-2-4 of the key under the secret key.
#[inline]
pub(super) fn hash(secret: &SecretKey, key: &[u8]) -> u64 {
    SipHasher24::new_with_key(secret.bytes()).hash(key)
}
