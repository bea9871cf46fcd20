//! What all filters have in common, for callers who don't care which one they hold.
//!
//! Two object-safe traits, because not every filter takes keys: one that was read from a block, or built once
//! from all its keys, only answers. The types' own methods have the same names and do the same, and most have
//! more.

use std::fmt;
use std::io::{self, Write};

use crate::format::Kind;
use crate::hash::{Hasher, KeyHash};

/// A set of keys that answers "certainly absent" or "maybe present".
pub trait Membership: fmt::Debug + Send + Sync {
    /// The kind of block that the filter is written as.
    fn kind(&self) -> Kind;

    /// What the keys are hashed with.
    fn hasher(&self) -> &Hasher;

    /// False when the hash was certainly never added; true when it may have been.
    fn might_contain_hash(&self, hash: KeyHash) -> bool;

    /// [`might_contain_hash`](Self::might_contain_hash) for many hashes, with the memory of each fetched ahead.
    ///
    /// # Panics
    /// Where `answers` is not as long as `hashes`.
    fn might_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]);

    /// False when the key was certainly never added; true when it may have been.
    fn might_contain(&self, key: &[u8]) -> bool {
        self.might_contain_hash(self.hasher().hash(key))
    }

    /// Keys added, as the filter counted them.
    fn count(&self) -> u64;

    /// The false-positive rate that theory gives for [`count`](Self::count) keys.
    fn expected_fpp(&self) -> f64;

    /// The false-positive rate that the bits really set give. Reads the whole filter.
    fn expected_fpp_from_fill(&self) -> f64;

    /// The filter as a block, which [`open_any`](super::open_any) reads.
    fn encode(&self) -> Vec<u8>;

    /// Writes the filter as a block. A filter that no other thread adds to writes its lines from where they are;
    /// one that is shared is copied first, by [`encode`](Self::encode).
    ///
    /// # Errors
    /// What `out` says.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.encode())
    }
}

/// A filter that takes keys.
///
/// After `add(x)` has returned, `might_contain(x)` is true, in this process and after any number of saves and
/// loads. `false` is a fact; `true` is a probability.
pub trait Filter: Membership {
    /// Adds a hash, made by [`hasher`](Membership::hasher). True when its key was certainly new.
    fn add_hash(&mut self, hash: KeyHash) -> bool;

    /// [`add_hash`](Self::add_hash) for many hashes, with the memory of each fetched ahead; returns how many
    /// were certainly new.
    fn add_hashes(&mut self, hashes: &[KeyHash]) -> u64;

    /// Adds a key. True when it was certainly not in the filter before; false when it may have been.
    fn add(&mut self, key: &[u8]) -> bool {
        let hash = self.hasher().hash(key);
        self.add_hash(hash)
    }
}

/// Implements [`Membership`] and [`Filter`] by a type's own methods of the same names:
/// `implement!([generics] Type, |filter| kind of the filter)`; with `, write_to` after it also
/// [`Membership::write_to`].
macro_rules! implement {
    ([$($generics:tt)*] $type:ty, |$filter:ident| $kind:expr $(, $write_to:ident)?) => {
        impl<$($generics)*> $crate::filter::Membership for $type {
            fn kind(&self) -> $crate::format::Kind {
                let $filter = self;
                $kind
            }
            fn hasher(&self) -> &$crate::hash::Hasher {
                self.hasher()
            }
            fn might_contain_hash(&self, hash: $crate::hash::KeyHash) -> bool {
                self.might_contain_hash(hash)
            }
            fn might_contain_hashes(&self, hashes: &[$crate::hash::KeyHash], answers: &mut [bool]) {
                self.might_contain_hashes(hashes, answers);
            }
            fn count(&self) -> u64 {
                self.count()
            }
            fn expected_fpp(&self) -> f64 {
                self.expected_fpp()
            }
            fn expected_fpp_from_fill(&self) -> f64 {
                self.expected_fpp_from_fill()
            }
            fn encode(&self) -> Vec<u8> {
                self.encode()
            }
            $(fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
                self.$write_to(out)
            })?
        }

        impl<$($generics)*> $crate::filter::Filter for $type {
            fn add_hash(&mut self, hash: $crate::hash::KeyHash) -> bool {
                <$type>::add_hash(self, hash)
            }
            fn add_hashes(&mut self, hashes: &[$crate::hash::KeyHash]) -> u64 {
                <$type>::add_hashes(self, hashes)
            }
        }
    };
}

pub(super) use implement;
