//! What is in the filters of table files: kind, size, fill and the rate to expect.
//!
//! RocksDB's tools print the size of a file's filter and no more. This reads each filter block, checksums
//! verified, and recognises Bloomline's and all of RocksDB's kinds. It opens files read-only and needs no
//! database; it does not decompress, and neither does RocksDB, which never compresses filters.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::block;
pub use crate::block::{Kind, classify};
use crate::blocked::Kernel;
use crate::callbacks::guard;
use crate::ffi::{self, DAMAGED, INSPECTED, RawTable};

/// One filter block, or one partition of a partitioned filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Block {
    /// Its kind.
    pub kind: Kind,
    /// Where it begins in its file; `None` for a block by itself.
    pub offset: Option<u64>,
    /// Bytes, trailer included.
    pub bytes: u64,
    /// Share of bits that are set, 0 to 1; of blocked filters only.
    pub fill: Option<f64>,
    /// The false-positive rate that absent keys meet: from the bits that are set for a blocked filter, from the
    /// fingerprint bits for a compact filter or a Ribbon, 1 for a block that lets everything through. `None` for
    /// legacy filters.
    pub rate: Option<f64>,
}

/// The filter of one table file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// The file.
    pub path: PathBuf,
    /// Entries in the file, deletes and merges included.
    pub entries: u64,
    /// Entries in the filter: keys and prefixes. 0 when the writer did not record it.
    pub filter_entries: u64,
    /// Bytes of the filter, a partitioned one's index included.
    pub filter_bytes: u64,
    /// The file's `format_version`.
    pub format_version: u32,
    /// Whether the filter is partitioned.
    pub partitioned: bool,
    /// The name under which readers look for the filter; empty without one.
    pub filter_name: String,
    /// The policy that wrote it, as the file's properties name it.
    pub policy_name: String,
    /// The filter, or its partitions in key order.
    pub blocks: Vec<Block>,
}

impl Table {
    /// Bytes of the filter's blocks times eight per filter entry; `None` when the entries are unknown.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn bits_per_key(&self) -> Option<f64> {
        let bytes: u64 = self.blocks.iter().map(|block| block.bytes).sum();
        (self.filter_entries > 0 && bytes > 0).then(|| bytes as f64 * 8.0 / self.filter_entries as f64)
    }

    /// The share of set bits over all blocks, weighted by size.
    #[must_use]
    pub fn fill(&self) -> Option<f64> {
        self.mean(|block| block.fill)
    }

    /// The expected false-positive rate over all blocks, weighted by size, for keys spread as the file's own.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.mean(|block| block.rate)
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn mean(&self, of: impl Fn(&Block) -> Option<f64>) -> Option<f64> {
        let (mut sum, mut bytes) = (0.0, 0.0);
        for block in &self.blocks {
            sum += of(block)? * block.bytes as f64;
            bytes += block.bytes as f64;
        }
        (bytes > 0.0).then(|| sum / bytes)
    }
}

/// Describes one filter block.
#[must_use]
pub fn block(bytes: &[u8]) -> Block {
    let kind = classify(bytes);
    let (fill, rate) = match kind {
        Kind::Blocked { lines, probes } => {
            let stored = block::lines(bytes);
            (Some(share_of_ones(stored)), Kernel::new(lines, probes).map(|kernel| kernel.fill_rate(stored)))
        }
        Kind::Compact { fingerprint_bits, .. } => (None, Some((-f64::from(fingerprint_bits)).exp2())),
        Kind::Ribbon { columns, .. } => (None, Some(ribbon_rate(columns))),
        Kind::Legacy { .. } => (None, None),
        Kind::Unknown => (None, Some(1.0)),
    };
    Block { kind, offset: None, bytes: bytes.len() as u64, fill, rate }
}

#[expect(clippy::cast_precision_loss, reason = "a share of at most 2^35 bits")]
fn share_of_ones(lines: &[[u8; 64]]) -> f64 {
    let ones: u64 = lines.iter().flatten().map(|byte| u64::from(byte.count_ones())).sum();
    if lines.is_empty() { 0.0 } else { ones as f64 / (lines.len() as f64 * 512.0) }
}

