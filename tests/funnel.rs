//! Funnels: the bytes of every kind of value, pinned; equal values of different types; and, over random
//! values, that the encoding can be read back. A value that can be read back shares its bytes with no other.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use bloomline::funnel::{Filled, Funnel, KeyBytes, Slot, hash_value, key_bytes};
use bloomline::hash::Hasher;
use proptest::prelude::*;

fn hex(value: &(impl Funnel + ?Sized)) -> String {
    key_bytes(value).iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Golden bytes: never changed, only added to.
#[test]
fn encodings_are_pinned() {
    let pinned: &[(String, &str)] = &[
        (hex(&None::<u8>), "00"),
        (hex(&Some(5)), "01040500000000000000"),
        (hex(&Some(None::<u8>)), "0100"),
        (hex(&Some(Some(true))), "010103"),
        (hex(&false), "02"),
        (hex(&true), "03"),
        (hex(&0), "040000000000000000"),
        (hex(&0x0102_0304_0506_0708_u64), "040807060504030201"),
        (hex(&u64::MAX), "04FFFFFFFFFFFFFFFF"),
        (hex(&-1), "05FFFFFFFFFFFFFFFF"),
        (hex(&-2), "05FEFFFFFFFFFFFFFF"),
        (hex(&i64::MIN), "050000000000000080"),
        (hex(&(1_u128 << 64)), "0600000000000000000100000000000000"),
        (hex(&u128::MAX), "06FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"),
        (hex(&(i128::from(i64::MIN) - 1)), "07FFFFFFFFFFFFFF7FFFFFFFFFFFFFFFFF"),
        (hex(&i128::MIN), "0700000000000000000000000000000080"),
        (hex(&0.0), "080000000000000000"),
        (hex(&-0.0), "080000000000000000"),
        (hex(&1.5), "08000000000000F83F"),
        (hex(&f64::NAN), "08000000000000F87F"),
        (hex(&f64::NEG_INFINITY), "08000000000000F0FF"),
        (hex(&'é'), "09E9000000"),
        (hex(""), "0A0000000000000000"),
        (hex("ab"), "0A02000000000000006162"),
        (hex("é"), "0A0200000000000000C3A9"),
        (hex(&[0x80_u8, 0xFF, 0x00]), "0A030000000000000080FF00"),
        (hex(&[0_u8; 0]), "0A0000000000000000"),
        (hex(&()), "0B0000000000000000"),
        (hex(&[0_u16; 0]), "0B0000000000000000"),
        (hex(&[true, false]), "0B02000000000000000302"),
        (hex(&(true,)), "0B010000000000000003"),
        (hex(&("ab", 5)), "0B02000000000000000A02000000000000006162040500000000000000"),
        (hex(&((true, false), true)), "0B02000000000000000B0200000000000000030203"),
    ];
    for (got, expected) in pinned {
        assert_eq!(got, expected);
    }
}

/// The documented examples are what the code gives.
#[test]
fn documented_examples_are_true() {
    let examples = [
        ("None", hex(&None::<u8>)),
        ("Some(true)", hex(&Some(true))),
        ("5", hex(&5)),
        ("-2", hex(&-2)),
        ("1.5", hex(&1.5)),
        ("'é'", hex(&'é')),
        ("\"ab\"", hex("ab")),
        ("(\"ab\", 5)", hex(&("ab", 5))),
        ("[None, Some(\"é\")]", hex(&[None, Some("é")])),
    ];
    assert_eq!(documented_examples(include_str!("../src/funnel.rs")), examples);
    assert_eq!(documented_examples(include_str!("../DESIGN.md")), examples);
}

/// The rows of the table of examples in a document, which may stand in a comment.
fn documented_examples(document: &str) -> Vec<(&str, String)> {
    let lines = document.lines().map(|line| line.trim_start_matches("//! "));
    let rows = lines.skip_while(|&line| line != "| value | bytes |").skip(2);
    rows.map_while(|row| row.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `"))
        .map(|(value, bytes)| (value, bytes.replace(' ', "")))
        .collect()
}

#[test]
fn equal_values_of_different_types_are_one_key() {
    let five = hex(&5_u64);
    let fives = [
        hex(&5_u8),
        hex(&5_u16),
        hex(&5_u32),
        hex(&5_u128),
        hex(&5_usize),
        hex(&5_i8),
        hex(&5_i16),
        hex(&5_i32),
        hex(&5_i64),
        hex(&5_i128),
        hex(&5_isize),
    ];
    assert!(fives.iter().all(|got| *got == five), "{fives:?}");
    let minus_five = hex(&-5_i64);
    let minus_fives = [hex(&-5_i8), hex(&-5_i16), hex(&-5_i32), hex(&-5_i128), hex(&-5_isize)];
    assert!(minus_fives.iter().all(|got| *got == minus_five), "{minus_fives:?}");
    assert_eq!(hex(&u128::from(u64::MAX)), hex(&u64::MAX));
    assert_eq!(hex(&i128::from(u64::MAX)), hex(&u64::MAX));
    assert_eq!(hex(&(i128::from(u64::MAX) + 1)), hex(&(1_u128 << 64)));

    assert_eq!(hex(&0.5_f32), hex(&0.5_f64));
    assert_eq!(hex(&f32::NAN), hex(&-f64::NAN));
    assert_eq!(hex(&f64::from_bits(0x7FF0_0000_0000_0001)), hex(&f64::NAN), "a signalling NaN");
    assert_eq!(hex(&-0.0_f32), hex(&0.0_f64));
    assert_eq!(hex(&f32::MIN_POSITIVE), hex(&f64::from(f32::MIN_POSITIVE)));

    let text = hex("key");
    let texts = [
        hex(&"key"),
        hex(&String::from("key")),
        hex(&Box::<str>::from("key")),
        hex(&Rc::<str>::from("key")),
        hex(&Arc::<str>::from("key")),
        hex(&Cow::Borrowed("key")),
        hex(&Cow::<str>::Owned("key".into())),
        hex(b"key"),
        hex(&b"key"[..]),
        hex(&b"key".to_vec()),
        hex(&Cow::Borrowed(&b"key"[..])),
        hex(&[&b'k', &b'e', &b'y']),
        hex(&[Box::new(b'k'), Box::new(b'e'), Box::new(b'y')]),
    ];
    assert!(texts.iter().all(|got| *got == text), "{texts:?}");

    let list = hex(&[1_u32, 2, 3]);
    let lists = [
        hex(&[1_u32, 2, 3][..]),
        hex(&vec![1_i64, 2, 3]),
        hex(&vec![&1_u16, &2, &3]),
        hex(&(1_u8, 2_i16, 3_u64)),
        hex(&(&1, Box::new(2), &mut 3)),
        hex(&Arc::<[i8]>::from([1, 2, 3])),
        hex(&Cow::Borrowed(&[1, 2, 3][..])),
    ];
    assert!(lists.iter().all(|got| *got == list), "{lists:?}");
}

#[test]
fn different_values_are_different_keys() {
    let different = [
        hex(&None::<u8>),
        hex(&Some(None::<u8>)),
        hex(&Some(5)),
        hex(&Some(Some(5))),
        hex(&5),
        hex(&-5),
        hex(&(1, 5)),
        hex(&5.0),
        hex(&0.1_f32),
        hex(&0.1_f64),
        hex(&false),
        hex(&0),
        hex(&'\0'),
        hex("\0"),
        hex(""),
        hex(&()),
        hex(&((),)),
        hex(&[""]),
        hex(&-1_i32),
        hex(&u32::MAX),
        hex(&u64::MAX),
        hex(&u128::MAX),
        hex("a"),
        hex(&'a'),
        hex(&97),
        hex(&("ab", "c")),
        hex(&("a", "bc")),
        hex(&("abc",)),
        hex("abc"),
        hex(&((1, 2), 3)),
        hex(&(1, (2, 3))),
        hex(&(1, 2, 3)),
        hex(&[1_u8, 2, 3]),
        hex(&[vec![1, 2], vec![]]),
        hex(&[vec![1], vec![2]]),
    ];
    for (i, a) in different.iter().enumerate() {
        for (j, b) in different.iter().enumerate().skip(i + 1) {
            assert_ne!(a, b, "{i} and {j}");
        }
    }
}

#[test]
fn tuples_of_every_size_are_lists() {
    assert_eq!(hex(&(1,)), hex(&[1]));
    assert_eq!(hex(&(1, 2)), hex(&[1, 2]));
    assert_eq!(hex(&(1, 2, 3)), hex(&[1, 2, 3]));
    assert_eq!(hex(&(1, 2, 3, 4)), hex(&[1, 2, 3, 4]));
    assert_eq!(hex(&(1, 2, 3, 4, 5)), hex(&[1, 2, 3, 4, 5]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6)), hex(&[1, 2, 3, 4, 5, 6]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6, 7)), hex(&[1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6, 7, 8)), hex(&[1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6, 7, 8, 9)), hex(&[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), hex(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(hex(&(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)), hex(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
    let twelve = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    assert_eq!(hex(&twelve), hex(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
}

#[test]
fn a_buffer_holds_only_the_last_value() {
    let mut buffer = KeyBytes::new();
    assert_eq!(buffer.encode(&("a long first value", 1)), key_bytes(&("a long first value", 1)));
    assert_eq!(buffer.encode(&true), [3]);
    assert_eq!(buffer.encode(&true), [3]);
}

#[test]
fn the_hash_of_a_value_is_the_hash_of_its_bytes() {
    for hasher in [Hasher::xxh3_64(9), Hasher::fnv1a_64()] {
        assert_eq!(hash_value(&hasher, &("ab", 5)), hasher.hash(&key_bytes(&("ab", 5))));
    }
    // Plain bytes are another key than the same bytes sent through a funnel.
    assert_ne!(hash_value(&Hasher::default(), "ab"), Hasher::default().hash(b"ab"));
}

/// A value of any kind, with floating-point numbers as their canonical bits so that equality is plain.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    None,
    Some(Box<Value>),
    Bool(bool),
    Unsigned(u128),
    Negative(i128),
    Float(u64),
    Char(char),
    Bytes(Vec<u8>),
    List(Vec<Value>),
}

impl Funnel for Value {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match self {
            Self::None => None::<()>.funnel(slot),
            Self::Some(value) => Some(&**value).funnel(slot),
            Self::Bool(value) => value.funnel(slot),
            Self::Unsigned(value) => value.funnel(slot),
            Self::Negative(value) => value.funnel(slot),
            Self::Float(bits) => f64::from_bits(*bits).funnel(slot),
            Self::Char(value) => value.funnel(slot),
            Self::Bytes(value) => value.funnel(slot),
            Self::List(values) => values.funnel(slot),
        }
    }
}

/// Reads one value off the front of the bytes, by the table in the module's docs alone.
fn decode(bytes: &mut &[u8]) -> Value {
    fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
        let (head, rest) = bytes.split_first_chunk().expect("a whole body");
        *bytes = rest;
        *head
    }
    let [tag] = take(bytes);
    match tag {
        0x00 => Value::None,
        0x01 => Value::Some(Box::new(decode(bytes))),
        0x02 => Value::Bool(false),
        0x03 => Value::Bool(true),
        0x04 => Value::Unsigned(u64::from_le_bytes(take(bytes)).into()),
        0x05 => Value::Negative(i64::from_le_bytes(take(bytes)).into()),
        0x06 => Value::Unsigned(u128::from_le_bytes(take(bytes))),
        0x07 => Value::Negative(i128::from_le_bytes(take(bytes))),
        0x08 => Value::Float(u64::from_le_bytes(take(bytes))),
        0x09 => Value::Char(char::from_u32(u32::from_le_bytes(take(bytes))).expect("a code point")),
        0x0A => {
            let length = u64::from_le_bytes(take(bytes)).try_into().expect("a length in memory");
            let (text, rest) = bytes.split_at(length);
            *bytes = rest;
            Value::Bytes(text.to_vec())
        }
        0x0B => {
            let count = u64::from_le_bytes(take(bytes));
            Value::List((0..count).map(|_| decode(bytes)).collect())
        }
        _ => panic!("unknown tag {tag:02x}"),
    }
}

/// The canonical bits of a number, by the standard's definitions of zero and of NaN.
fn canonical(bits: u64) -> u64 {
    let (exponent, fraction) = ((bits >> 52) & 0x7FF, bits & ((1 << 52) - 1));
    match (exponent, fraction) {
        (0, 0) => 0,
        (0x7FF, 1..) => 0x7FF8 << 48,
        _ => bits,
    }
}

/// Values of few kinds and small parts, so that pairs of them often share their beginnings.
fn values() -> impl Strategy<Value = Value> {
    let bits = prop_oneof![
        any::<u64>(),
        Just(1 << 63),
        (1_u64.., any::<bool>())
            .prop_map(|(x, negative)| (x >> 12 | 0x7FF << 52) | u64::from(negative) << 63),
    ];
    let unsigned = prop_oneof![0..3_u128, any::<u64>().prop_map(u128::from), any::<u128>()];
    let negative = prop_oneof![-3..0_i128, (i64::MIN..0).prop_map(i128::from), i128::MIN..0];
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        unsigned.prop_map(Value::Unsigned),
        negative.prop_map(Value::Negative),
        bits.prop_map(|bits| Value::Float(canonical(bits))),
        any::<char>().prop_map(Value::Char),
        prop::collection::vec(prop_oneof![0..3_u8, any::<u8>()], 0..4).prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|value| Value::Some(Box::new(value))),
            prop::collection::vec(inner, 0..4).prop_map(Value::List),
        ]
    })
}

/// A struct of an application, with a funnel as the docs advise.
#[derive(Clone, Debug)]
struct Record {
    id: u32,
    delta: i16,
    name: String,
    ratio: f32,
    tags: Vec<Option<String>>,
    raw: Option<Box<[u8]>>,
}

impl Funnel for Record {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        (self.id, self.delta, &self.name, self.ratio, &self.tags, &self.raw).funnel(slot)
    }
}

impl Record {
    /// The value that the funnel passes on, made without it.
    fn value(&self) -> Value {
        let option = |value: Option<Vec<u8>>| match value {
            None => Value::None,
            Some(bytes) => Value::Some(Box::new(Value::Bytes(bytes))),
        };
        let tags = self.tags.iter().map(|tag| option(tag.as_ref().map(|tag| tag.clone().into_bytes())));
        Value::List(vec![
            Value::Unsigned(self.id.into()),
            match u128::try_from(self.delta) {
                Ok(delta) => Value::Unsigned(delta),
                Err(_) => Value::Negative(self.delta.into()),
            },
            Value::Bytes(self.name.clone().into_bytes()),
            Value::Float(canonical(f64::from(self.ratio).to_bits())),
            Value::List(tags.collect()),
            option(self.raw.as_ref().map(|raw| raw.to_vec())),
        ])
    }
}

fn records() -> impl Strategy<Value = Record> {
    let tags = prop::collection::vec(prop::option::of("[ab]{0,3}"), 0..4);
    let raw = prop::option::of(prop::collection::vec(any::<u8>(), 0..4).prop_map(Vec::into_boxed_slice));
    (0..4_u32, any::<i16>(), "[ab]{0,3}", prop::num::f32::ANY, tags, raw)
        .prop_map(|(id, delta, name, ratio, tags, raw)| Record { id, delta, name, ratio, tags, raw })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every value can be read back off its bytes, whatever follows them: so no two values share their
    /// bytes, and no encoding is the beginning of another.
    #[test]
    fn values_can_be_read_back(value in values(), following in prop::collection::vec(any::<u8>(), 0..9)) {
        let encoded = [key_bytes(&value), following.clone()].concat();
        let mut rest = &encoded[..];
        prop_assert_eq!(decode(&mut rest), value);
        prop_assert_eq!(rest, following);
    }

    /// The same said of pairs, without the decoder.
    #[test]
    fn encodings_are_equal_exactly_if_the_values_are(a in values(), b in values()) {
        let (bytes_a, bytes_b) = (key_bytes(&a), key_bytes(&b));
        prop_assert_eq!(a == b, bytes_a == bytes_b);
        prop_assert!(a == b || !(bytes_a.starts_with(&bytes_b) || bytes_b.starts_with(&bytes_a)));
    }

    /// Structs, tuples, options and vectors of static types encode as the same values of the dynamic type.
    #[test]
    fn static_and_dynamic_types_agree(record in records()) {
        prop_assert_eq!(key_bytes(&record), key_bytes(&record.value()));
    }

    /// All NaNs are one value, both zeros are one, and each other number is its own, whatever it was read
    /// from.
    #[test]
    fn floats_are_canonical(a in prop::num::f64::ANY, b in prop::num::f32::ANY) {
        for bits in [a.to_bits(), f64::from(b).to_bits()] {
            let expected = [&[0x08][..], &canonical(bits).to_le_bytes()].concat();
            prop_assert_eq!(key_bytes(&f64::from_bits(bits)), expected);
        }
        prop_assert_eq!(key_bytes(&b), key_bytes(&f64::from(b)));
    }

    /// An integer has the bytes of its value in every type that it fits.
    #[test]
    fn integers_are_encoded_by_value(value in prop_oneof![-300..300_i128, any::<i64>().prop_map(i128::from), any::<i128>()]) {
        let expected = key_bytes(&value);
        macro_rules! check {
            ($($int:ty)+) => {$(
                if let Ok(narrow) = <$int>::try_from(value) {
                    prop_assert_eq!(key_bytes(&narrow), &expected[..]);
                }
            )+};
        }
        check!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 isize);
    }
}
