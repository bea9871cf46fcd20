//! Funnels: from an application's values to canonical key bytes.
//!
//! A filter takes bytes. Where an application's keys are numbers, tuples or structs, a [`Funnel`] says once
//! which bytes stand for them, so that every writer and every reader, in any language, hashes the same.
//!
//! A funnel encodes *values*, not the types that hold them:
//!
//! - Two encodings are equal exactly if the values are. A filter that was filled from `u32` fields answers
//!   right when it is asked with `usize`, `String` and `&str` are one, and so are `Vec`, slice, array and
//!   tuple. Different values never meet, not even as values of different types: −1 is not 2³²−1, `Some(5)`
//!   is not `(1, 5)`, and `("ab", "c")` is not `("a", "bc")`.
//! - No encoding is the beginning of another. So values can stand one after the other, and every composite
//!   inherits both promises from its parts.
//!
//! # Encoding
//!
//! A tag byte, then a body of fixed width, or one that a count or length leads. All numbers are
//! little-endian. Tags are never given another meaning; new kinds of values get new tags.
//!
//! | tag | value | body |
//! |---|---|---|
//! | 00 | `None` | |
//! | 01 | `Some` | the value |
//! | 02 | `false` | |
//! | 03 | `true` | |
//! | 04 | integer from 0 to 2⁶⁴−1 | u64 |
//! | 05 | integer from −2⁶³ to −1 | i64, two's complement |
//! | 06 | integer from 2⁶⁴ | u128 |
//! | 07 | integer below −2⁶³ | i128, two's complement |
//! | 08 | floating-point number | f64, IEEE 754 bits |
//! | 09 | character | u32, its code point |
//! | 0A | bytes or text | length in bytes (u64), the bytes; text as UTF-8 |
//! | 0B | list | count (u64), the values in order |
//!
//! - **Integers** of every width, signed or not, are encoded by their value: 5 is `04 05 00 …` as `i8`, as
//!   `u64` and as `usize`. A field may be widened without the filters of old losing its keys.
//! - **Floating-point numbers** are widened to `f64`, which is exact: 0.5 as `f32` and as `f64` is one
//!   value, while the `f32` and the `f64` nearest to 0.1 are two numbers and stay two. −0.0 is encoded as
//!   0.0, which it equals, and every NaN as 7FF8 0000 0000 0000: here a NaN does equal a NaN, since a key
//!   that was added must be found. The number 1.0 is not the integer 1.
//! - **Bytes**: a slice, `Vec` or array of `u8` is one string of bytes, and text is its UTF-8 bytes. Slices of
//!   every other type are lists, small numbers or not.
//! - **Tuples** are lists of their fields, and a struct is best made one; `()` is the empty list.
//! - **References**, `Box`, `Rc`, `Arc` and `Cow` are what they refer to.
//!
//! Examples, spaced for reading:
//!
//! | value | bytes |
//! |---|---|
//! | `None` | `00` |
//! | `Some(true)` | `01 03` |
//! | `5` | `04 0500000000000000` |
//! | `-2` | `05 FEFFFFFFFFFFFFFF` |
//! | `1.5` | `08 000000000000F83F` |
//! | `'é'` | `09 E9000000` |
//! | `"ab"` | `0A 0200000000000000 6162` |
//! | `("ab", 5)` | `0B 0200000000000000 0A 0200000000000000 6162 04 0500000000000000` |
//! | `[None, Some("é")]` | `0B 0200000000000000 00 01 0A 0200000000000000 C3A9` |
//!
//! # Or plain bytes
//!
//! A key that *is* one string of bytes needs no funnel: give the bytes to the filter as they are. That is
//! faster, and it is another key than the string sent through a funnel, whose bytes begin with a tag and a
//! length. Fill and ask a filter the same way.
//!
//! # What it refuses to do
//!
//! Collections without an order of their own (`HashMap`, `HashSet`) have no funnel, for their order differs
//! from process to process. There is no way to write loose bytes: a [`Slot`] takes one whole value, so a
//! funnel that an application writes can't break the promises above.

mod values;

use std::marker::PhantomData;

use crate::hash::{Hasher, KeyHash};

/// The tag of bytes and text.
const BYTES: u8 = 0x0A;
/// The tag of a list.
const LIST: u8 = 0x0B;

/// A value that can be turned into canonical key bytes, as the [module](self) describes.
///
/// For a struct, pass on a tuple of its fields; for an enum, a tuple that begins with something of the
/// variant's own. What is passed on is what the value is taken for: leave out a field and values that
/// differ in it alone become one key. The order of the fields matters, their names don't.
///
/// ```
/// use bloomline::funnel::{Filled, Funnel, Slot, key_bytes};
///
/// struct Reading {
///     station: String,
///     hour: u32,
/// }
///
/// impl Funnel for Reading {
///     fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
///         (&self.station, self.hour).funnel(slot)
///     }
/// }
///
/// let reading = Reading { station: "Uccle".to_owned(), hour: 7 };
/// assert_eq!(key_bytes(&reading), key_bytes(&("Uccle", 7)));
/// ```
pub trait Funnel {
    /// Writes the value into the slot.
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a>;

