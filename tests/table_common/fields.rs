//! Every field of every file, by the byte map of DESIGN.md and not through the library: where its bits lie, and the
//! values to try in it.

use super::surgery::{FOOTER, Map, layers, usize_at};

/// A number in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Where its bits lie in the file, the lowest first.
    bits: Vec<usize>,
}

impl Field {
    fn bytes(name: impl Into<String>, at: usize, width: usize) -> Self {
        Self { name: name.into(), bits: (at * 8..(at + width) * 8).collect() }
    }

    /// The same field of something that lies `by` bytes further on.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        self.bits.iter_mut().for_each(|bit| *bit += 8 * by);
        self
    }

    pub(crate) fn get(&self, bytes: &[u8]) -> u64 {
        let bit = |bit: usize| u64::from(bytes[bit / 8] >> (bit % 8) & 1);
        self.bits.iter().rev().fold(0, |value, &at| value << 1 | bit(at))
    }

    pub(crate) fn put(&self, bytes: &mut [u8], value: u64) {
        for (i, &at) in self.bits.iter().enumerate() {
            bytes[at / 8] &= !(1 << (at % 8));
            bytes[at / 8] |= u8::from(value >> i & 1 == 1) << (at % 8);
        }
    }

    /// What to put in its place: everything, where that is little; else the ends of its range, powers of two and
    /// their neighbours, the right value and its, and what other fields of its width hold.
    pub(crate) fn values(&self, bytes: &[u8], others: &[Self]) -> Vec<u64> {
        let right = self.get(bytes);
        let width = self.bits.len();
        let max = u64::MAX >> (64 - width);
        let mut values: Vec<u64> = if width <= 8 {
            (0..=max).collect()
        } else {
            let powers = (0..width).map(|power| 1 << power);
            let rates = [0.5, 0.01, 0.9, 0.999, 1.0, -0.5, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE];
            let steps = [1_u64, 8, 16, 48, 64, 512, 4096];
            [0, 1, max, max - 1, right / 2, right.wrapping_mul(2), bytes.len() as u64]
                .into_iter()
                .chain(powers.flat_map(|power| [power, power - 1, power + 1]))
                .chain(
                    steps.into_iter().flat_map(|step| [right.wrapping_add(step), right.wrapping_sub(step)]),
                )
                .chain(rates.map(f64::to_bits))
                .chain(others.iter().filter(|other| other.bits.len() == width).map(|other| other.get(bytes)))
                .filter(|&value| value <= max)
                .collect()
        };
        values.sort_unstable();
        values.dedup();
        values.retain(|&value| value != right);
        values
    }
}

/// The fields of a filter block: header, and the directory of a scalable or a compact filter.
pub(crate) fn of_filter(block: &[u8]) -> Vec<Field> {
    const COMPACT: u8 = 3;
    let mut fields = of_filter_header();
    let layers = layers(block).len();
    if layers > 0 {
        let scalable = [
            ("first capacity", 0, 8),
            ("rate", 8, 8),
            ("tightening", 16, 8),
            ("growth", 24, 1),
            ("kind of the layers", 25, 1),
            ("reserved", 26, 1),
            ("last reserved", 59, 1),
        ];
        fields.extend(scalable.map(|(name, at, width)| Field::bytes(name, 48 + at, width)));
        for layer in 0..layers {
            fields.extend(of_filter_header().into_iter().map(|field| {
                let name = format!("{} of a layer", field.name);
                Field { name, ..field.moved(48 + 64 + 48 * layer) }
            }));
        }
    }
    if block[5] == COMPACT {
        fields.extend(of_compact_lines(block));
    }
    fields
}

/// All but the two checksums, which are mended.
fn of_filter_header() -> Vec<Field> {
    let fields = [
        ("magic", 0, 1),
        ("end of the magic", 3, 1),
        ("version", 4, 1),
        ("kind", 5, 1),
        ("probes", 6, 1),
        ("flags", 7, 1),
        ("bits", 8, 8),
        ("count", 16, 8),
        ("seed", 24, 8),
        ("hasher", 32, 2),
        ("reserved", 34, 2),
        ("check", 36, 4),
    ];
    fields.map(|(name, at, width)| Field::bytes(name, at, width)).into()
}

/// The directory in the tail, and in the first line and the tail the threshold and the spare bits.
fn of_compact_lines(block: &[u8]) -> Vec<Field> {
    let r = usize::from(block[6]);
    let slots = 507 / r;
    let threshold = 8.min(512 - r * slots);
    let tail = block.len() - 64;
    let directory = |name: &str, from: usize, to: usize| {
        let place = |bit: usize| tail * 8 + bit % r * slots + slots - 1 - bit / r;
        Field { name: name.to_owned(), bits: (from..to).map(place).collect() }
    };
    let mut fields = vec![directory("number of layers", 0, 4)];
    let layers = usize::try_from(fields[0].get(block)).unwrap() + 1;
    let end = 4 + 16 * layers.saturating_sub(2);
    fields.extend((4..end).step_by(16).map(|from| directory("lines of a layer", from, from + 16)));
    if !end.is_multiple_of(r) {
        fields.push(directory("rest of the directory", end, end.next_multiple_of(r)));
    }
    for line in [48, tail] {
        let bits = |from: usize, to: usize| (line * 8 + from..line * 8 + to).collect();
        fields.push(Field { name: "threshold".to_owned(), bits: bits(512 - threshold, 512) });
        if r * slots < 512 - threshold {
            fields.push(Field { name: "spare bits".to_owned(), bits: bits(r * slots, 512 - threshold) });
        }
    }
    fields
}

/// The fields of a table or filter file around its filter: file header, index, properties, footer, and those of the
/// first data block and the last.
pub(crate) fn of_container(bytes: &[u8], map: &Map) -> Vec<Field> {
    let mut fields = vec![
        Field::bytes("magic", 0, 1),
        Field::bytes("version", 8, 2),
        Field::bytes("flags", 10, 2),
        Field::bytes("footer's version", map.footer + 48, 2),
        Field::bytes("footer's flags", map.footer + 50, 2),
        Field::bytes("end of the last magic", map.footer + FOOTER - 1, 1),
    ];
    fields.extend((0..48).step_by(8).map(|at| Field::bytes(format!("footer + {at}"), map.footer + at, 8)));
    for block in map.blocks.first().into_iter().chain(map.blocks.last()) {
        fields.push(Field::bytes("first lengths of a data block", block.start, 2));
        fields.push(Field::bytes("block type", block.end - 5, 1));
        fields.push(Field::bytes("number of restart points", block.end - 9, 4));
        fields.push(Field::bytes("last restart point", block.end - 13, 4));
    }
    if let Some(index) = &map.index {
        fields.push(Field::bytes("number of data blocks", index.start, 8));
        fields.push(Field::bytes("block type", index.end - 5, 1));
        let ends = (0..2 * map.blocks.len())
            .map(|end| Field::bytes("end in the index", index.start + 8 + 8 * end, 8));
        fields.extend(ends);
    }
    let mut at = map.properties.start;
    while at < map.properties.end - 5 {
        fields.push(Field::bytes("tag", at, 2));
        fields.push(Field::bytes("bytes of a property", at + 2, 4));
        let length = usize_at(bytes, at) >> 16 & 0xFFFF_FFFF;
        if length == 8 && at < map.properties.start + 3 * 14 {
            fields.push(Field::bytes("number in the properties", at + 6, 8));
        }
        at += 6 + length;
    }
    fields.push(Field::bytes("block type", map.properties.end - 5, 1));
    fields
}
