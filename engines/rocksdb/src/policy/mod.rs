//! The policy that users make and install.

mod monkey;
mod plan;
mod text;

use std::ffi::{c_char, c_void};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use rocksdb::{AsRawPtr, DB, Options};

pub use monkey::{Allocation, Layout, LevelShare, Monkey};
pub(crate) use plan::{Blocked, Leaf, Plan};
pub use plan::{Reason, When};

use crate::callbacks::{CALLBACKS, guard};
use crate::compact::Compact;
use crate::counters::{Counters, Meter};
use crate::faults::Fault;
use crate::{Error, ffi};

/// What the handles of users and RocksDB's policy object share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) meter: Arc<Meter>,
    pub(crate) fault: Fault,
}

impl Shared {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, meter: Arc::default(), fault: Fault::default() }
    }
}

/// A filter policy for RocksDB.
///
/// Make one, [`install`](Self::install) it into the options of each column family, and keep a clone to read its
/// [`counters`](Self::counters). Clones share their counters.
///
/// Filters that RocksDB wrote stay in use. [`blocked`](Self::blocked) filters are RocksDB's own format, so a
/// database goes back to stock RocksDB with its filters working; of [`compact`](Self::compact) ones, which are a
/// quarter smaller, a stock RocksDB makes no use, and reads every key all the same.
///
/// ```
/// use bloomline_rocksdb::FilterPolicy;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// let mut options = rocksdb::Options::default();
/// options.create_if_missing(true);
/// let policy = FilterPolicy::blocked(10.0)?;
/// policy.install(&mut options)?;
///
/// let db = rocksdb::DB::open(&options, path)?;
/// db.put(b"key", b"value")?;
/// db.flush()?;
/// assert_eq!(db.get(b"absent")?, None);
/// assert_eq!(policy.counters().keys, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FilterPolicy(pub(crate) Arc<Shared>);

impl FilterPolicy {
    fn of(plan: Plan) -> Self {
        Self(Arc::new(Shared::new(plan)))
    }

    /// Blocked Bloom filters of `bits_per_key` bits for each key, 1 to 100, to thousandths.
    ///
    /// The number of probes is the one that the library's rate model finds best, the fewest within 1% of the
    /// lowest rate: 6 at 10 bits, for a rate of 0.96%.
    ///
    /// # Errors
    /// [`Error::BitsPerKey`] outside that range.
    pub fn blocked(bits_per_key: f64) -> Result<Self, Error> {
        Ok(Self::of(Plan::One(Leaf::Blocked(Blocked::new(bits_per_key)?))))
    }

    /// [`blocked`](Self::blocked) with a given number of probes, 1 to 30: fewer for faster builds, or RocksDB's
    /// own choice for identical bytes.
    ///
    /// # Errors
    /// [`Error::BitsPerKey`] or [`Error::Probes`].
    pub fn blocked_with_probes(bits_per_key: f64, probes: u32) -> Result<Self, Error> {
        Ok(Self::of(Plan::One(Leaf::Blocked(Blocked::with_probes(bits_per_key, probes)?))))
    }

    /// Compact filters with a false-positive rate of at most `fpp`, from 2⁻¹⁶ to below 1: about 7.4 bits per key for
    /// a rate of 1/128, where a blocked filter takes 10.5.
    ///
    /// The rate is the greatest power of two that is at most `fpp`, and at most 1/16: 0.01 gives 0.78%. Filters
    /// of few keys, 147 at that rate, would be no smaller than blocked ones and are written as such, with a rate at
    /// least as low.
    ///
    /// A stock RocksDB takes compact filters as "may match": it reads every key, without the help of the filters
    /// until a compaction rewrites them.
    ///
    /// ```
    /// use bloomline_rocksdb::FilterPolicy;
    /// assert_eq!(FilterPolicy::compact(0.01)?.to_string(), "compact:0.01");
    /// assert_eq!(FilterPolicy::compact(0.01)?, FilterPolicy::compact(0.0078125)?);
    /// # Ok::<(), bloomline_rocksdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::FalsePositiveRate`] outside that range.
    pub fn compact(fpp: f64) -> Result<Self, Error> {
        Ok(Self::of(Plan::One(Leaf::Compact(Compact::new(fpp)?))))
    }

