//! RocksDB's internal filter interfaces by hand, for tests and benchmarks (feature `testing`).
//!
//! [`Policy`] is any policy that RocksDB's object registry can name, its own included: `bloomfilter:10`,
//! `ribbonfilter:10:-1`, `rocksdb.internal.LegacyBloomFilter:10`, `bloomline:blocked:10`. Its builders and readers
//! are the objects that a table would get. No promise of stability: this is a workbench.

use std::ffi::{CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::FilterPolicy;
use crate::faults::Fault;
pub use crate::faults::Stage;
use crate::policy::Shared;

#[repr(C)]
#[derive(Debug)]
struct RawPolicy([u8; 0]);
#[repr(C)]
#[derive(Debug)]
struct RawBuilder([u8; 0]);
#[repr(C)]
#[derive(Debug)]
struct RawBitsReader([u8; 0]);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RawKey {
    data: *const u8,
    size: usize,
}

unsafe extern "C" {
    fn bl_test_policy_new(id: *const c_char) -> *mut RawPolicy;
    fn bl_test_policy_wrap(policy: *const c_void) -> *mut RawPolicy;
    fn bl_test_policy_free(policy: *mut RawPolicy);
    fn bl_test_builder_new(policy: *const RawPolicy, level: i32, detect_corruption: bool) -> *mut RawBuilder;
    fn bl_test_builder_free(builder: *mut RawBuilder);
    fn bl_test_builder_add(builder: *mut RawBuilder, keys: *const RawKey, n: usize);
    fn bl_test_builder_add_with_alt(builder: *mut RawBuilder, key: *const RawKey, alt: *const RawKey);
    fn bl_test_builder_entries(builder: *mut RawBuilder) -> usize;
    fn bl_test_builder_space(builder: *mut RawBuilder, n: usize) -> usize;
    fn bl_test_builder_approximate(builder: *mut RawBuilder, bytes: usize) -> usize;
    fn bl_test_builder_rate(builder: *mut RawBuilder, n: usize, bytes: usize) -> f64;
    fn bl_test_builder_finish(builder: *mut RawBuilder, data: *mut *const u8, len: *mut usize) -> bool;
    fn bl_test_builder_verify(builder: *mut RawBuilder, data: *const u8, len: usize) -> bool;
    fn bl_test_builder_damage(builder: *mut RawBuilder) -> bool;
    fn bl_test_reader_new(policy: *const RawPolicy, data: *const u8, len: usize) -> *mut RawBitsReader;
    fn bl_test_reader_free(reader: *mut RawBitsReader);
    fn bl_test_reader_probe(
        reader: *mut RawBitsReader,
        keys: *const RawKey,
        n: usize,
        answers: *mut bool,
    ) -> usize;
    fn bl_test_reader_probe_hashes(reader: *mut RawBitsReader, hashes: *const u64, n: usize) -> usize;
    fn bl_test_reader_probe_batch(
        reader: *mut RawBitsReader,
        keys: *const RawKey,
        n: usize,
        batch: usize,
        answers: *mut bool,
    ) -> usize;
}

/// RocksDB's 64-bit key hash.
#[must_use]
pub fn key_hash(key: &[u8]) -> u64 {
    crate::compact::key_hash(key)
}

/// The policy with a panic at one stage of everything it makes.
#[must_use]
pub fn faulty(policy: &FilterPolicy, stage: Stage) -> FilterPolicy {
    let Shared { plan, .. } = &*policy.0;
    FilterPolicy(Arc::new(Shared { fault: Fault { stage: Some(stage) }, ..Shared::new(plan.clone()) }))
}

/// Many keys, laid out as RocksDB's slices.
#[derive(Debug)]
pub struct Keys {
    bytes: Vec<u8>,
    raw: Vec<RawKey>,
}

// SAFETY: the pointers lead into `bytes`, which nobody changes.
unsafe impl Send for Keys {}
// SAFETY: as above.
unsafe impl Sync for Keys {}

impl Keys {
    /// Copies the keys.
    #[must_use]
    pub fn new<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for key in keys {
            bytes.extend_from_slice(key.as_ref());
            ends.push(bytes.len());
        }
        let raw = ends.windows(2).map(|ends| {
            let key = &bytes[ends[0]..ends[1]];
            RawKey { data: key.as_ptr(), size: key.len() }
        });
        Self { raw: raw.collect(), bytes }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Bytes of all keys.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// A `FilterPolicy` object of RocksDB's.
#[derive(Debug)]
pub struct Policy(NonNull<RawPolicy>);

// SAFETY: FilterPolicy's methods are const and safe for threads.
unsafe impl Send for Policy {}
// SAFETY: as above.
unsafe impl Sync for Policy {}

impl Policy {
    /// The policy of that name and parameters, or `None` when the registry has none.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        FilterPolicy::register().ok()?;
        let id = CString::new(id).ok()?;
        // SAFETY: the text ends with NUL.
        NonNull::new(unsafe { bl_test_policy_new(id.as_ptr()) }).map(Self)
    }

    /// The object that `install` would put into the options, or `None` with another version of RocksDB.
    #[must_use]
    pub fn of(policy: &FilterPolicy) -> Option<Self> {
        FilterPolicy::register().ok()?;
        let policy = Arc::into_raw(Arc::clone(&policy.0)).cast();
        // SAFETY: the shim takes over the reference.
        NonNull::new(unsafe { bl_test_policy_wrap(policy) }).map(Self)
    }

    /// The builder for a file that a compaction makes for this level of seven, or `None` for "no filter".
    #[must_use]
    pub fn builder(&self, level: i32, detect_corruption: bool) -> Option<BitsBuilder> {
        // SAFETY: the policy is alive; the builder keeps a reference of its own.
        NonNull::new(unsafe { bl_test_builder_new(self.0.as_ptr(), level, detect_corruption) })
            .map(|raw| BitsBuilder { raw, block: None })
    }

    /// The block for these keys in this order.
    ///
    /// # Panics
    /// When the policy makes no filter or finds corruption.
    #[must_use]
    pub fn build(&self, keys: &Keys) -> Vec<u8> {
        let mut builder = self.builder(1, false).expect("a policy that builds filters");
        builder.add(keys);
        builder.finish().expect("no corruption").to_vec()
    }

    /// The reader of a block.
    #[must_use]
    pub fn reader<'block>(&self, block: &'block [u8]) -> BitsReader<'block> {
        // SAFETY: the reader's lifetime is that of the block.
        let reader = unsafe { bl_test_reader_new(self.0.as_ptr(), block.as_ptr(), block.len()) };
        BitsReader(NonNull::new(reader), PhantomData)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { bl_test_policy_free(self.0.as_ptr()) }
    }
}

