//! `shim/abi.h` in Rust: the same types and functions, field by field and in the same order. A hash is a [`KeyHash`]
//! here, which is a `uint64_t` in memory.

use std::ffi::{c_char, c_int, c_void};

use bloomline::hash::KeyHash;
use librocksdb_sys::{rocksdb_options_t, rocksdb_t};

use crate::Tickers;

/// `bl_context`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawContext {
    pub(crate) level: i32,
    pub(crate) num_levels: i32,
    pub(crate) bottommost: u8,
    pub(crate) reason: u8,
}

/// `bl_choice_kind`.
pub(crate) mod choice {
    pub(crate) const NO_FILTER: u32 = 0;
    pub(crate) const OWN: u32 = 1;
    pub(crate) const ROCKSDB_BLOOM: u32 = 2;
    pub(crate) const ROCKSDB_RIBBON: u32 = 3;
}

/// `bl_choice`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawChoice {
    pub(crate) kind: u32,
    pub(crate) bits_per_key: f64,
    pub(crate) builder: *mut c_void,
    pub(crate) one_piece: bool,
}

/// `BL_CHUNK`.
pub(crate) const CHUNK: usize = 8192;

/// `bl_hashes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawHashes {
    pub(crate) chunks: *const *const KeyHash,
    pub(crate) n: usize,
    pub(crate) one_piece: bool,
}

/// `bl_open_kind`.
pub(crate) mod open {
    pub(crate) const MAY_MATCH: u32 = 0;
    pub(crate) const OWN: u32 = 1;
    pub(crate) const ROCKSDB: u32 = 2;
}

/// `bl_reader`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawReader {
    pub(crate) probe: Option<unsafe extern "C" fn(*const c_void, KeyHash, usize) -> bool>,
    pub(crate) probe_batch:
        Option<unsafe extern "C" fn(*const c_void, *const KeyHash, usize, *mut bool, usize)>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) state: *mut c_void,
}

/// `bl_callbacks`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Callbacks {
    pub(crate) policy_release: unsafe extern "C" fn(*const c_void),
    pub(crate) policy_choose: unsafe extern "C" fn(*const c_void, *const RawContext, *mut RawChoice),
    pub(crate) policy_id: unsafe extern "C" fn(*const c_void, *mut c_char, usize) -> usize,
    pub(crate) policy_parse: unsafe extern "C" fn(*const c_char, usize, *mut c_char, usize) -> *const c_void,
    pub(crate) builder_space: unsafe extern "C" fn(*const c_void, usize) -> usize,
    pub(crate) builder_entries: unsafe extern "C" fn(*const c_void, usize) -> usize,
    pub(crate) builder_rate: unsafe extern "C" fn(*const c_void, usize, usize) -> f64,
    pub(crate) builder_prepare: unsafe extern "C" fn(*mut c_void, RawHashes) -> usize,
    pub(crate) builder_write: unsafe extern "C" fn(*mut c_void, RawHashes, *mut u8, usize) -> bool,
    pub(crate) builder_verify: unsafe extern "C" fn(*const c_void, RawHashes, *const u8, usize) -> bool,
    pub(crate) builder_free: unsafe extern "C" fn(*mut c_void),
    pub(crate) reader_open: unsafe extern "C" fn(*const c_void, *const u8, usize, *mut RawReader) -> u32,
}

/// `bl_install_result`.
pub(crate) const INSTALLED: u32 = 0;

/// `bl_inspect_result`.
pub(crate) const INSPECTED: c_int = 0;
pub(crate) const DAMAGED: c_int = 1;

/// `bl_table`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawTable {
    pub(crate) entries: u64,
    pub(crate) filter_entries: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) format_version: u32,
    pub(crate) partitioned: u8,
    pub(crate) filter_name: *const c_char,
    pub(crate) policy_name: *const c_char,
}

unsafe extern "C" {
    pub(crate) fn bl_init(callbacks: *const Callbacks) -> bool;
    pub(crate) fn bl_key_hash(key: *const c_char, len: usize) -> u64;
    pub(crate) safe fn bl_set_counter_slot(slot: usize);
    pub(crate) fn bl_install(options: *mut rocksdb_options_t, policy: *const c_void) -> u32;
    pub(crate) fn bl_uninstall(options: *mut rocksdb_options_t) -> u32;
    pub(crate) fn bl_installed(options: *const rocksdb_options_t) -> *const c_void;
    pub(crate) fn bl_visit_in_use(
        db: *mut rocksdb_t,
        visit: unsafe extern "C" fn(*const c_void, *mut c_void),
        arg: *mut c_void,
    );
    pub(crate) fn bl_policy_name(options: *const rocksdb_options_t, out: *mut c_char, cap: usize) -> usize;
    pub(crate) fn bl_tickers(options: *const rocksdb_options_t, out: *mut Tickers) -> bool;
    pub(crate) fn bl_inspect(
        path: *const c_char,
        arg: *mut c_void,
        table: unsafe extern "C" fn(*mut c_void, *const RawTable),
        block: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize),
        message: *mut c_char,
        cap: usize,
    ) -> c_int;
}
