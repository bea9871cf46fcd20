//! A filter of whatever kind a block holds.

use std::io::{self, Write};

use super::interface::{Filter, Membership};
use super::{BlockedFilter, ClassicFilter, FilterReader, ScalableFilter};
use crate::error::{FormatError, MergeError};
use crate::hash::Hashers;
use crate::sizing::{BlockedParams, ClassicParams};

/// An owned filter of the kind that its block said.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyFilter {
    /// A classic filter.
    Classic(ClassicFilter),
    /// A blocked filter.
    Blocked(BlockedFilter),
    /// A compact filter: built once, it only answers.
    Compact(FilterReader<Vec<u8>>),
    /// A scalable filter of classic layers.
    ScalableClassic(ScalableFilter<ClassicParams>),
    /// A scalable filter of blocked layers.
    ScalableBlocked(ScalableFilter<BlockedParams>),
}

/// Reads a block of any kind into an owned filter, every checksum verified. `hashers` holds the secrets and
/// application hashers that the block may need; `&Hashers::new()` where there are none.
///
/// To answer from the block where it lies, without a copy, use [`FilterReader`].
///
/// ```
/// use bloomline::filter::open_any;
/// use bloomline::sizing::ScalableParams;
/// use bloomline::{Hashers, ScalableFilter};
///
/// let mut saved = ScalableFilter::classic(ScalableParams::new(100, 0.01)?)?;
/// saved.add(b"apple");
///
/// let opened = open_any(&saved.encode(), &Hashers::new())?;
/// assert!(opened.membership().might_contain(b"apple"));
/// let mut filter = opened.into_filter().ok_or("a filter that takes no keys")?;
/// assert!(filter.add(b"pear"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What is wrong with the block, each kind of fault its own variant of [`FormatError`].
pub fn open_any(block: &[u8], hashers: &Hashers) -> Result<AnyFilter, FormatError> {
    FilterReader::open(block, hashers)?.to_owned_filter()
}

impl AnyFilter {
    /// The filter, to ask.
    #[must_use]
    pub fn membership(&self) -> &dyn Membership {
        match self {
            Self::Classic(filter) => filter,
            Self::Blocked(filter) => filter,
            Self::Compact(filter) => filter,
            Self::ScalableClassic(filter) => filter,
            Self::ScalableBlocked(filter) => filter,
        }
    }

    /// The filter, to add to; `None` for a kind that is built once and takes no more keys.
    #[must_use]
    pub fn into_filter(self) -> Option<Box<dyn Filter>> {
        Some(match self {
            Self::Classic(filter) => Box::new(filter),
            Self::Blocked(filter) => Box::new(filter),
            Self::Compact(_) => return None,
            Self::ScalableClassic(filter) => Box::new(filter),
            Self::ScalableBlocked(filter) => Box::new(filter),
        })
    }

    /// Takes in all keys of a block of the same kind, parameters and hasher, where its bytes lie.
    ///
    /// # Errors
    /// [`MergeError`] with the field that differs, and nothing is changed.
    pub fn merge_reader<B: AsRef<[u8]>>(&mut self, other: &FilterReader<B>) -> Result<(), MergeError> {
        match self {
            Self::Classic(filter) => filter.merge_reader(other),
            Self::Blocked(filter) => filter.merge_reader(other),
            Self::Compact(_) => Err(MergeError::Static),
            Self::ScalableClassic(filter) => filter.merge_reader(other),
            Self::ScalableBlocked(filter) => filter.merge_reader(other),
        }
    }

    /// The filter as a block.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        match self {
            Self::Classic(filter) => filter.write_to(out),
            Self::Blocked(filter) => filter.write_to(out),
            Self::Compact(filter) => Membership::write_to(filter, &mut out),
            Self::ScalableClassic(filter) => filter.write_to(out),
            Self::ScalableBlocked(filter) => filter.write_to(out),
        }
    }
}