/// A `FilterBitsBuilder` object.
#[derive(Debug)]
pub struct BitsBuilder {
    raw: NonNull<RawBuilder>,
    block: Option<(*const u8, usize)>,
}

impl BitsBuilder {
    /// `AddKey` for each key.
    pub fn add(&mut self, keys: &Keys) {
        // SAFETY: the keys are alive during the call.
        unsafe { bl_test_builder_add(self.raw.as_ptr(), keys.raw.as_ptr(), keys.raw.len()) }
    }

    /// `AddKeyAndAlt`.
    pub fn add_with_alt(&mut self, key: &[u8], alt: &[u8]) {
        let raw = |key: &[u8]| RawKey { data: key.as_ptr(), size: key.len() };
        // SAFETY: both keys are alive during the call.
        unsafe { bl_test_builder_add_with_alt(self.raw.as_ptr(), &raw(key), &raw(alt)) }
    }

    /// `EstimateEntriesAdded`.
    #[must_use]
    pub fn entries(&self) -> usize {
        // SAFETY: the builder is alive, as in every method.
        unsafe { bl_test_builder_entries(self.raw.as_ptr()) }
    }

    /// `CalculateSpace`.
    #[must_use]
    pub fn space(&self, entries: usize) -> usize {
        // SAFETY: the builder is alive.
        unsafe { bl_test_builder_space(self.raw.as_ptr(), entries) }
    }

    /// `ApproximateNumEntries`.
    #[must_use]
    pub fn approximate_entries(&self, bytes: usize) -> usize {
        // SAFETY: the builder is alive.
        unsafe { bl_test_builder_approximate(self.raw.as_ptr(), bytes) }
    }

    /// `EstimatedFpRate`.
    #[must_use]
    pub fn estimated_rate(&self, entries: usize, bytes: usize) -> f64 {
        // SAFETY: the builder is alive.
        unsafe { bl_test_builder_rate(self.raw.as_ptr(), entries, bytes) }
    }

    /// `Finish`: the block, or `None` when it reports corruption.
    pub fn finish(&mut self) -> Option<&[u8]> {
        let (mut data, mut len) = (std::ptr::null(), 0);
        // SAFETY: the builder is alive.
        let ok = unsafe { bl_test_builder_finish(self.raw.as_ptr(), &raw mut data, &raw mut len) };
        self.block = ok.then_some((data, len));
        self.block()
    }

    /// The block that was finished last.
    #[must_use]
    pub fn block(&self) -> Option<&[u8]> {
        match self.block? {
            (_, 0) => Some(&[]),
            // SAFETY: the shim keeps the block until the next finish, which needs the builder exclusively.
            (data, len) => Some(unsafe { std::slice::from_raw_parts(data, len) }),
        }
    }

