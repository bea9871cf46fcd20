//! Tables put together from the byte map, entry by entry, with every checksum right and much else wrong.

use arbitrary::Arbitrary;
use bloomline::format::crc32;

use super::Entries;

/// A table without a filter.
#[derive(Arbitrary, Debug, Clone)]
pub(super) struct ByHand {
    blocks: Vec<Block>,
    /// Added to the number of entries that the properties claim.
    miscounted: Option<(u8, i8)>,
}

#[derive(Arbitrary, Debug, Clone)]
struct Block {
    entries: Vec<Entry>,
    restarts: Restarts,
    /// The last key by the index, where it is another than that of the block.
    indexed: Option<Vec<u8>>,
}

#[derive(Arbitrary, Debug, Clone)]
struct Entry {
    shared: u8,
    suffix: Vec<u8>,
    value: Vec<u8>,
    /// Comes so often, each time with a byte more.
    repeated: u8,
}

#[derive(Arbitrary, Debug, Clone)]
enum Restarts {
    /// As the writer has them, of every 16th entry, which then shares nothing.
    Regular,
    /// At these entries, shared bytes or not, and as far off their beginning.
    At(Vec<(u8, i8)>),
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
    fn lay(&self, entries: &mut Entries, before: Option<&[u8]>) -> Laid {
        let (mut bytes, mut places) = (Bytes::default(), Vec::new());
        let mut last: Option<Vec<u8>> = before.map(<[u8]>::to_vec);
        let mut key = Vec::new();
        let mut valid = true;
        let all = self.entries.iter().flat_map(|entry| {
            (0..=entry.repeated % 20).map(move |again| (entry, vec![again; usize::from(again > 0)]))
        });
        for (number, (entry, more)) in all.enumerate() {
            let regular = matches!(self.restarts, Restarts::Regular);
            // A writer stores the key of a restart point whole.
            let shared = usize::from(entry.shared);
            let suffix = [&key[..shared.min(key.len())], &entry.suffix, &more].concat();
            let whole = regular && number % 16 == 0;
            let (stored_shared, suffix) =
                if whole { (0, suffix) } else { (shared, [entry.suffix.as_slice(), &more].concat()) };
            valid &= stored_shared <= key.len();
            places.push((bytes.0.len(), stored_shared));
            bytes.varint(stored_shared).varint(suffix.len()).varint(entry.value.len());
            bytes.push(&suffix).push(&entry.value);
            key.truncate(stored_shared);
            key.extend_from_slice(&suffix);
            valid &= last.as_ref().is_none_or(|last| *last < key);
            last = Some(key.clone());
            entries.insert(key.clone(), entry.value.clone());
        }
        let restarts: Vec<usize> = match &self.restarts {
            Restarts::Regular => places.iter().step_by(16).map(|&(at, _)| at).collect(),
            Restarts::At(chosen) => chosen
                .iter()
                .filter_map(|&(entry, off)| {
                    let (at, _) = places.get(usize::from(entry) % places.len().max(1))?;
                    at.checked_add_signed(off.into())
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

        let (mut entries, mut valid) = (Entries::new(), true);
        let (mut records, mut keys) = (Bytes::default(), Bytes::default());
        let (mut last, mut first): (Option<Vec<u8>>, _) = (None, None);
        for block in &self.blocks {
            let laid = block.lay(&mut entries, last.as_deref());
            file.push(&laid.contents);
            valid &= laid.valid;
            let indexed = block.indexed.as_ref().unwrap_or(&laid.last);
            valid &= *indexed == laid.last;
            keys.push(indexed);
            records.push(&(keys.0.len() as u64).to_le_bytes()).push(&(file.0.len() as u64).to_le_bytes());
            first = first.or_else(|| entries.keys().next().cloned());
            last = Some(laid.last);
        }
        let index = file.0.len();
        file.push(&(self.blocks.len() as u64).to_le_bytes()).push(&records.0).push(&keys.0).seal(2, index);

        let properties = file.0.len();
        let mut counts = [
            entries.len() as u64,
            entries.keys().map(Vec::len).sum::<usize>() as u64,
            entries.values().map(Vec::len).sum::<usize>() as u64,
        ];
        if let Some((which, by)) = self.miscounted {
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
        (file.0, valid.then_some(entries))
    }
}
