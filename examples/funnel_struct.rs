//! Keys that are structs and enums: what to write once for a type, and what that buys.
//!
//! Run with `cargo run --example funnel_struct`.

use bloomline::funnel::{Filled, Funnel, KeyBytes, Slot, key_bytes};
use bloomline::hash::Hasher;

/// A key of an event store.
struct EventKey {
    tenant: u32,
    stream: String,
    subject: Subject,
    /// Milliseconds since 1970, absent while an event is planned.
    at: Option<i64>,
}

enum Subject {
    Device { serial: u64 },
    Person { email: String },
}

/// A struct passes on a tuple of its fields. The order of the fields is now part of the format.
impl Funnel for EventKey {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        (self.tenant, &self.stream, &self.subject, self.at).funnel(slot)
    }
}

/// An enum begins the tuple with something that stands for the variant and will never change.
impl Funnel for Subject {
    fn funnel<'a>(&self, slot: Slot<'a>) -> Filled<'a> {
        match self {
            Self::Device { serial } => ("device", serial).funnel(slot),
            Self::Person { email } => ("person", email).funnel(slot),
        }
    }
}

fn main() {
    let keys = [
        EventKey {
            tenant: 7,
            stream: "ab".to_owned(),
            subject: Subject::Device { serial: 5 },
            at: Some(1_700_000_000_000),
        },
        EventKey {
            tenant: 7,
            stream: "a".to_owned(),
            subject: Subject::Person { email: "b@example.org".to_owned() },
            at: None,
        },
    ];

    // One buffer for all keys: encoding then allocates nothing.
    let hasher = Hasher::default();
    let mut buffer = KeyBytes::new();
    for key in &keys {
        let bytes = buffer.encode(key);
        let hash = hasher.hash(bytes);
        println!("{} ({:?}): {} key bytes, hash {:016x}", key.stream, key.at, bytes.len(), hash.get());
    }

    // A reader needs neither the type nor its widths: a tuple of equal values is the same key.
    let tuple = (7_u64, "ab", ("device", 5_u8), Some(1_700_000_000_000_i128));
    assert_eq!(key_bytes(&keys[0]), key_bytes(&tuple));
    println!("the first key equals {tuple:?}");
}
