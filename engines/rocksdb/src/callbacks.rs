//! The functions that the shim calls.
//!
//! Each does three things: turns what C++ passed into references, calls the safe code, and answers a panic with
//! the safe answer that `shim/abi.h` names. What must hold of the pointers is said there and kept by
//! `shim/filter.cc`; a SAFETY line here names the rule that it relies on.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;

use bloomline::hash::KeyHash;
use bloomline::line::LineBytes;

use crate::block::{self, Kind};
use crate::blocked::{BATCH, Kernel, OneVector};
use crate::builder::{Builder, Format};
use crate::compact::{self, Layers, OneWidth};
use crate::counters::{Meter, Slot};
use crate::faults::{self, Stage};
use crate::ffi::{Callbacks, RawChoice, RawContext, RawHashes, RawReader, choice, open};
use crate::hashes::Hashes;
use crate::policy::{Leaf, Shared};
use crate::reader::{Filter, Reader, Settled};
use crate::relaxed;

pub(crate) static CALLBACKS: Callbacks = Callbacks {
    policy_release,
    policy_choose,
    policy_id,
    policy_parse,
    builder_space,
    builder_entries,
    builder_rate,
    builder_prepare,
    builder_write,
    builder_verify,
    builder_free,
    reader_open,
};

/// Runs `f`; a panic becomes `fallback` and goes no further.
#[inline(always)]
pub(crate) fn guard<T>(fallback: T, f: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => value,
        Err(payload) => {
            // Text, which nearly every panic carries, is freed. Dropping anything else could panic again.
            if !payload.is::<&'static str>() && !payload.is::<String>() {
                std::mem::forget(payload);
            }
            fallback
        }
    }
}

/// The shim's array as a slice.
///
/// # Safety
/// `data` points at `len` initialised values that nobody writes while the slice lives, or `len` is 0.
unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if len == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: the caller vouches for the rest.
    unsafe { slice::from_raw_parts(data, len) }
}

/// The policy behind the shim's pointer.
///
/// # Safety
/// `policy` came from `Arc::into_raw` of an `Arc<Shared>`, and the reference that it stands for is alive.
unsafe fn shared<'a>(policy: *const c_void) -> &'a Shared {
    // SAFETY: as above.
    unsafe { &*policy.cast::<Shared>() }
}

unsafe extern "C" fn policy_release(policy: *const c_void) {
    guard((), || {
        // SAFETY: the shim's Policy owns one reference and gives it up here, once, in its destructor.
        drop(unsafe { Arc::from_raw(policy.cast::<Shared>()) });
    });
}

unsafe extern "C" fn policy_choose(policy: *const c_void, context: *const RawContext, out: *mut RawChoice) {
    // SAFETY: the shim's Policy holds the reference; context and out are locals of the calling function, initialised.
    let (shared, context, out) = unsafe { (shared(policy), &*context, &mut *out) };
    let none = || RawChoice {
        kind: choice::NO_FILTER,
        bits_per_key: 0.0,
        builder: std::ptr::null_mut(),
        one_piece: false,
    };
    *out = guard(none(), || {
        faults::check(shared, Stage::Choose);
        let rocksdb =
            |kind, millibits: u32| RawChoice { kind, bits_per_key: f64::from(millibits) / 1000.0, ..none() };
        let own = |format| {
            let builder = Builder::new(format, Arc::clone(&shared.meter), faults::of(shared));
            let one_piece = matches!(format, Format::Compact(_));
            let builder = Box::into_raw(Box::new(builder)).cast();
            RawChoice { kind: choice::OWN, builder, one_piece, ..none() }
        };
        match shared.plan.choose(context) {
            Leaf::None => none(),
            Leaf::RocksdbBloom { millibits } => rocksdb(choice::ROCKSDB_BLOOM, millibits),
            Leaf::RocksdbRibbon { millibits } => rocksdb(choice::ROCKSDB_RIBBON, millibits),
            Leaf::Blocked(params) => own(Format::Blocked(params)),
            Leaf::Compact(params) => own(Format::Compact(params)),
        }
    });
}

unsafe extern "C" fn policy_id(policy: *const c_void, out: *mut c_char, cap: usize) -> usize {
    // SAFETY: the shim's Policy holds the reference.
    let shared = unsafe { shared(policy) };
    guard(0, || {
        let text = shared.plan.to_string();
        if !out.is_null() {
            let n = text.len().min(cap);
            // SAFETY: the shim passes a buffer of `cap` bytes, or null.
            unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast::<u8>(), n) };
        }
        text.len()
    })
}

