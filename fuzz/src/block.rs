//! Filter blocks: any bytes, and sound blocks of every kind with changes.

use arbitrary::{Arbitrary, Unstructured};
use bloomline::filter::{AnyFilter, open_any};
use bloomline::hash::Hashers;
use bloomline::{FilterReader, Membership};

use crate::answers;
use crate::edit::Edit;
use crate::mend::{self, HEADER, Mend};
use crate::recipe::{AnyHasher, Recipe};

/// An input.
#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Bytes, after the mending that is asked for.
    Bytes(Mend, AnyHasher, &'a [u8]),
    /// A sound block, changed.
    Changed(Recipe, Vec<Edit>, Mend),
    /// Two sound blocks, merged.
    Merged(Recipe, Recipe),
}

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let hashes = answers::hashes(&mut input);
    match Input::arbitrary_take_rest(input) {
        Ok(Input::Bytes(mend, hasher, bytes)) => {
            let mut block = bytes.to_vec();
            mend::block(&mut block, mend);
            answers::check(&block, &hasher.hashers(), &hashes);
            answers::check(&block, &Hashers::new(), &hashes);
        }
        Ok(Input::Changed(recipe, edits, mend)) => changed(&recipe, &edits, mend, &hashes),
        Ok(Input::Merged(one, other)) => merged(&one, &other),
        Err(_) => {}
    }
}

fn changed(recipe: &Recipe, edits: &[Edit], mend: Mend, hashes: &[bloomline::KeyHash]) {
    let (hashers, known) = (recipe.hasher.hashers(), recipe.hashes());
    let sound = recipe.block();
    let mut block = sound.clone();
    for edit in edits.iter().take(8) {
        edit.apply(&mut block, &mend::block_parts(&sound));
    }
    mend::block(&mut block, mend);
    let asked: Vec<_> = hashes.iter().chain(&known).copied().collect();
    let accepted = answers::check(&block, &hashers, &asked);
    if block == sound {
        assert!(accepted, "a block that the library wrote is refused");
    } else if mend == Mend::Nothing && edits.len() == 1 && block.len() == sound.len() {
        // One place of a few bytes: a checksum finds it for certain. More is found but for one time in 2³².
        let differs = block.iter().zip(&sound).filter(|(new, old)| new != old).count();
        assert!(!accepted || differs > 4, "damage was accepted");
    }
    if accepted && denies_nothing(&sound, &block) {
        let reader = FilterReader::open(&block[..], &hashers).expect("it was accepted");
        let forgotten = known.iter().filter(|&&hash| !reader.might_contain_hash(hash)).count();
        assert_eq!(forgotten, 0, "keys of {}", known.len());
    }
}

/// Whether a changed block must still know every key of the sound one: the same filter, with no bit less.
fn denies_nothing(sound: &[u8], block: &[u8]) -> bool {
    const COMPACT: u8 = 3;
    if sound.len() != block.len() {
        return false;
    }
    // Counts and checksums may differ.
    let mut free = vec![16..24, 40..48];
    let layers = mend::layers(sound);
    for (header, _) in &layers {
        free.extend([HEADER + 60..HEADER + 64, header.start + 16..header.start + 24]);
        free.push(header.start + 40..header.start + 48);
    }
    let lines = layers.first().map_or(HEADER, |(_, lines)| lines.start);
    (0..sound.len()).zip(sound.iter().zip(block)).all(|(at, (old, new))| {
        old == new
            || free.iter().any(|range| range.contains(&at))
            || (at >= lines && sound[5] != COMPACT && old & new == *old)
    })
}

/// The union of two filters knows the keys of both, or there is none and nothing is changed.
fn merged(one: &Recipe, other: &Recipe) {
    let (blocks, hashers) = ([one.block(), other.block()], [one.hasher.hashers(), other.hasher.hashers()]);
    let [ours, theirs] = [0, 1].map(|i| open_any(&blocks[i], &hashers[i]).expect("sound"));
    let reader = FilterReader::open(&blocks[1][..], &hashers[1]).expect("sound");
    let mut union: AnyFilter = ours;
    let before = union.membership().encode();
    let counts = [union.membership().count(), theirs.membership().count()];
    match union.merge_reader(&reader) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(union.membership().encode() == before, "a merge that was refused changed something");
        }
        Ok(()) => {
            let union: &dyn Membership = union.membership();
            for hash in one.hashes().into_iter().chain(other.hashes()) {
                assert!(union.might_contain_hash(hash), "a union forgot a key");
            }
            let bounds = counts[0].max(counts[1])..=counts[0] + counts[1];
            assert!(bounds.contains(&union.count()), "{} is not in {bounds:?}", union.count());
            or_of_both(&blocks, &union.encode());
        }
    }
}

/// Bit for bit the OR, where both have a body.
fn or_of_both([one, other]: &[Vec<u8>; 2], union: &[u8]) {
    if one.len() == HEADER || other.len() == HEADER {
        return;
    }
    let lines = mend::layers(one).first().map_or(HEADER, |(_, lines)| lines.start);
    assert!(union.len() == one.len() && union.len() == other.len());
    assert!(
        (lines..union.len()).all(|at| union[at] == one[at] | other[at]),
        "a union is not the OR of the bits"
    );
}
