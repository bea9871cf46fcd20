//! Every place in the library where the compiler's proofs end, on a handful of keys: buffers lent as bytes and as
//! atomic words, kernels for each instruction set, lines at every address, threads. Small enough for Miri, which
//! watches each access: `make miri`.

use bloomline::filter::{AtomicFilter, Bloom, Schema};
use bloomline::format::Kind;
use bloomline::line::LINE_BYTES;
use bloomline::probe::Backend;
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{
    Budget, ConcurrentScalableFilter, FilterBuilder, FilterOptions, FilterReader, Hasher, Hashers, KeyHash,
    ScalableFilter,
};

const KEYS: usize = 40;

fn hashes(keys: std::ops::Range<usize>) -> Vec<KeyHash> {
    keys.map(|i| Hasher::default().hash(&i.to_le_bytes())).collect()
}

/// Asks a block that lies at each of some addresses, by each backend, for keys that are in it and for others.
fn asked_everywhere(block: &[u8]) {
    let (present, absent) = (hashes(0..KEYS), hashes(KEYS..2 * KEYS));
    let mut expected = None;
    let mut memory = vec![0; block.len() + LINE_BYTES];
    for at in [0, 1, 7, 16, 63] {
        memory[at..at + block.len()].copy_from_slice(block);
        for backend in Backend::all() {
            let block = &memory[at..at + block.len()];
            let reader = FilterReader::open(block, &Hashers::new()).unwrap().with_backend(backend);
            assert!(present.iter().all(|&hash| reader.might_contain_hash(hash)));
            let mut answers = [false; KEYS];
            reader.might_contain_hashes(&present, &mut answers);
            assert_eq!(answers, [true; KEYS]);
            reader.might_contain_hashes(&absent, &mut answers);
            assert_eq!(answers, *expected.get_or_insert(answers));
        }
    }
}

/// One key after the other, a batch, two threads on atomic words, and from the one form to the other.
fn filled_in_every_way<P: Schema>(params: P) {
    let hashes = hashes(0..KEYS);
    for backend in Backend::all() {
        let mut owned = Bloom::new(params).unwrap().with_backend(backend);
        let new = hashes.iter().filter(|&&hash| owned.add_hash(hash)).count() as u64;
        let mut batched = Bloom::new(params).unwrap().with_backend(backend);
        assert_eq!(batched.add_hashes(&hashes), new);
        let shared = AtomicFilter::new(params).unwrap().with_backend(backend);
        std::thread::scope(|scope| {
            let (first, rest) = hashes.split_at(hashes.len() / 2);
            scope.spawn(|| shared.add_hashes(first));
            scope.spawn(|| rest.iter().for_each(|&hash| _ = shared.add_hash(hash)));
            let mut answers = vec![false; hashes.len()];
            shared.might_contain_hashes(&hashes, &mut answers);
        });
        assert!(hashes.iter().all(|&hash| shared.might_contain_hash(hash)));
        let block = owned.encode();
        assert_eq!(batched.encode(), block);
        // The count is approximate where threads add at once; the bits are not.
        assert_eq!(shared.into_filter().encode()[48..], block[48..]);
        let thawed = AtomicFilter::from(owned);
        assert!(hashes.iter().all(|&hash| !thawed.add_hash(hash)));
        asked_everywhere(&thawed.into_filter().encode());
    }
}

#[test]
fn blocked() {
    // One round of probes with lanes to spare, a whole one, and more than one.
    for probes in [6, 8, 11] {
        filled_in_every_way(BlockedParams::explicit(3 * 512, probes).unwrap());
    }
}

#[test]
fn classic() {
    filled_in_every_way(ClassicParams::explicit(1001, 7).unwrap());
}

#[test]
fn built() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Compact] {
        let options = FilterOptions::default().kind(kind).budget(Budget::BitsPerKey(10.0)).threads(2);
        let mut builder = FilterBuilder::new(options);
        hashes(0..KEYS).into_iter().for_each(|hash| builder.add_hash(hash));
        asked_everywhere(&builder.finish().unwrap());
    }
}

#[test]
fn grown() {
    let params = ScalableParams::new(8, 0.01).unwrap();
    let mut filter = ScalableFilter::blocked(params).unwrap();
    filter.add_hashes(&hashes(0..KEYS));
    asked_everywhere(&filter.encode());

    let shared = ConcurrentScalableFilter::blocked(params).unwrap();
    let hashes = hashes(0..KEYS);
    std::thread::scope(|scope| {
        for hashes in hashes.chunks(hashes.len() / 2) {
            scope.spawn(|| hashes.iter().for_each(|&hash| _ = shared.add_hash(hash)));
        }
    });
    asked_everywhere(&shared.encode());
}
