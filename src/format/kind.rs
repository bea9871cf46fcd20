//! The kinds of filter that a block can hold.

use std::fmt;

use crate::error::FormatError;

/// What a block holds. The numbers are part of the format: a new kind gets a new one, and none is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// A classic Bloom filter: probes anywhere.
    Classic = 1,
    /// A blocked Bloom filter: all probes of a key in one line.
    Blocked = 2,
    /// A compact filter: static, a linear system in every line.
    Compact = 3,
    /// A scalable filter: a container of classic or blocked layers.
    Scalable = 4,
}

impl Kind {
    /// The number in the format.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The kind of a number in the format.
    ///
    /// # Errors
    /// [`FormatError::UnknownKind`] for a number that this version doesn't know.
    pub const fn from_id(id: u8) -> Result<Self, FormatError> {
        match id {
            1 => Ok(Self::Classic),
            2 => Ok(Self::Blocked),
            3 => Ok(Self::Compact),
            4 => Ok(Self::Scalable),
            _ => Err(FormatError::UnknownKind { got: id }),
        }
    }

    /// The kind's name: `"classic"`, `"blocked"`, `"compact"` or `"scalable"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Blocked => "blocked",
            Self::Compact => "compact",
            Self::Scalable => "scalable",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
