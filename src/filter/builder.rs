//! Building a filter from keys whose number isn't known in advance.

use std::fmt;

use super::options::AnyParams;
use super::{FilterOptions, bloom::Schema};
use crate::compact;
use crate::error::{FilterError, SizingError};
use crate::format::{HEADER_BYTES, Header, Kind, crc32};
use crate::hash::{Hasher, KeyHash};
use crate::line::{LINE_BYTES, LineBytes};
use crate::probe::Backend;
use crate::sizing::CompactParams;

/// Collects the hashes of keys, then writes a block of just the right size: what an engine uses when it writes
/// a sorted file.
///
/// Call order: `(add | add_hash)* finish`. Keys may come in any order; in sorted order, where repeats are
/// neighbours, each key is counted once. Memory while collecting is 8 bytes for each distinct neighbour.
///
/// See [`FilterReader`](super::FilterReader) for an example.
pub struct FilterBuilder {
    options: FilterOptions,
    hashes: Vec<KeyHash>,
}

impl FilterBuilder {
    /// A builder without keys.
    #[must_use]
    pub fn new(options: FilterOptions) -> Self {
        Self { options, hashes: Vec::new() }
    }

    /// Adds a key.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        self.add_hash(self.options.hasher.hash(key));
    }

    /// Adds a key by its hash, made by [`hasher`](Self::hasher). A hash equal to the one before it is dropped.
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) {
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Makes room for `more` hashes, so that as many calls of `add` need no memory: an error here is one that
    /// `add`, like any push to a vector, would end the process for.
    ///
    /// # Errors
    /// [`FilterError::OutOfMemory`].
    pub fn try_reserve(&mut self, more: usize) -> Result<(), FilterError> {
        let bytes = (more as u64).saturating_mul(size_of::<KeyHash>() as u64);
        self.hashes.try_reserve(more).map_err(|_| FilterError::OutOfMemory { bytes, source: None })
    }

    /// Keys that the filter would be sized for now.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// What the keys are hashed with.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.options.hasher
    }

    /// Bytes that the block of the keys so far would have, header included.
    ///
    /// # Errors
    /// What the sizing of the kind refuses.
    pub fn estimated_bytes(&self) -> Result<u64, SizingError> {
        let (bytes, _) =
            if self.hashes.is_empty() { (0, 0.0) } else { self.options.estimate(self.keys())? };
        Ok(bytes + HEADER_BYTES as u64)
    }

    /// The false-positive rate that the filter of the keys so far would have.
    ///
    /// # Errors
    /// What the sizing of the kind refuses.
    pub fn estimated_fpp(&self) -> Result<f64, SizingError> {
        if self.hashes.is_empty() { Ok(0.0) } else { Ok(self.options.estimate(self.keys())?.1) }
    }

    /// Builds the block. No keys give an empty block, which answers "absent" to everything.
    ///
    /// # Errors
    /// [`FilterError::Sizing`] where the budget can't be met for so many keys, [`FilterError::OutOfMemory`].
    pub fn finish(self) -> Result<Vec<u8>, FilterError> {
        if self.options.kind == Kind::Scalable {
            return Err(SizingError::NoFixedSize.into());
        }
        if self.hashes.is_empty() {
            return Ok(Header::empty(self.options.kind, self.options.hasher.identity()).encode().to_vec());
        }
        match self.options.params(self.keys())? {
            AnyParams::Classic(params) => self.finish_bloom(params),
            AnyParams::Blocked(params) => self.finish_bloom(params),
            AnyParams::Compact(params) => self.finish_compact(params),
        }
    }

    fn finish_compact(self, params: CompactParams) -> Result<Vec<u8>, FilterError> {
        let body = compact::build(self.hashes, params, self.options.threads)?;
        let bytes = body.lines.bytes();
        let header = Header {
            kind: Kind::Compact,
            probes: params.fingerprint_bits(),
            bits: bytes.len() as u64 * 8,
            count: body.keys,
            hasher: self.options.hasher.identity(),
            body_crc: crc32(bytes),
        };
        let mut block = Vec::new();
        let length = HEADER_BYTES + bytes.len();
        let out_of_memory = |_| FilterError::OutOfMemory { bytes: length as u64, source: None };
        block.try_reserve_exact(length).map_err(out_of_memory)?;
        block.extend_from_slice(&header.encode());
        block.extend_from_slice(bytes);
        Ok(block)
    }

    fn finish_bloom<P: Schema>(self, params: P) -> Result<Vec<u8>, FilterError> {
        let out_of_memory = || FilterError::OutOfMemory { bytes: params.bits().div_ceil(8), source: None };
        let body_bytes = params.line_count().and_then(|lines| lines.checked_mul(LINE_BYTES));
        let block_bytes =
            body_bytes.and_then(|bytes| bytes.checked_add(HEADER_BYTES)).ok_or_else(out_of_memory)?;
        let mut block = Vec::new();
        block.try_reserve_exact(block_bytes).map_err(|_| out_of_memory())?;
        block.resize(block_bytes, 0);
        let (header_bytes, body) = block.split_at_mut(HEADER_BYTES);
        let lines: &mut [LineBytes] = bytemuck::cast_slice_mut(body);
        let count = params.add_batch(Backend::detect(), lines, &self.hashes);
        let header = Header {
            kind: P::KIND,
            probes: params.probes(),
            bits: params.bits(),
            count,
            hasher: self.options.hasher.identity(),
            body_crc: crc32(body),
        };
        header_bytes.copy_from_slice(&header.encode());
        Ok(block)
    }
}

/// Options and a count: the hashes are no text, and those of a secret hasher nobody's business.
impl fmt::Debug for FilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterBuilder").field("options", &self.options).field("keys", &self.keys()).finish()
    }
}