/// Some blocks have one column more than others; an absent key passes each column with one half.
fn ribbon_rate(columns: f64) -> f64 {
    let (whole, more) = (columns.floor(), columns.fract());
    (1.0 - more) * (-whole).exp2() + more * (-whole - 1.0).exp2()
}

/// Reads the filter of one table file.
///
/// # Errors
/// [`Error::Damaged`] when the file is no block-based table or fails a checksum, [`Error::Inspect`] when it cannot be
/// read.
pub fn table(path: impl AsRef<Path>) -> Result<Table, Error> {
    let path = path.as_ref();
    let raw_path = CString::new(path.as_os_str().as_bytes())
        .map_err(|error| Error::Inspect { path: path.to_owned(), reason: error.to_string() })?;
    let mut found = Table {
        path: path.to_owned(),
        entries: 0,
        filter_entries: 0,
        filter_bytes: 0,
        format_version: 0,
        partitioned: false,
        filter_name: String::new(),
        policy_name: String::new(),
        blocks: Vec::new(),
    };
    let mut message = [0_u8; 512];
    // SAFETY: the path ends with NUL; `found` outlives the call and is touched by the visitors only; the message
    // buffer has the length that is passed.
    let status = unsafe {
        ffi::bl_inspect(
            raw_path.as_ptr(),
            (&raw mut found).cast(),
            visit_table,
            visit_block,
            message.as_mut_ptr().cast::<c_char>(),
            message.len(),
        )
    };
    let reason = CStr::from_bytes_until_nul(&message)
        .map_or_else(|_| "unknown error".to_owned(), |text| text.to_string_lossy().into_owned());
    match status {
        INSPECTED => Ok(found),
        DAMAGED => Err(Error::Damaged { path: path.to_owned(), reason }),
        _ => Err(Error::Inspect { path: path.to_owned(), reason }),
    }
}

unsafe extern "C" fn visit_table(found: *mut c_void, table: *const RawTable) {
    // SAFETY: our own argument of bl_inspect, and a struct of the shim that lives during the call, with strings
    // that end with NUL.
    let (found, table, filter_name, policy_name) = unsafe {
        let table = &*table;
        (
            &mut *found.cast::<Table>(),
            table,
            CStr::from_ptr(table.filter_name),
            CStr::from_ptr(table.policy_name),
        )
    };
    guard((), || {
        found.entries = table.entries;
        found.filter_entries = table.filter_entries;
        found.filter_bytes = table.filter_bytes;
        found.format_version = table.format_version;
        found.partitioned = table.partitioned != 0;
        found.filter_name = filter_name.to_string_lossy().into_owned();
        found.policy_name = policy_name.to_string_lossy().into_owned();
    });
}

unsafe extern "C" fn visit_block(found: *mut c_void, offset: u64, data: *const u8, len: usize) {
    if data.is_null() {
        return;
    }
    // SAFETY: our own argument of bl_inspect, and a block that the shim holds during the call.
    let (found, bytes) = unsafe { (&mut *found.cast::<Table>(), std::slice::from_raw_parts(data, len)) };
    guard((), || found.blocks.push(Block { offset: Some(offset), ..block(bytes) }));
}

/// The `.sst` files of a folder, in the order of their names.
///
/// # Errors
/// [`Error::Inspect`] when the folder cannot be read.
pub fn files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let path = path.as_ref();
    let failed = |error: std::io::Error| Error::Inspect { path: path.to_owned(), reason: error.to_string() };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "sst") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the filters of all `.sst` files of a folder, in the order of their names.
///
/// # Errors
/// As [`files`], and as [`table`] for the first file that fails.
pub fn folder(path: impl AsRef<Path>) -> Result<Vec<Table>, Error> {
    files(path)?.iter().map(table).collect()
}
