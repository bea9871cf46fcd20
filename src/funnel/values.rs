//! The funnels of Rust's own types.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::{Filled, Funnel, Slot};

const NONE: u8 = 0x00;
const SOME: u8 = 0x01;
const FALSE: u8 = 0x02;
const TRUE: u8 = 0x03;
const UNSIGNED: u8 = 0x04;
const NEGATIVE: u8 = 0x05;
const UNSIGNED_WIDE: u8 = 0x06;
const NEGATIVE_WIDE: u8 = 0x07;
const FLOAT: u8 = 0x08;
const CHAR: u8 = 0x09;

/// The bits that stand for every NaN: quiet, positive, no payload.
const NAN_BITS: u64 = 0x7FF8_0000_0000_0000;

impl Funnel for u8 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        u64::from(*self).funnel(slot)
    }

    fn funnel_all<'a, 'v>(values: impl Iterator<Item = &'v Self>, slot: Slot<'a>) -> Filled<'a> {
        slot.byte_string(values.copied())
    }
}

impl Funnel for u64 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        slot.fixed(UNSIGNED, self.to_le_bytes())
    }
}

impl Funnel for i64 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match u64::try_from(*self) {
            Ok(value) => value.funnel(slot),
            Err(_) => slot.fixed(NEGATIVE, self.to_le_bytes()),
        }
    }
}

impl Funnel for u128 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match u64::try_from(*self) {
            Ok(value) => value.funnel(slot),
            Err(_) => slot.fixed(UNSIGNED_WIDE, self.to_le_bytes()),
        }
    }
}

impl Funnel for i128 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match (i64::try_from(*self), u128::try_from(*self)) {
            (Ok(value), _) => value.funnel(slot),
            (_, Ok(value)) => value.funnel(slot),
            _ => slot.fixed(NEGATIVE_WIDE, self.to_le_bytes()),
        }
    }
}

/// Narrow integers, and those as wide as a pointer, go through the 64-bit one of their sign.
macro_rules! funnel_widened {
    ($($narrow:ty => $wide:ty),+) => {$(
        impl Funnel for $narrow {
            fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
                (*self as $wide).funnel(slot)
            }
        }
    )+};
}

funnel_widened!(u16 => u64, u32 => u64, usize => u64, i8 => i64, i16 => i64, i32 => i64, isize => i64);

impl Funnel for f64 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        let bits = if self.is_nan() {
            NAN_BITS
        } else if *self == 0.0 {
            0
        } else {
            self.to_bits()
        };
        slot.fixed(FLOAT, bits.to_le_bytes())
    }
}

impl Funnel for f32 {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        f64::from(*self).funnel(slot)
    }
}

impl Funnel for bool {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        slot.fixed(if *self { TRUE } else { FALSE }, [])
    }
}

impl Funnel for char {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        slot.fixed(CHAR, u32::from(*self).to_le_bytes())
    }
}

impl Funnel for str {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        slot.byte_string(self.bytes())
    }
}

impl Funnel for String {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        self.as_str().funnel(slot)
    }
}

impl<T: Funnel> Funnel for [T] {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        T::funnel_all(self.iter(), slot)
    }
}

impl<T: Funnel> Funnel for Vec<T> {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        self.as_slice().funnel(slot)
    }
}

impl<T: Funnel, const N: usize> Funnel for [T; N] {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        self.as_slice().funnel(slot)
    }
}

impl<T: Funnel> Funnel for Option<T> {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match self {
            None => slot.fixed(NONE, []),
            Some(value) => {
                slot.bytes.push(SOME);
                value.funnel(slot)
            }
        }
    }
}

/// References and owners are what they refer to.
macro_rules! funnel_referred {
    ($($pointer:ty where $T:ident: $($bound:path),+;)+) => {$(
        impl<$T: $($bound +)+ ?Sized> Funnel for $pointer {
            fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
                (**self).funnel(slot)
            }

            fn funnel_all<'a, 'v>(
                values: impl Iterator<Item = &'v Self>,
                slot: Slot<'a>,
            ) -> Filled<'a>
            where
                Self: 'v,
            {
                T::funnel_all(values.map(|value| &**value), slot)
            }
        }
    )+};
}

funnel_referred! {
    &T where T: Funnel;
    &mut T where T: Funnel;
    Box<T> where T: Funnel;
    Rc<T> where T: Funnel;
    Arc<T> where T: Funnel;
    Cow<'_, T> where T: Funnel, ToOwned;
}

impl Funnel for () {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        slot.list().finish()
    }
}

/// Tuples are lists of their fields.
macro_rules! funnel_tuple {
    ($($field:ident)+) => {
        impl<$($field: Funnel),+> Funnel for ($($field,)+) {
            fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
                #[expect(non_snake_case, reason = "each field is named after its type")]
                let ($($field,)+) = self;
                let mut list = slot.list();
                $(list.push($field);)+
                list.finish()
            }
        }
    };
}

funnel_tuple!(A);
funnel_tuple!(A B);
funnel_tuple!(A B C);
funnel_tuple!(A B C D);
funnel_tuple!(A B C D E);
funnel_tuple!(A B C D E F);
funnel_tuple!(A B C D E F G);
funnel_tuple!(A B C D E F G H);
funnel_tuple!(A B C D E F G H I);
funnel_tuple!(A B C D E F G H I J);
funnel_tuple!(A B C D E F G H I J K);
funnel_tuple!(A B C D E F G H I J K L);
