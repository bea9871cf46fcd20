//! Hostile and damaged blocks of scalable filters: each fault its own error, no panic, and no allocation that the
//! bytes don't justify. Edits mend every checksum, as an attacker would.

use bloomline::error::FormatError;
use bloomline::filter::open_any;
use bloomline::format::{HEADER_BYTES, Kind, crc32};
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::{FilterReader, Hasher, Hashers, ScalableFilter};

/// Where the directory begins, and in it the headers of the layers.
const DIRECTORY: usize = HEADER_BYTES;
const LAYERS: usize = DIRECTORY + 64;

/// Three layers: 20, 40 and 80 keys.
fn block() -> Vec<u8> {
    let mut filter = ScalableFilter::classic(ScalableParams::new(20, 0.01).unwrap()).unwrap();
    (0..100_u32).for_each(|i| _ = filter.add(&i.to_le_bytes()));
    assert_eq!(filter.layers().len(), 3);
    filter.encode()
}

/// Bytes of the directory of `layers` layers.
fn directory_bytes(layers: usize) -> usize {
    (64 + 48 * layers).next_multiple_of(64)
}

fn put_crc(block: &mut [u8], at: usize, crc: u32) {
    block[at..at + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Mends the checksums of the headers of three layers, of the directory, the body and the header.
fn mend(block: &mut [u8]) {
    for layer in 0..3 {
        let at = LAYERS + layer * 48;
        let crc = crc32(&block[at..at + 44]);
        put_crc(block, at + 44, crc);
    }
    mend_outside(block);
}

fn mend_outside(block: &mut [u8]) {
    let directory = &block[DIRECTORY..DIRECTORY + directory_bytes(3)];
    let crc = crc32(&[&directory[..60], &directory[64..]].concat());
    put_crc(block, DIRECTORY + 60, crc);
    let crc = crc32(&block[DIRECTORY..]);
    put_crc(block, 40, crc);
    let crc = crc32(&block[..44]);
    put_crc(block, 44, crc);
}

fn refused(block: &[u8]) -> FormatError {
    let hashers = Hashers::new();
    let error = FilterReader::open(block, &hashers).unwrap_err();
    // By what they say: a rate that is no number doesn't equal itself.
    let said = error.to_string();
    assert_eq!(open_any(block, &hashers).unwrap_err().to_string(), said);
    assert_eq!(ScalableFilter::<ClassicParams>::decode(block, &hashers).unwrap_err().to_string(), said);
    error
}

fn edited(at: usize, bytes: &[u8]) -> FormatError {
    let mut block = block();
    block[at..at + bytes.len()].copy_from_slice(bytes);
    mend(&mut block);
    refused(&block)
}

/// The directory written out by hand from the byte map.
#[test]
fn the_byte_map() {
    let mut filter = ScalableFilter::blocked(
        ScalableParams::new(0x0102, 0.25).unwrap().with_growth(4).unwrap().with_tightening(0.75).unwrap(),
    )
    .unwrap();
    filter.add(b"key");
    let block = filter.encode();
    let layer = filter.layers()[0].encode();
    #[rustfmt::skip]
    let directory = [
        &[0x02, 0x01, 0, 0, 0, 0, 0, 0][..],         // first capacity
        &[0, 0, 0, 0, 0, 0, 0xD0, 0x3F],             // 0.25
        &[0, 0, 0, 0, 0, 0, 0xE8, 0x3F],             // 0.75
        &[4, 2], &[0; 34],                           // growth, kind of the layers, reserved
    ].concat();
    assert_eq!(block[5..7], [4, 1], "kind and layers");
    assert_eq!(block[8..16], ((block.len() as u64 - 48) * 8).to_le_bytes());
    assert_eq!(block[16..24], 1_u64.to_le_bytes());
    assert_eq!(block[48..108], directory);
    assert_eq!(block[108..112], crc32(&[&directory, &block[112..176]].concat()).to_le_bytes());
    assert_eq!(block[112..160], layer[..48]);
    assert_eq!(block[160..176], [0; 16], "padding to a whole line");
    assert_eq!(block[176..], layer[48..]);
    assert_eq!(block[40..44], crc32(&block[48..]).to_le_bytes());
    assert!((0..64).all(|layers| (48 + directory_bytes(layers)) % 64 == 48), "lines stay on their boundary");
}

#[test]
fn mending_the_checksums_of_a_sound_block_changes_nothing() {
    let mut mended = block();
    mend(&mut mended);
    assert_eq!(mended, block());
}

#[test]
fn more_layers_than_there_can_be() {
    for claimed in [0, 65, 255] {
        assert_eq!(edited(6, &[claimed]), FormatError::Layers { max: 64, got: claimed });
    }
    // More than the body has room for: the claim is held against the bytes before anything is made of it.
    let error = edited(6, &[64]);
    assert!(matches!(error, FormatError::Length { .. } | FormatError::DirectoryChecksum { .. }), "{error}");
    assert!(matches!(edited(6, &[2]), FormatError::DirectoryChecksum { .. } | FormatError::Reserved { .. }));
}

#[test]
fn a_container_of_no_bits() {
    let mut block = block()[..48].to_vec();
    block[6] = 0;
    block[8..24].fill(0);
    put_crc(&mut block, 40, 0);
    let crc = crc32(&block[..44]);
    put_crc(&mut block, 44, crc);
    assert_eq!(refused(&block), FormatError::Layers { max: 64, got: 0 });
}

#[test]
fn options_that_no_filter_has() {
    let bad = |at, bytes: &[u8]| {
        let error = edited(DIRECTORY + at, bytes);
        assert!(matches!(error, FormatError::Parameters { kind: Kind::Scalable, .. }), "{error}");
    };
    bad(0, &[0; 8]);
    for rate in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        bad(8, &rate.to_le_bytes());
    }
    for tightening in [0.4, 0.95, f64::NAN] {
        bad(16, &tightening.to_le_bytes());
    }
    for growth in [0, 1, 3, 255] {
        bad(24, &[growth]);
    }
    assert_eq!(edited(DIRECTORY + 25, &[4]), FormatError::LayerKind { got: Kind::Scalable });
    assert_eq!(edited(DIRECTORY + 25, &[9]), FormatError::UnknownKind { got: 9 });
    assert!(matches!(edited(DIRECTORY + 26, &[1]), FormatError::Reserved { got: 1, .. }));
    assert!(matches!(edited(DIRECTORY + 59, &[7]), FormatError::Reserved { got: 7, .. }));
    let padding = DIRECTORY + 64 + 3 * 48;
    assert!(padding < DIRECTORY + directory_bytes(3));
    assert!(matches!(edited(padding, &[3]), FormatError::Reserved { got: 3, .. }));
}

#[test]
fn layers_of_something_else() {
    let second = LAYERS + 48;
    let differs = |at, bytes: &[u8], name: &str| {
        let error = edited(second + at, bytes);
        assert!(
            matches!(error, FormatError::LayerDiffers { layer: 1, field, .. } if field == name),
            "{error}"
        );
    };
    differs(24, &[1], "seed");
    differs(32, &[2], "hasher id");
    differs(36, &[0xFF, 0xFF], "hasher check");
    // A blocked layer of whole lines in a container of classic ones.
    let mut other = block();
    other[second + 5] = 2;
    other[second + 8..second + 16].copy_from_slice(&512_u64.to_le_bytes());
    mend(&mut other);
    assert!(matches!(
        refused(&other),
        FormatError::LayerDiffers { layer: 1, field: "kind", expected: 1, got: 2 }
    ));

    let inner = |error: FormatError| match error {
        FormatError::Layer { layer: 1, source } => *source,
        other => panic!("{other}"),
    };
    assert!(matches!(inner(edited(second, &[0])), FormatError::Magic { .. }));
    assert!(matches!(inner(edited(second + 4, &[9])), FormatError::Version { .. }));
    assert!(matches!(inner(edited(second + 6, &[0])), FormatError::Parameters { .. }));
    assert!(matches!(inner(edited(second + 8, &[0; 8])), FormatError::EmptyWithKeys { .. }));
    let mut no_bits = block();
    no_bits[second + 6] = 0;
    no_bits[second + 8..second + 24].fill(0);
    mend(&mut no_bits);
    assert_eq!(refused(&no_bits), FormatError::EmptyLayer { layer: 1 });
    // A header whose own checksum wasn't mended.
    let mut damaged = block();
    damaged[second + 16] ^= 1;
    mend_outside(&mut damaged);
    assert!(matches!(inner(refused(&damaged)), FormatError::HeaderChecksum { .. }));
}

#[test]
fn layers_that_claim_more_or_less_than_there_is() {
    let bits_at = |layer: usize| LAYERS + layer * 48 + 8;
    for layer in 0..3 {
        for bits in [1_u64 << 12, 1 << 20, 1 << 48] {
            let error = edited(bits_at(layer), &bits.to_le_bytes());
            assert!(matches!(error, FormatError::Length { .. }), "layer {layer}, {bits} bits: {error}");
        }
        // Fewer bits in the same line: those past the end are set.
        let error = edited(bits_at(0), &21_u64.to_le_bytes());
        assert!(matches!(error, FormatError::Layer { layer: 0, .. }), "{error}");
        let error = edited(bits_at(layer), &u64::MAX.to_le_bytes());
        assert!(matches!(error, FormatError::Layer { .. }), "{error}");
        let error = edited(LAYERS + layer * 48 + 16, &u64::MAX.to_le_bytes());
        assert!(matches!(error, FormatError::Count { expected: u64::MAX, .. }), "{error}");
    }
    assert!(matches!(edited(16, &[0; 8]), FormatError::Count { got: 0, .. }));
}

#[test]
fn layers_whose_lines_are_damaged() {
    let mut damaged = block();
    let last = damaged.len() - 64;
    damaged[last] ^= 1;
    mend(&mut damaged);
    let FormatError::Layer { layer: 2, source } = refused(&damaged) else { panic!("another layer") };
    assert!(matches!(*source, FormatError::BodyChecksum { .. }));
    // Opened without verification, the layer answers from what it has.
    let reader = FilterReader::open_unverified(&damaged, &Hashers::new()).unwrap();
    assert!(reader.verify().is_err());
    // Layers in order and the body's own checksum wrong.
    let mut outside = block();
    put_crc(&mut outside, 40, 1);
    let crc = crc32(&outside[..44]);
    put_crc(&mut outside, 44, crc);
    assert!(matches!(refused(&outside), FormatError::BodyChecksum { expected: 1, .. }));
}

#[test]
fn every_flipped_bit_is_found_and_every_truncation() {
    let sound = block();
    for bit in 0..sound.len() * 8 {
        let mut damaged = sound.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        refused(&damaged);
    }
    for len in 0..sound.len() {
        assert!(
            matches!(refused(&sound[..len]), FormatError::TooShort { .. } | FormatError::Length { .. }),
            "{len}"
        );
    }
    assert!(matches!(refused(&[&sound[..], &[0]].concat()), FormatError::Length { .. }));
    assert!(matches!(refused(&[&sound[..], &[0; 64]].concat()), FormatError::Length { .. }));
}

/// A header-only opening reads header and directory: damage there is found, without a look at the lines.
#[test]
fn the_directory_is_verified_without_the_lines() {
    let sound = block();
    for byte in 0..HEADER_BYTES + directory_bytes(3) {
        let mut damaged = sound.clone();
        damaged[byte] ^= 0x40;
        assert!(FilterReader::open_unverified(&damaged, &Hashers::new()).is_err(), "byte {byte}");
    }
}

#[test]
fn the_wrong_type_and_the_wrong_hasher() {
    let error = ScalableFilter::<BlockedParams>::decode(&block(), &Hashers::new()).unwrap_err();
    assert_eq!(error, FormatError::WrongKind { expected: Kind::Blocked, got: Kind::Classic });
    let params = ScalableParams::new(20, 0.01).unwrap();
    let foreign = Hasher::xxh3_64(5).identity();
    let mut other = ScalableFilter::<BlockedParams>::with_hasher(params, Hasher::xxh3_64(5)).unwrap();
    other.add(b"key");
    let mut block = other.encode();
    // Container and layers agree on a check that the hasher doesn't have.
    for at in [36, LAYERS + 36] {
        put_crc(&mut block, at, foreign.check ^ 1);
    }
    let crc = crc32(&block[LAYERS..LAYERS + 44]);
    put_crc(&mut block, LAYERS + 44, crc);
    let crc = crc32(&[&block[48..108], &block[112..176]].concat());
    put_crc(&mut block, 108, crc);
    let crc = crc32(&block[48..]);
    put_crc(&mut block, 40, crc);
    let crc = crc32(&block[..44]);
    put_crc(&mut block, 44, crc);
    let error = FilterReader::open(&block, &Hashers::new()).unwrap_err();
    assert!(matches!(error, FormatError::Hasher(_)), "{error}");
    assert!(error.to_string().contains("xxh3-64"));
}

/// A block of 240 bytes that claimed a first capacity of a billion keys, and to be full, was accepted: the next add
/// then mapped three gigabytes for the second layer.
#[test]
fn a_layer_too_small_for_the_capacity_that_the_options_claim() {
    let error = edited(DIRECTORY, &1_000_000_000_u64.to_le_bytes());
    assert!(matches!(error, FormatError::LayerTooSmall { layer: 0, capacity: 1_000_000_000, .. }), "{error}");
}
