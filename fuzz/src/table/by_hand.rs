//! Tables put together from the byte map, entry by entry, with every checksum right and much else wrong.

use arbitrary::Arbitrary;
use bloomline::format::crc32;

use super::Entries;

/// A table without a filter.
#[derive(Arbitrary, Debug, Clone)]
pub(super) struct ByHand {
    blocks: Vec<Block>,
    wrong: Option<Wrong>,
}

/// What is wrong around the blocks: one thing, or nothing would be found out about the others.
#[derive(Arbitrary, Debug, Clone)]
enum Wrong {
    /// So many bytes between the last data block and the index.
    Gap(u8),
    /// So many bytes after the last key of the index.
    Unowned(u8),
    /// One of the properties' counts, by so much.
    Count(u8, i8),
    /// The last key of a block by the index.
    Indexed(u8, Vec<u8>),
}

#[derive(Arbitrary, Debug, Clone)]
struct Block {
    entries: Vec<Entry>,
    restarts: Restarts,
}

#[derive(Arbitrary, Debug, Clone)]
struct Entry {
    /// Of the key before it, which may have fewer.
    shared: u8,
    suffix: Vec<u8>,
    value: Vec<u8>,
    /// Comes as it is, past the key before it or not.
    wild: bool,
    /// Followed by so many others, each with the same key but for one byte more, which ascends.
    more: u8,
}

#[derive(Arbitrary, Debug, Clone)]
enum Restarts {
    /// At every so manieth entry, which then shares nothing. The writer has them at every 16th.
    Every(u8),
    /// At these entries, shared bytes or not, or so far off their beginning.
    At(Vec<(u8, Option<i8>)>),
}