    /// `MaybePostVerify`: whether it finds the block sound.
    pub fn verify(&mut self, block: &[u8]) -> bool {
        // SAFETY: the block is alive during the call.
        unsafe { bl_test_builder_verify(self.raw.as_ptr(), block.as_ptr(), block.len()) }
    }

    /// Flips a bit of a collected hash, as faulty memory would; false for builders that are not Bloomline's.
    pub fn damage(&mut self) -> bool {
        // SAFETY: the builder is alive.
        unsafe { bl_test_builder_damage(self.raw.as_ptr()) }
    }
}

impl Drop for BitsBuilder {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { bl_test_builder_free(self.raw.as_ptr()) }
    }
}

/// A `FilterBitsReader` object, or none, which to RocksDB means that every key may match.
#[derive(Debug)]
pub struct BitsReader<'block>(Option<NonNull<RawBitsReader>>, PhantomData<&'block [u8]>);

// SAFETY: RocksDB itself calls one reader from many threads.
unsafe impl Send for BitsReader<'_> {}
// SAFETY: as above.
unsafe impl Sync for BitsReader<'_> {}

impl BitsReader<'_> {
    /// Whether there is a reader at all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// `MayMatch` for each key: how many may match.
    #[must_use]
    pub fn count(&self, keys: &Keys) -> usize {
        self.0.map_or(keys.len(), |reader| {
            // SAFETY: the reader and the keys are alive.
            unsafe {
                bl_test_reader_probe(reader.as_ptr(), keys.raw.as_ptr(), keys.len(), std::ptr::null_mut())
            }
        })
    }

    /// The batched `MayMatch`, 1 to 32 keys at a time: how many may match.
    ///
    /// # Panics
    /// With another batch size.
    #[must_use]
    pub fn count_batched(&self, keys: &Keys, batch: usize) -> usize {
        assert!((1..=32).contains(&batch), "RocksDB asks for at most 32 keys");
        self.0.map_or(keys.len(), |reader| {
            // SAFETY: the reader and the keys are alive.
            unsafe {
                bl_test_reader_probe_batch(
                    reader.as_ptr(),
                    keys.raw.as_ptr(),
                    keys.len(),
                    batch,
                    std::ptr::null_mut(),
                )
            }
        })
    }

    /// `HashMayMatch` for each hash that [`key_hash`] gave: how many may match. RocksDB's readers of legacy filters
    /// do not have it, and deny every hash.
    #[must_use]
    pub fn count_hashes(&self, hashes: &[u64]) -> usize {
        self.0.map_or(hashes.len(), |reader| {
            // SAFETY: the reader and the hashes are alive.
            unsafe { bl_test_reader_probe_hashes(reader.as_ptr(), hashes.as_ptr(), hashes.len()) }
        })
    }

    /// The answers of [`count`](Self::count).
    #[must_use]
    pub fn answers(&self, keys: &Keys) -> Vec<bool> {
        let mut answers = vec![true; keys.len()];
        if let Some(reader) = self.0 {
            // SAFETY: the reader and the keys are alive, and there is room for an answer to each key.
            unsafe {
                bl_test_reader_probe(reader.as_ptr(), keys.raw.as_ptr(), keys.len(), answers.as_mut_ptr());
            }
        }
        answers
    }

    /// The answers of [`count_batched`](Self::count_batched).
    ///
    /// # Panics
    /// With another batch size, or when the reader leaves an answer unwritten.
    #[must_use]
    pub fn answers_batched(&self, keys: &Keys, batch: usize) -> Vec<bool> {
        assert!((1..=32).contains(&batch), "RocksDB asks for at most 32 keys");
        // As bytes: an element that a reader does not write is no bool.
        let mut answers = vec![1_u8; keys.len()];
        if let Some(reader) = self.0 {
            // SAFETY: as above.
            unsafe {
                bl_test_reader_probe_batch(
                    reader.as_ptr(),
                    keys.raw.as_ptr(),
                    keys.len(),
                    batch,
                    answers.as_mut_ptr().cast(),
                );
            }
        }
        let answer = |byte| match byte {
            0 => false,
            1 => true,
            other => panic!("an answer was left unwritten: {other:#x}"),
        };
        answers.into_iter().map(answer).collect()
    }
}

impl Drop for BitsReader<'_> {
    fn drop(&mut self) {
        if let Some(reader) = self.0 {
            // SAFETY: made by the shim, freed once.
            unsafe { bl_test_reader_free(reader.as_ptr()) }
        }
    }
}
