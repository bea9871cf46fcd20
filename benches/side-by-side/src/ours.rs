//! Bloomline's own filters.

use bloomline::sizing::{BlockedParams, ClassicParams, blocked_fpp, classic_fpp};
use bloomline::{BlockedFilter, ClassicFilter, KeyHash};

use crate::contender::{BuildFrom, Contender, Filter, count, count_batched};
use crate::keys::Key;

/// Blocked, with `bits_per_key` bits per key.
pub(crate) fn blocked(keys: u64, bits_per_key: f64) -> Contender {
    let params = BlockedParams::for_bits_per_key(keys, bits_per_key).expect("a usual size");
    Contender {
        name: "bloomline blocked",
        settings: "added in batches",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(blocked_fpp(bits_per_key, params.probes())),
        build: Box::new(move |keys| {
            let mut filter = BlockedFilter::new(params).expect("memory for a filter");
            filter.add_hashes(&keys.hashes);
            Box::new(filter)
        }),
    }
}

/// Classic, with `bits_per_key` bits per key.
pub(crate) fn classic(keys: u64, bits_per_key: f64) -> Contender {
    let params = ClassicParams::for_bits_per_key(keys, bits_per_key).expect("a usual size");
    Contender {
        name: "bloomline classic",
        settings: "added in batches",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(classic_fpp(bits_per_key, params.probes())),
        build: Box::new(move |keys| {
            let mut filter = ClassicFilter::new(params).expect("memory for a filter");
            filter.add_hashes(&keys.hashes);
            Box::new(filter)
        }),
    }
}

macro_rules! impl_filter {
    ($bloom:ty) => {
        impl Filter for $bloom {
            fn bytes(&self) -> usize {
                self.bytes()
            }

            fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
                Some(count(hashes, |&hash| self.might_contain_hash(hash)))
            }

            fn count_hashes_batched(&self, hashes: &[KeyHash]) -> Option<usize> {
                Some(count_batched(hashes, |batch, answers| self.might_contain_hashes(batch, answers)))
            }

            fn count_keys(&self, keys: &[Key]) -> Option<usize> {
                Some(count(keys, |key| self.might_contain(key)))
            }

            fn count_keys_batched(&self, keys: &[Key]) -> Option<usize> {
                Some(count_batched(keys, |batch, answers| self.might_contain_batch(batch, answers)))
            }
        }
    };
}

impl_filter!(BlockedFilter);
impl_filter!(ClassicFilter);