/// Bytes under construction.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: usize) -> &mut Self {
        while value > 0x7F {
            self.0.push((value & 0x7F) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn seal(&mut self, block_type: u8, start: usize) -> &mut Self {
        self.0.push(block_type);
        let crc = crc32(&self.0[start..]);
        self.push(&crc.to_le_bytes())
    }
}

/// A data block, its last key as it is put together, and whether DESIGN.md allows it.
struct Laid {
    contents: Vec<u8>,
    last: Vec<u8>,
    valid: bool,
}

impl Block {
    fn lay(&self, entries: &mut Vec<(Vec<u8>, Vec<u8>)>, before: Option<&[u8]>) -> Laid {
        let (mut bytes, mut places) = (Bytes::default(), Vec::new());
        let mut last: Option<Vec<u8>> = before.map(<[u8]>::to_vec);
        let mut key = Vec::new();
        let mut valid = true;
        let all = self.entries.iter().flat_map(|entry| (0..=entry.more % 20).map(move |more| (entry, more)));
        let every = match self.restarts {
            Restarts::Every(every) => Some(usize::from(every % 20) + 1),
            Restarts::At(_) => None,
        };
        let mut start = 0;
        for (number, (entry, more)) in all.enumerate() {
            let (mut shared, mut suffix) = match more {
                0 => (usize::from(entry.shared) % (key.len() + 2), entry.suffix.clone()),
                _ => (start, vec![more]),
            };
            if entry.wild && more == 0 && entry.shared % 8 == 7 {
                // Once more the key before it.
                (shared, suffix) = match number {
                    0 => (0, last.clone().unwrap_or_default()),
                    _ => (key.len(), Vec::new()),
                };
            }
            let together = [&key[..shared.min(key.len())], &suffix].concat();
            if !entry.wild && last.as_ref().is_some_and(|last| *last >= together) {
                // The key before it with something more; at the beginning of a block, where it is whole.
                let more = if suffix.is_empty() { vec![0] } else { suffix };
                (shared, suffix) = match number {
                    0 => (0, [last.as_deref().unwrap_or_default(), &more].concat()),
                    _ => (key.len(), more),
                };
            }
            if every.is_some_and(|every| number % every == 0) {
                suffix = [&key[..shared.min(key.len())], &suffix].concat();
                shared = 0;
            }
            valid &= shared <= key.len();
            places.push((bytes.0.len(), shared));
            bytes.varint(shared).varint(suffix.len()).varint(entry.value.len());
            bytes.push(&suffix).push(&entry.value);
            key.truncate(shared);
            key.extend_from_slice(&suffix);
            if more == 0 {
                start = key.len();
            }
            valid &= last.as_ref().is_none_or(|last| *last < key);
            last = Some(key.clone());
            entries.push((key.clone(), entry.value.clone()));
        }
        let restarts: Vec<usize> = match &self.restarts {
            Restarts::Every(_) => places.iter().step_by(every.unwrap_or(1)).map(|&(at, _)| at).collect(),
            Restarts::At(chosen) => chosen
                .iter()
                .filter_map(|&(entry, off)| {
                    let (at, _) = places.get(usize::from(entry) % places.len().max(1))?;
                    at.checked_add_signed(off.unwrap_or(0).into())
                })
                .collect(),
        };
        valid &= !places.is_empty() && restarts_fit(&restarts, &places);
        for restart in &restarts {
            bytes.push(&(*restart as u32).to_le_bytes());
        }
        bytes.push(&(restarts.len() as u32).to_le_bytes()).seal(1, 0);
        Laid { contents: bytes.0, last: key, valid }
    }
}

/// Restart points ascend from the first entry on, lie at entries that share nothing, and at most 16 entries apart.
fn restarts_fit(restarts: &[usize], places: &[(usize, usize)]) -> bool {
    let entries: Option<Vec<usize>> = restarts
        .iter()
        .map(|&restart| places.iter().position(|&(at, shared)| at == restart && shared == 0))
        .collect();
    let Some(mut entries) = entries else { return false };
    entries.push(places.len());
    entries[0] == 0
        && entries.len() > 1
        && entries.windows(2).all(|pair| (1..=16).contains(&(pair[1].wrapping_sub(pair[0]))))
}

impl ByHand {
    /// The file, and its entries where it is one that DESIGN.md allows.
    pub(super) fn file(&self) -> (Vec<u8>, Option<Entries>) {
        let mut file = Bytes::default();
        file.push(b"\x89BLT\r\n\x1a\n").push(&[1, 0, 0, 0]);
        let crc = crc32(&file.0);
        file.push(&crc.to_le_bytes());

        let (mut entries, mut valid) = (Vec::new(), true);
        let (mut records, mut keys) = (Bytes::default(), Bytes::default());
        let (mut last, mut first): (Option<Vec<u8>>, _) = (None, None);
        for (number, block) in self.blocks.iter().enumerate() {
            let laid = block.lay(&mut entries, last.as_deref());
            file.push(&laid.contents);
            valid &= laid.valid;
            let indexed = match &self.wrong {
                Some(Wrong::Indexed(block, key)) if usize::from(*block) % self.blocks.len() == number => key,
                _ => &laid.last,
            };
            valid &= *indexed == laid.last;
            keys.push(indexed);
            records.push(&(keys.0.len() as u64).to_le_bytes()).push(&(file.0.len() as u64).to_le_bytes());
            first = first.or_else(|| entries.first().map(|(key, _)| key.clone()));
            last = Some(laid.last);
        }
        if let Some(Wrong::Gap(bytes) | Wrong::Unowned(bytes)) = self.wrong {
            let bytes = vec![0; usize::from(bytes % 4)];
            valid &= bytes.is_empty();
            if matches!(self.wrong, Some(Wrong::Gap(_))) {
                file.push(&bytes)
            } else {
                keys.push(&bytes)
            };
        }
        let index = file.0.len();
        file.push(&(self.blocks.len() as u64).to_le_bytes()).push(&records.0).push(&keys.0).seal(2, index);

        let properties = file.0.len();
        let mut counts = [
            entries.len() as u64,
            entries.iter().map(|(key, _)| key.len()).sum::<usize>() as u64,
            entries.iter().map(|(_, value)| value.len()).sum::<usize>() as u64,
        ];
        if let Some(Wrong::Count(which, by)) = self.wrong {
            let by = by % 3;
            counts[usize::from(which % 3)] = counts[usize::from(which % 3)].wrapping_add_signed(by.into());
            valid &= by == 0;
        }
        let mut property = |tag: u16, value: &[u8]| {
            file.push(&tag.to_le_bytes()).push(&(value.len() as u32).to_le_bytes()).push(value);
        };
        for (tag, count) in (1..).zip(counts) {
            property(tag, &count.to_le_bytes());
        }
        if let (Some(first), Some(last)) = (&first, &last) {
            property(4, first);
            property(5, last);
        }
        file.seal(3, properties);

        let footer = file.0.len();
        for (from, to) in [(0, 0), (index, properties), (properties, footer)] {
            file.push(&(from as u64).to_le_bytes()).push(&((to - from) as u64).to_le_bytes());
        }
        file.push(&[1, 0, 0, 0]);
        let crc = crc32(&file.0[footer..]);
        file.push(&crc.to_le_bytes()).push(b"\x89BLT-END");
        (file.0, valid.then(|| entries.into_iter().collect()))
    }
}
