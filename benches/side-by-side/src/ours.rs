//! Bloomline's own filters.

use bloomline::compact::{self, CompactBody, CompactLayout, CompactView};
use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, CompactParams, blocked_fpp, classic_fpp};
use bloomline::{AtomicClassicFilter, BlockedFilter, ClassicFilter, Hasher, KeyHash};

use crate::contender::{BATCH, BuildFrom, Contender, Filter, count, count_batched};
use crate::keys::{Key, Keys};

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
        build_parallel: Some(Box::new(move |keys| {
            let mut filter = BlockedFilter::new(params).expect("memory for a filter");
            filter.add_hashes_parallel(&keys.hashes, cores());
            Box::new(filter)
        })),
    }
}

/// The same filter, asked one by one in loops that are compiled for the processor.
pub(crate) fn blocked_run(keys: u64, bits_per_key: f64) -> Contender {
    let blocked = blocked(keys, bits_per_key);
    let params = BlockedParams::for_bits_per_key(keys, bits_per_key).expect("a usual size");
    Contender {
        name: "bloomline blocked, in run",
        settings: "the same, single lookups in Backend::run",
        build_from: BuildFrom::Nothing,
        build: Box::new(move |keys| {
            let mut filter = BlockedFilter::new(params).expect("memory for a filter");
            filter.add_hashes(&keys.hashes);
            Box::new(Run(filter))
        }),
        build_parallel: None,
        ..blocked
    }
}

struct Run(BlockedFilter);

impl Filter for Run {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
        Some(count_in_run(hashes, |&hash| self.0.might_contain_hash(hash)))
    }

    fn count_keys(&self, keys: &[Key]) -> Option<usize> {
        Some(count_in_run(keys, |key| self.0.might_contain(key)))
    }
}

/// [`count`], compiled for the processor.
fn count_in_run<T>(items: &[T], ask: impl Fn(&T) -> bool) -> usize {
    Backend::detect().run(
        #[inline(always)]
        || {
            let mut found = 0;
            for item in items {
                found += usize::from(ask(item));
            }
            found
        },
    )
}

/// Classic, with `bits_per_key` bits per key.
pub(crate) fn classic(keys: u64, bits_per_key: f64) -> Contender {
    let params = ClassicParams::for_bits_per_key(keys, bits_per_key).expect("a usual size");
    Contender {
        name: "bloomline classic",
        settings: "added in batches; on all cores by AtomicClassicFilter",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(classic_fpp(bits_per_key, params.probes())),
        build: Box::new(move |keys| {
            let mut filter = ClassicFilter::new(params).expect("memory for a filter");
            filter.add_hashes(&keys.hashes);
            Box::new(filter)
        }),
        build_parallel: Some(Box::new(move |keys| {
            let filter = AtomicClassicFilter::new(params).expect("memory for a filter");
            let share = keys.len().div_ceil(cores());
            std::thread::scope(|scope| {
                for hashes in keys.hashes.chunks(share) {
                    let filter = &filter;
                    scope.spawn(move || filter.add_hashes(hashes));
                }
            });
            Box::new(filter.into_filter())
        })),
    }
}

/// Compact, with `fingerprint_bits` fingerprint bits per key, under the name given.
pub(crate) fn compact(name: &'static str, fingerprint_bits: u8) -> Contender {
    let params = CompactParams::new(fingerprint_bits).expect("4 to 16");
    let build = move |keys: &Keys, threads| -> Box<dyn Filter> {
        let body = compact::build(keys.hashes.clone(), params, threads).expect("memory for a filter");
        let layout = CompactLayout::read(body.lines.lines(), fingerprint_bits).expect("a body just built");
        Box::new(Compact { body, layout })
    };
    Contender {
        name,
        settings: "static; its build time includes a copy of the hashes",
        build_from: BuildFrom::Hashes,
        expected_fpp: Some(params.fpp()),
        build: Box::new(move |keys| build(keys, 1)),
        build_parallel: Some(Box::new(move |keys| build(keys, cores()))),
    }
}

struct Compact {
    body: CompactBody,
    layout: CompactLayout,
}

impl Compact {
    fn view(&self) -> CompactView<'_> {
        let view = self.layout.view(Backend::detect(), self.body.lines.lines());
        view.expect("the lines that the layout was read from")
    }
}

impl Filter for Compact {
    fn bytes(&self) -> usize {
        self.body.lines.bytes().len()
    }

    fn count_hashes(&self, hashes: &[KeyHash]) -> Option<usize> {
        let view = self.view();
        Some(count(hashes, |&hash| view.might_contain(hash)))
    }

    fn count_hashes_batched(&self, hashes: &[KeyHash]) -> Option<usize> {
        let view = self.view();
        Some(count_batched(hashes, |batch, answers| view.might_contain_batch(batch, answers)))
    }

    fn count_keys(&self, keys: &[Key]) -> Option<usize> {
        let (view, hasher) = (self.view(), Hasher::default());
        Some(count(keys, |key| view.might_contain(hasher.hash(key))))
    }

    fn count_keys_batched(&self, keys: &[Key]) -> Option<usize> {
        let (view, hasher) = (self.view(), Hasher::default());
        let mut hashes = [KeyHash::new(0); BATCH];
        let ask = |batch: &[Key], answers: &mut [bool]| {
            let hashes = &mut hashes[..batch.len()];
            for (hash, key) in hashes.iter_mut().zip(batch) {
                *hash = hasher.hash(key);
            }
            view.might_contain_batch(hashes, answers);
        };
        Some(count_batched(keys, ask))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