unsafe extern "C" fn policy_parse(
    id: *const c_char,
    len: usize,
    message: *mut c_char,
    cap: usize,
) -> *const c_void {
    // SAFETY: the shim passes the bytes of a live std::string.
    let id = unsafe { slice(id.cast::<u8>(), len) };
    guard(std::ptr::null(), || {
        let error = match std::str::from_utf8(id).map(str::parse) {
            Ok(Ok(plan)) => return Arc::into_raw(Arc::new(Shared::new(plan))).cast(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let n = error.len().min(cap.saturating_sub(1));
        if !message.is_null() && cap > 0 {
            // SAFETY: the shim passes a buffer of `cap` bytes, and n + 1 ≤ cap.
            unsafe {
                std::ptr::copy_nonoverlapping(error.as_ptr(), message.cast::<u8>(), n);
                message.add(n).write(0);
            }
        }
        std::ptr::null()
    })
}

/// The builder behind the shim's pointer.
///
/// # Safety
/// `builder` is the pointer that `policy_choose` gave, and `builder_free` was not called on it.
unsafe fn builder<'a>(builder: *const c_void) -> &'a Builder {
    // SAFETY: as above.
    unsafe { &*builder.cast::<Builder>() }
}

unsafe extern "C" fn builder_space(this: *const c_void, entries: usize) -> usize {
    // SAFETY: the shim's BitsBuilder owns the builder.
    let builder = unsafe { builder(this) };
    guard(0, || builder.space(entries))
}

unsafe extern "C" fn builder_entries(this: *const c_void, bytes: usize) -> usize {
    // SAFETY: the shim's BitsBuilder owns the builder.
    let builder = unsafe { builder(this) };
    guard(0, || builder.entries(bytes))
}

unsafe extern "C" fn builder_rate(this: *const c_void, entries: usize, bytes: usize) -> f64 {
    // SAFETY: the shim's BitsBuilder owns the builder.
    let builder = unsafe { builder(this) };
    guard(1.0, || builder.rate(entries, bytes))
}

unsafe extern "C" fn builder_prepare(this: *mut c_void, hashes: RawHashes) -> usize {
    // SAFETY: the shim's BitsBuilder owns the builder, and the hashes until this returns.
    let (builder, hashes) = unsafe { (builder(this), Hashes::new(hashes)) };
    guard(None, || builder.prepare(hashes)).unwrap_or_else(|| {
        builder.failed();
        0
    })
}

unsafe extern "C" fn builder_write(this: *mut c_void, hashes: RawHashes, out: *mut u8, len: usize) -> bool {
    if out.is_null() {
        return false;
    }
    // SAFETY: the shim's BitsBuilder owns the builder, the hashes, and the zeroed buffer of len bytes that nobody
    // else sees before it returns.
    let (builder, hashes, out) =
        unsafe { (builder(this), Hashes::new(hashes), slice::from_raw_parts_mut(out, len)) };
    let written = guard(false, || builder.write(hashes, out));
    if !written {
        builder.failed();
    }
    written
}

unsafe extern "C" fn builder_verify(
    this: *const c_void,
    hashes: RawHashes,
    block: *const u8,
    len: usize,
) -> bool {
    // SAFETY: the shim's BitsBuilder owns the builder and the hashes; the block is the caller's Slice.
    let (builder, hashes, block) = unsafe { (builder(this), Hashes::new(hashes), slice(block, len)) };
    guard(false, || builder.verify(hashes, block))
}

unsafe extern "C" fn builder_free(this: *mut c_void) {
    guard((), || {
        // SAFETY: the pointer of policy_choose, given back once by the destructor of the shim's BitsBuilder.
        drop(unsafe { Box::from_raw(this.cast::<Builder>()) });
    });
}

unsafe extern "C" fn reader_open(
    policy: *const c_void,
    block: *const u8,
    len: usize,
    out: *mut RawReader,
) -> u32 {
    // SAFETY: the shim's Policy holds the reference, out is an initialised local of the calling function, and RocksDB
    // keeps a block as long as its reader (ParsedFullFilterBlock owns both).
    let (shared, block, out) = unsafe { (shared(policy), slice::<u8>(block, len), &mut *out) };
    let meter = &shared.meter;
    let kind = guard(open::MAY_MATCH, || {
        faults::check(shared, Stage::Open);
        let opened = match block::classify(block) {
            Kind::Ribbon { .. } | Kind::Legacy { .. } => return open::ROCKSDB,
            Kind::Unknown => None,
            #[cfg(feature = "testing")]
            _ if faults::of(shared).stage == Some(Stage::Probe) => {
                Some(raw(block::lines(block), Stage::Probe, meter))
            }
            Kind::Blocked { lines, probes } => Kernel::new(lines, probes).map(|kernel| {
                let lines = block::lines(block);
                OneVector::new(kernel)
                    .map_or_else(|| raw(lines, kernel, meter), |one| raw_settled(lines, one, meter))
            }),
            Kind::Compact { fingerprint_bits, .. } => {
                let lines = compact::lines(block);
                Layers::read(lines, fingerprint_bits).map(|layers| raw_layers(lines, layers, meter))
            }
        };
        opened.map_or(open::MAY_MATCH, |reader| {
            *out = reader;
            open::OWN
        })
    });
    relaxed(match kind {
        open::OWN => &meter.readers_opened,
        open::ROCKSDB => &meter.readers_delegated,
        _ => &meter.readers_fell_open,
    });
    kind
}

/// A reader for the shim: its state, and the functions for its kind.
fn raw<F: Filter>(lines: &[LineBytes], filter: F, meter: &Arc<Meter>) -> RawReader {
    let reader = Box::new(Reader::new(lines, filter, meter));
    RawReader {
        probe: Some(reader_probe::<F>),
        probe_batch: Some(reader_probe_batch::<F>),
        free: Some(reader_free::<F>),
        state: Box::into_raw(reader).cast(),
    }
}

unsafe extern "C" fn reader_probe<F: Filter>(state: *const c_void, hash: KeyHash, slot: usize) -> bool {
    // SAFETY: the shim's BitsReader owns the state that `raw` made with this function, and the block lives as long.
    let reader = unsafe { &*state.cast::<Reader<'_, F>>() };
    reader.might_contain(hash, Slot(slot))
}

/// The reader of a compact filter: with a probe for its fingerprint bits, where the processor has one.
fn raw_layers(lines: &[LineBytes], layers: Layers, meter: &Arc<Meter>) -> RawReader {
    macro_rules! settled {
        ($($bits:literal)*) => {
            $(if let Some(layers) = OneWidth::<$bits>::new(&layers) {
                return raw_settled(lines, layers, meter);
            })*
        };
    }
    settled!(4 5 6 7 8 9 10 11 12 13 14 15 16);
    raw(lines, layers, meter)
}

/// [`raw`] with a probe of its own.
fn raw_settled<F: Settled>(lines: &[LineBytes], filter: F, meter: &Arc<Meter>) -> RawReader {
    let reader = raw(lines, filter, meter);
    #[cfg(target_arch = "x86_64")]
    return RawReader { probe: Some(settled_probe::<F>), ..reader };
    #[cfg(not(target_arch = "x86_64"))]
    reader
}

/// [`reader_probe`] with the kernel as a part of it. Nothing in it panics, and a guard would not be compiled for the
/// processor.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe extern "C" fn settled_probe<F: Settled>(state: *const c_void, hash: KeyHash, slot: usize) -> bool {
    if !Slot(slot).is_own() {
        // SAFETY: the same state, for the same kind of filter.
        return unsafe { reader_probe::<F>(state, hash, slot) };
    }
    // SAFETY: the shim's BitsReader owns the state that `raw` made for an `F`, and the block lives as long.
    let reader = unsafe { &*state.cast::<Reader<'_, F>>() };
    reader.might_contain_unguarded(hash, Slot(slot))
}

unsafe extern "C" fn reader_probe_batch<F: Filter>(
    state: *const c_void,
    hashes: *const KeyHash,
    n: usize,
    out: *mut bool,
    slot: usize,
) {
    // SAFETY: as for reader_probe; the hashes are a local array of the calling function.
    let (reader, hashes) = unsafe { (&*state.cast::<Reader<'_, F>>(), slice(hashes, n)) };
    let mut done = 0;
    for hashes in hashes.chunks(BATCH) {
        let answers = guard([true; BATCH], || reader.might_contain_batch(hashes, Slot(slot)));
        // SAFETY: RocksDB's array of n answers, not yet initialised, so written through the pointer; the chunks
        // together are n long.
        unsafe { std::ptr::copy_nonoverlapping(answers.as_ptr(), out.add(done), hashes.len()) };
        done += hashes.len();
    }
}

unsafe extern "C" fn reader_free<F: Filter>(state: *mut c_void) {
    guard((), || {
        // SAFETY: the state that `raw` made with this function, given back once by the destructor of the shim's
        // BitsReader.
        drop(unsafe { Box::from_raw(state.cast::<Reader<'_, F>>()) });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_fallback_even_when_its_payload_panics_on_drop() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(guard(7, || 8), 8);
        assert_eq!(guard(7, || panic!("expected by this test")), 7);
        assert_eq!(guard(7, || std::panic::panic_any(Bomb)), 7);
    }
}
