//! The hashers that a reader may use.

use super::{Hasher, HasherId, HasherIdentity, SecretKey};
use crate::error::HasherError;

/// The hashers that a reader may use: those that need only a seed always, and the secret keys and
/// application hashers that the caller supplies.
///
/// ```
/// use bloomline::error::HasherError;
/// use bloomline::hash::{Hasher, Hashers, SecretKey};
///
/// let stored = Hasher::siphash_2_4(SecretKey::from_bytes([7; 16])).identity();
/// assert!(matches!(Hashers::new().resolve(&stored), Err(HasherError::SecretKeyNeeded { .. })));
///
/// let hashers = Hashers::new().with_secret_key(SecretKey::from_bytes([7; 16]));
/// assert_eq!(hashers.resolve(&stored)?.identity(), stored);
/// # Ok::<(), HasherError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hashers {
    supplied: Vec<Hasher>,
}

impl Hashers {
    /// The hashers that need only a seed.
    #[must_use]
    pub const fn new() -> Self {
        Self { supplied: Vec::new() }
    }

    /// Adds SipHash-2-4 under this key. Of several keys the one whose check a file stores is used.
    #[must_use]
    pub fn with_secret_key(self, secret: SecretKey) -> Self {
        self.with_application(Hasher::siphash_2_4(secret))
    }

    /// Adds an application's hasher. Of several with the same id the one whose seed and check a file stores
    /// is used. Any other hasher may be given too.
    #[must_use]
    pub fn with_application(mut self, hasher: Hasher) -> Self {
        self.supplied.push(hasher);
        self
    }

    /// The hasher that a file was written with.
    ///
    /// A wrong hasher with the right check gets through with a chance of 2⁻³².
    ///
    /// # Errors
    ///
    /// If that hasher can't be made from what is stored and supplied, or if it hashes the check text to
    /// another value than the one stored. Each error names the hasher needed.
    pub fn resolve(&self, stored: &HasherIdentity) -> Result<Hasher, HasherError> {
        if let Some(hasher) = self.supplied.iter().find(|hasher| hasher.identity() == *stored) {
            return Ok(hasher.clone());
        }
        let got = match Hasher::from_seed(stored.id, stored.seed) {
            Ok(hasher) if hasher.identity() == *stored => return Ok(hasher),
            Ok(hasher) => hasher.identity(),
            Err(
                needed @ (HasherError::SecretKeyNeeded { .. }
                | HasherError::ApplicationHasherNeeded { .. }
                | HasherError::EngineHasherNeeded { .. }),
            ) => self.nearest(stored).ok_or(needed)?,
            Err(impossible) => return Err(impossible),
        };
        Err(mismatch(stored, &got))
    }

    /// Of the supplied hashers with the stored id the one to report: one with the stored seed if there is.
    fn nearest(&self, stored: &HasherIdentity) -> Option<HasherIdentity> {
        let same_id = || self.supplied.iter().map(Hasher::identity).filter(|got| got.id == stored.id);
        same_id().find(|got| got.seed == stored.seed).or_else(|| same_id().next())
    }
}

/// The error for a hasher that has the stored id, and another seed or check.
fn mismatch(stored: &HasherIdentity, got: &HasherIdentity) -> HasherError {
    let HasherIdentity { id: hasher, seed, check: expected } = *stored;
    match hasher {
        _ if got.seed != seed => HasherError::SeedMismatch { hasher, expected: seed, got: got.seed },
        HasherId::SIPHASH_2_4 => HasherError::WrongSecretKey { hasher, expected, got: got.check },
        _ => HasherError::CheckMismatch { hasher, seed, expected, got: got.check },
    }
}
