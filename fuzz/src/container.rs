//! Blocks of scalable filters: changed in their directory and layers, and filled further after they were read.

use arbitrary::{Arbitrary, Unstructured};
use bloomline::filter::Schema;
use bloomline::hash::Hashers;
use bloomline::sizing::{BlockedParams, ClassicParams};
use bloomline::{ConcurrentScalableFilter, ScalableFilter};

use crate::answers;
use crate::edit::Edit;
use crate::mend::{self, Mend};
use crate::recipe::{AnyHasher, Growing, Keys};

/// An input.
#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Bytes, after the mending that is asked for, and keys to add if they are accepted.
    Bytes(Mend, Keys, &'a [u8]),
    /// A filter, the changes of its block, and keys to add.
    Changed {
        classic: bool,
        growing: Growing,
        hasher: AnyHasher,
        keys: Keys,
        edits: Vec<Edit>,
        mend: Mend,
        more: Keys,
    },
}

/// Most keys of a run, enough for some layers.
const RUN: u16 = 2000;
/// Blocks past this are not filled further: the layer after one of hostile options may have 8,192 times its bits.
const FILLED_BYTES: usize = 2 << 10;

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let hashes = answers::hashes(&mut input);
    let Ok(input) = Input::arbitrary_take_rest(input) else { return };
    match input {
        Input::Bytes(mend, keys, bytes) => {
            let mut block = bytes.to_vec();
            mend::block(&mut block, mend);
            let hashers = Hashers::new();
            if answers::check(&block, &hashers, &hashes) {
                // Of whatever kind its layers are.
                fill::<ClassicParams>(&block, &hashers, &keys.keys(RUN));
                fill::<BlockedParams>(&block, &hashers, &keys.keys(RUN));
            }
        }
        Input::Changed { classic: true, growing, hasher, keys, edits, mend, more } => {
            changed::<ClassicParams>(growing, hasher, [&keys, &more], &edits, mend, &hashes);
        }
        Input::Changed { growing, hasher, keys, edits, mend, more, .. } => {
            changed::<BlockedParams>(growing, hasher, [&keys, &more], &edits, mend, &hashes);
        }
    }
}

fn changed<P: Schema>(
    growing: Growing,
    hasher: AnyHasher,
    [keys, more]: [&Keys; 2],
    edits: &[Edit],
    mend: Mend,
    hashes: &[bloomline::KeyHash],
) {
    let (keys, more) = (keys.keys(RUN), more.keys(RUN));
    let mut filter = ScalableFilter::<P>::with_hasher(growing.params(), hasher.hasher()).expect("memory");
    let new = filter.add_batch(&keys);
    assert_eq!(new, filter.count());
    assert!(keys.iter().all(|key| filter.might_contain(key)), "a key is forgotten");
    let sound = filter.encode();
    let mut block = sound.clone();
    for edit in edits.iter().take(8) {
        edit.apply(&mut block, &mend::block_parts(&sound));
    }
    mend::block(&mut block, mend);
    let hashers = hasher.hashers();
    let accepted = answers::check(&block, &hashers, hashes);
    assert!(accepted || block != sound, "a block that the library wrote is refused");
    if block == sound {
        // What was saved goes on as what was not.
        let again = fill::<P>(&block, &hashers, &more).expect("it was accepted");
        filter.add_batch(&more);
        assert!(again.encode() == filter.encode(), "a filter that was saved grows otherwise");
    } else if accepted {
        fill::<P>(&block, &hashers, &more);
    }
}

/// Reads a block and adds keys, one by one, in batches and shared: the same filter, that knows them all.
fn fill<P: Schema>(block: &[u8], hashers: &Hashers, keys: &[Vec<u8>]) -> Option<ScalableFilter<P>> {
    if block.len() > FILLED_BYTES && !keys.is_empty() {
        return ScalableFilter::decode(block, hashers).ok().map(|mut filter| {
            filter.add_batch(keys);
            filter
        });
    }
    let mut one_by_one = ScalableFilter::<P>::decode(block, hashers).ok()?;
    let before = one_by_one.count();
    let mut new = 0_u64;
    for key in keys {
        let known = one_by_one.might_contain(key);
        let added = one_by_one.add(key);
        assert!(added != known, "a key is new exactly when it was absent");
        new += u64::from(added);
    }
    assert_eq!(one_by_one.count(), before.saturating_add(new));
    assert!(keys.iter().all(|key| one_by_one.might_contain(key)), "a key is forgotten");

    let mut batch = ScalableFilter::<P>::decode(block, hashers).expect("it was decoded before");
    assert_eq!(batch.add_batch(keys), new);
    assert!(batch.encode() == one_by_one.encode(), "a batch fills otherwise than key by key");

    let shared =
        ConcurrentScalableFilter::from(ScalableFilter::<P>::decode(block, hashers).expect("as before"));
    shared.add_batch(keys);
    assert!(keys.iter().all(|key| shared.might_contain(key)), "a shared filter forgets a key");
    assert_eq!(shared.layer_count(), batch.layers().len());
    let (kept, rate) = (shared.into_filter(), batch.expected_fpp());
    assert!(keys.iter().all(|key| kept.might_contain(key)));
    assert!((0.0..=1.0).contains(&rate), "{rate}");
    Some(one_by_one)
}
