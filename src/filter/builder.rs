//! Building a filter from keys whose number isn't known in advance.

use std::fmt;

use super::options::AnyParams;
use super::{FilterOptions, bloom::Schema};
use crate::compact;
use crate::error::{FilterError, SizingError};
use crate::format::{HEADER_BYTES, Header, Kind, crc32};
use crate::hash::{Hasher, HasherIdentity, KeyHash};
use crate::line::{LineBuf, LineBytes};
use crate::probe::{Backend, Probe, add_parallel};

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
        let (threads, hasher) = (self.options.threads, self.options.hasher.identity());
        match self.options.params(self.keys())? {
            AnyParams::Classic(params) => {
                block_of(params, hasher, |lines| params.add_batch(Backend::detect(), lines, &self.hashes))
            }
            AnyParams::Blocked(params) => block_of(params, hasher, |lines| {
                let (backend, hashes) = (Backend::detect(), &self.hashes);
                if threads < 2 {
                    params.add_batch(backend, lines, hashes)
                } else {
                    add_parallel(params, backend, lines, hashes, threads)
                }
            }),
            AnyParams::Compact(params) => {
                let body = compact::build(self.hashes, params, threads)?;
                let bytes = body.lines.bytes();
                let header = Header {
                    kind: Kind::Compact,
                    probes: params.fingerprint_bits(),
                    bits: bytes.len() as u64 * 8,
                    count: body.keys,
                    hasher,
                    body_crc: crc32(bytes),
                };
                join(&header, bytes)
            }
        }
    }
}

/// The block of a Bloom filter that `add` adds the keys to and counts them.
///
/// The lines are a buffer of their own first, copied into the block when they are done: a large one has huge pages,
/// and without them every add to a large filter waits for a page walk, which takes longer than the copy.
fn block_of<P: Schema>(
    params: P,
    hasher: HasherIdentity,
    add: impl FnOnce(&mut [LineBytes]) -> u64,
) -> Result<Vec<u8>, FilterError> {
    let out_of_memory = || FilterError::OutOfMemory { bytes: params.bits().div_ceil(8), source: None };
    let mut lines = LineBuf::zeroed(params.line_count().ok_or_else(out_of_memory)?)?;
    let count = add(lines.lines_mut());
    let header = Header {
        kind: P::KIND,
        probes: params.probes(),
        bits: params.bits(),
        count,
        hasher,
        body_crc: crc32(lines.bytes()),
    };
    join(&header, lines.bytes())
}

/// Header and body in one vector.
fn join(header: &Header, body: &[u8]) -> Result<Vec<u8>, FilterError> {
    let length = HEADER_BYTES.saturating_add(body.len());
    let mut block = Vec::new();
    let out_of_memory = |_| FilterError::OutOfMemory { bytes: length as u64, source: None };
    block.try_reserve_exact(length).map_err(out_of_memory)?;
    block.extend_from_slice(&header.encode());
    block.extend_from_slice(body);
    Ok(block)
}

/// Options and a count: the hashes are no text, and those of a secret hasher nobody's business.
impl fmt::Debug for FilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterBuilder").field("options", &self.options).field("keys", &self.keys()).finish()
    }
}