    /// No filters for new files; those that exist stay in use.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Plan::One(Leaf::None))
    }

    /// RocksDB's own Bloom filter for new files. Blocked filters are read by Bloomline all the same.
    ///
    /// # Errors
    /// [`Error::BitsPerKey`] outside 1 to 100.
    pub fn rocksdb_bloom(bits_per_key: f64) -> Result<Self, Error> {
        let millibits = plan::millibits(bits_per_key)?;
        Ok(Self::of(Plan::One(Leaf::RocksdbBloom { millibits })))
    }

    /// RocksDB's own Ribbon filter for new files, with the rate of a Bloom filter of `bloom_bits_per_key`: about
    /// 30% smaller, and slower to build and to probe.
    ///
    /// # Errors
    /// [`Error::BitsPerKey`] outside 1 to 100.
    pub fn rocksdb_ribbon(bloom_bits_per_key: f64) -> Result<Self, Error> {
        let millibits = plan::millibits(bloom_bits_per_key)?;
        Ok(Self::of(Plan::One(Leaf::RocksdbRibbon { millibits })))
    }

    /// A policy of its own for each kind of file: the first of `rules` that holds, or else `otherwise`.
    ///
    /// ```
    /// use bloomline_rocksdb::{FilterPolicy, Reason, When};
    /// let policy = FilterPolicy::per_level(
    ///     [
    ///         (When::any().reason(Reason::Flush), FilterPolicy::blocked(14.0)?),
    ///         (When::any().bottommost(true), FilterPolicy::none()),
    ///     ],
    ///     &FilterPolicy::blocked(10.0)?,
    /// )?;
    /// assert_eq!(policy.to_string(), "levels:flush/blocked:14,bottom/none,else/blocked:10");
    /// # Ok::<(), bloomline_rocksdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NestedLevels`] when one of the policies is itself per level.
    pub fn per_level(rules: impl IntoIterator<Item = (When, Self)>, otherwise: &Self) -> Result<Self, Error> {
        let leaf = |policy: &Self| match policy.0.plan {
            Plan::One(leaf) => Ok(leaf),
            Plan::Levels { .. } => Err(Error::NestedLevels),
        };
        let rules = rules.into_iter().map(|(when, policy)| Ok((when, leaf(&policy)?)));
        let rules = rules.collect::<Result<_, Error>>()?;
        Ok(Self::of(Plan::Levels { rules, otherwise: leaf(otherwise)? }))
    }

    /// Blocked filters with the bits of each level chosen so that lookups of absent keys waste the fewest reads
    /// for the budget's memory; see [`Monkey`].
    ///
    /// # Errors
    /// [`Error::Budget`] names the field that is out of range.
    pub fn monkey(budget: &Monkey) -> Result<Self, Error> {
        Ok(Self::of(budget.plan()?))
    }

    /// Makes this the filter policy of the options.
    ///
    /// Call it after `set_block_based_table_factory`, which replaces the table factory and its policy. Every
    /// column family has options of its own: install into each. Other `Options` that were cloned from these are
    /// not touched.
    ///
    /// # Errors
    /// [`Error::NotBlockBased`] when the table factory has no filters; [`Error::LibraryVersion`].
    pub fn install(&self, options: &mut Options) -> Result<(), Error> {
        Self::register()?;
        let policy = Arc::into_raw(Arc::clone(&self.0)).cast();
        // SAFETY: the options are alive and exclusively ours; the shim takes over the reference.
        let result = unsafe { ffi::bl_install(options.as_raw_ptr(), policy) };
        installed(result)
    }

    /// Takes any filter policy out of the options: new files get no filter, and existing ones are not used.
    ///
    /// # Errors
    /// [`Error::NotBlockBased`] when the table factory has no filters; [`Error::LibraryVersion`].
    pub fn uninstall(options: &mut Options) -> Result<(), Error> {
        Self::register()?;
        // SAFETY: the options are alive and exclusively ours.
        installed(unsafe { ffi::bl_uninstall(options.as_raw_ptr()) })
    }

    /// Makes the name `bloomline` known to RocksDB's object registry, so that option strings and OPTIONS files
    /// can name a policy.
    ///
    /// [`install`](Self::install) does it too. A program that opens a database from its OPTIONS file calls this
    /// first: RocksDB ignores a policy whose name it doesn't know, without an error. Check the outcome with
    /// [`installed`](Self::installed).
    ///
    /// # Errors
    /// [`Error::LibraryVersion`].
    pub fn register() -> Result<(), Error> {
        // SAFETY: the table is a static.
        if unsafe { ffi::bl_init(&raw const CALLBACKS) } { Ok(()) } else { Err(Error::LibraryVersion) }
    }

    /// The Bloomline policy of these options, if they have one, wherever it came from.
    #[must_use]
    pub fn installed(options: &Options) -> Option<Self> {
        Self::register().ok()?;
        // SAFETY: the options are alive, and so keep the policy while it is cloned.
        unsafe {
            let policy = ffi::bl_installed(options.as_raw_ptr());
            Self::cloned(policy)
        }
    }

    /// The Bloomline policy that the database's default column family uses now, such as one that `set_options`
    /// put there.
    #[must_use]
    pub fn in_use(db: &DB) -> Option<Self> {
        unsafe extern "C" fn visit(policy: *const c_void, found: *mut c_void) {
            guard((), || {
                // SAFETY: the shim keeps the policy alive during the call and hands our own argument back.
                unsafe { *found.cast::<Option<FilterPolicy>>() = FilterPolicy::cloned(policy) };
            });
        }
        Self::register().ok()?;
        let mut found: Option<Self> = None;
        // SAFETY: the database is open, and `found` outlives the call.
        unsafe { ffi::bl_visit_in_use(db.as_raw_ptr(), visit, (&raw mut found).cast()) };
        found
    }

    /// A handle to the policy behind the shim's pointer.
    ///
    /// # Safety
    /// `policy` is null, or came from `install` or the registry and is alive.
    unsafe fn cloned(policy: *const c_void) -> Option<Self> {
        if policy.is_null() {
            return None;
        }
        let policy = policy.cast::<Shared>();
        // SAFETY: both ways make the pointer by Arc::into_raw; the new reference is ours.
        unsafe {
            Arc::increment_strong_count(policy);
            Some(Self(Arc::from_raw(policy)))
        }
    }

    /// What the policy did since it was made.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.0.meter.snapshot()
    }
}

/// The text that option strings use after `bloomline:`, parameters included.
impl Display for FilterPolicy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.plan.fmt(f)
    }
}

impl FromStr for FilterPolicy {
    type Err = Error;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(Self::of)
    }
}

/// Two policies are equal when they give every file the same filter.
impl PartialEq for FilterPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.0.plan == other.0.plan
    }
}

fn installed(result: u32) -> Result<(), Error> {
    if result == ffi::INSTALLED { Ok(()) } else { Err(Error::NotBlockBased) }
}

/// The name of the options' filter policy as an OPTIONS file stores it, whoever made it; empty for none.
#[must_use]
pub fn policy_name(options: &Options) -> String {
    // SAFETY: the options are alive; null asks for the length only.
    let needed = unsafe { ffi::bl_policy_name(options.as_raw_ptr(), std::ptr::null_mut(), 0) };
    let mut name = vec![0_u8; needed];
    // SAFETY: the buffer has the length that is passed.
    let len =
        unsafe { ffi::bl_policy_name(options.as_raw_ptr(), name.as_mut_ptr().cast::<c_char>(), name.len()) };
    name.truncate(len);
    String::from_utf8_lossy(&name).into_owned()
}