    /// Writes several such values into the slot: as a list, or as bytes if they are bytes.
    #[doc(hidden)]
    fn funnel_all<'a, 'v>(values: impl Iterator<Item = &'v Self>, slot: Slot<'a>) -> Filled<'a>
    where
        Self: 'v,
    {
        let mut list = slot.list();
        for value in values {
            list.push(value);
        }
        list.finish()
    }
}

/// The place for exactly one value among the key bytes.
///
/// Writing a value uses the slot up and gives [`Filled`], which every funnel must hand back. So a funnel
/// can write neither nothing nor two values.
#[derive(Debug)]
pub struct Slot<'a> {
    bytes: &'a mut Vec<u8>,
}

/// The proof that a [`Slot`] holds a value now.
#[derive(Debug)]
#[must_use = "a funnel returns it"]
pub struct Filled<'a>(PhantomData<&'a mut Vec<u8>>);

impl<'a> Slot<'a> {
    /// Begins a list of values, for structs of more fields than a tuple has, and for collections.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    ///
    /// use bloomline::funnel::{Filled, Funnel, Slot, key_bytes};
    ///
    /// struct Tags(BTreeSet<String>);
    ///
    /// impl Funnel for Tags {
    ///     fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
    ///         let mut list = slot.list();
    ///         for tag in &self.0 {
    ///             list.push(tag);
    ///         }
    ///         list.finish()
    ///     }
    /// }
    ///
    /// let tags = Tags(["b", "a"].map(String::from).into());
    /// assert_eq!(key_bytes(&tags), key_bytes(&["a", "b"]));
    /// ```
    pub fn list(self) -> List<'a> {
        let count_at = self.bytes.len() + 1;
        append(self.bytes, LIST, &0u64.to_le_bytes());
        List { bytes: self.bytes, count_at, count: 0 }
    }

    /// Writes a tag and a body of fixed width.
    fn fixed<const N: usize>(self, tag: u8, body: [u8; N]) -> Filled<'a> {
        append(self.bytes, tag, &body);
        Filled(PhantomData)
    }

    /// Writes a string of bytes. The length is that of what came, whatever the iterator had promised.
    fn byte_string(self, bytes: impl Iterator<Item = u8>) -> Filled<'a> {
        let length_at = self.bytes.len() + 1;
        append(self.bytes, BYTES, &0u64.to_le_bytes());
        let begin = self.bytes.len();
        self.bytes.extend(bytes);
        let length = (self.bytes.len() - begin) as u64;
        self.bytes[length_at..begin].copy_from_slice(&length.to_le_bytes());
        Filled(PhantomData)
    }
}

/// Appends a tag and what follows it, growing the buffer once at most.
#[inline]
fn append<const N: usize>(bytes: &mut Vec<u8>, tag: u8, body: &[u8; N]) {
    bytes.reserve(1 + N);
    bytes.push(tag);
    bytes.extend_from_slice(body);
}

/// A list being written: `push* finish`.
#[derive(Debug)]
#[must_use = "a list is a value only once it is finished"]
pub struct List<'a> {
    bytes: &'a mut Vec<u8>,
    /// Where the count is, to be written when it is known.
    count_at: usize,
    count: u64,
}

impl<'a> List<'a> {
    /// Adds a value at the end.
    pub fn push(&mut self, value: &(impl Funnel + ?Sized)) -> &mut Self {
        let Filled(_) = value.funnel(Slot { bytes: self.bytes });
        self.count += 1;
        self
    }

    /// Ends the list.
    pub fn finish(self) -> Filled<'a> {
        let body = &mut self.bytes[self.count_at..];
        body[..size_of::<u64>()].copy_from_slice(&self.count.to_le_bytes());
        Filled(PhantomData)
    }
}

/// A buffer for key bytes, to encode many values without an allocation for each.
///
/// ```
/// use bloomline::funnel::{KeyBytes, key_bytes};
/// use bloomline::hash::Hasher;
///
/// let hasher = Hasher::default();
/// let mut buffer = KeyBytes::new();
/// for pair in [("tenant", 1), ("tenant", 2)] {
///     let hash = hasher.hash(buffer.encode(&pair));
///     assert_eq!(hash, hasher.hash(&key_bytes(&pair)));
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyBytes {
    bytes: Vec<u8>,
}

impl KeyBytes {
    /// An empty buffer, which has not allocated.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// The canonical bytes of the value, which take the place of those encoded before.
    pub fn encode(&mut self, value: &(impl Funnel + ?Sized)) -> &[u8] {
        self.bytes.clear();
        let Filled(_) = value.funnel(Slot { bytes: &mut self.bytes });
        &self.bytes
    }
}

/// The canonical bytes of the value: what to give to a filter as the key.
#[must_use]
pub fn key_bytes(value: &(impl Funnel + ?Sized)) -> Vec<u8> {
    let mut buffer = KeyBytes::new();
    buffer.encode(value);
    buffer.bytes
}

/// The hash of the canonical bytes of the value. A [`KeyBytes`] does the same without an allocation.
#[must_use]
pub fn hash_value(hasher: &Hasher, value: &(impl Funnel + ?Sized)) -> KeyHash {
    hasher.hash(&key_bytes(value))
}
