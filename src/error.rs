//! Every error of the library. Each one says what was expected and what was found, so that the line a user
//! sees is enough to act on.

mod table;

pub use table::{Section, TableError, TableFault};

use thiserror::Error;

use crate::format::Kind;
use crate::hash::HasherId;

/// A size, a rate or a number of probes that no filter can have.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SizingError {
    /// The false-positive rate is not a number strictly between 0 and 1.
    #[error("the false-positive rate must lie strictly between 0 and 1, got {got}")]
    RateOutOfRange {
        /// The rate that was asked for.
        got: f64,
    },
    /// The false-positive rate is lower than a filter of this kind can reach for this many keys.
    #[error(
        "a false-positive rate of {target:e} is out of reach: the lowest for so many keys is about {floor:.1e}"
    )]
    RateBelowFloor {
        /// The rate that was asked for.
        target: f64,
        /// The expected number of keys.
        keys: u64,
        /// The lowest rate that this kind reaches.
        floor: f64,
    },
    /// The number of bits per key is not a positive, finite number in range.
    #[error("the bits per key must be more than 0 and at most {max}, got {got}")]
    BitsPerKeyOutOfRange {
        /// The bits per key that were asked for.
        got: f64,
        /// The most that is accepted.
        max: f64,
    },
    /// The number of probes is 0 or more than the kind has.
    #[error("the number of probes must be 1 to {max}, got {got}")]
    ProbesOutOfRange {
        /// The probes that were asked for.
        got: u32,
        /// The most that this kind has.
        max: u32,
    },
    /// The filter would be larger than its kind allows.
    #[error("a filter of {bits:.4e} bits is larger than the {max} bits that this kind can address")]
    TooLarge {
        /// The bits that the request comes to; exact up to 2⁵³.
        bits: f64,
        /// The most that this kind can address.
        max: u64,
    },
    /// A filter of no bits can hold no key.
    #[error("a filter needs at least one bit")]
    NoBits,
    /// The bits of a blocked filter are not a whole number of 512-bit lines.
    #[error("the bits of a filter of whole lines must be a multiple of 512, got {got}")]
    NotWholeLines {
        /// The bits that were asked for.
        got: u64,
    },
    /// A scalable filter whose first layer is sized for no key could never grow.
    #[error("the first capacity must be at least 1 key")]
    NoCapacity,
    /// The growth of a scalable filter is not one that its capacities are made for.
    #[error("the growth must be 2 or 4, got {got}")]
    GrowthOutOfRange {
        /// The growth that was asked for.
        got: u8,
    },
    /// The tightening of a scalable filter is out of range.
    #[error("the tightening must be 0.5 to 0.9, got {got}")]
    TighteningOutOfRange {
        /// The tightening that was asked for.
        got: f64,
    },
    /// The false-positive rate is lower than the longest fingerprint of a compact filter gives.
    #[error(
        "a false-positive rate of {target:e} is out of reach for a compact filter: the lowest is {floor:.4e}"
    )]
    RateBelowFingerprints {
        /// The rate that was asked for.
        target: f64,
        /// The lowest rate that fingerprints give.
        floor: f64,
    },
    /// The number of fingerprint bits of a compact filter is out of range.
    #[error("the fingerprint bits per key must be 4 to 16, got {got}")]
    FingerprintBitsOutOfRange {
        /// The bits that were asked for.
        got: u8,
    },
    /// A compact filter of so many keys takes more bits for each.
    #[error("a compact filter takes at least {least:.2} bits per key here, got {got}")]
    BitsPerKeyTooFew {
        /// The bits per key that were asked for.
        got: f64,
        /// What the smallest filter takes.
        least: f64,
    },
    /// The load of a compact filter is out of range.
    #[error("the load must be 80 to 130 keys per hundred slots, got {got}")]
    LoadOutOfRange {
        /// The load that was asked for.
        got: u16,
    },
    /// A scalable filter is not sized for a number of keys: it grows.
    #[error("a scalable filter has no size of its own: it is made by its first capacity and grows")]
    NoFixedSize,
}

/// A filter that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The parameters are not those of any filter.
    #[error(transparent)]
    Sizing(#[from] SizingError),
    /// The system gave no memory.
    #[error("no memory for a filter of {bytes} bytes")]
    OutOfMemory {
        /// The bytes of the lines.
        bytes: u64,
        /// What the system said, where it said anything.
        #[source]
        source: Option<std::io::Error>,
    },
    /// A scalable filter has all the layers that it can have.
    #[error("a scalable filter has at most {max} layers")]
    NoMoreLayers {
        /// The most layers of a filter.
        max: u8,
    },
}

/// The body of a compact filter that can't be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompactBodyError {
    /// The number of fingerprint bits is not one that this version reads.
    #[error("a compact filter has 4 to 16 fingerprint bits per key, got {got}")]
    FingerprintBits {
        /// The number found in the header.
        got: u8,
    },
    /// The body has no lines. The empty filter is a state of the block and has no body to read.
    #[error("a compact body has at least one line, got none")]
    NoLines,
    /// The directory names more layers than the body has lines, or one layer for several lines.
    #[error("the directory names {layers} layers, which {lines} lines cannot hold")]
    Layers {
        /// Number of layers that the directory names.
        layers: usize,
        /// Number of lines of the body.
        lines: usize,
    },
    /// The size of a layer is zero or is not written in its shortest form.
    #[error("layer {layer} has the malformed size {got:#06x}")]
    LayerSize {
        /// Index of the layer, the first being 0.
        layer: usize,
        /// The 16 bits of its directory entry.
        got: u16,
    },
    /// The layers after the first leave it no line.
    #[error("the layers after the first take {needed} of {lines} lines, which must leave one for the first")]
    TooManyLines {
        /// Lines that the directory gives to all layers after the first.
        needed: u64,
        /// Number of lines of the body.
        lines: usize,
    },
    /// Bits that this version reserves are not zero.
    #[error("line {line} has reserved bits that are not zero")]
    ReservedBits {
        /// Index of the line in the body.
        line: usize,
    },
}

/// A filter block that can't be believed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Fewer bytes than a header: a truncated block, which is never taken for an empty one.
    #[error("truncated: a filter block has at least {needed} bytes, got {got}")]
    TooShort {
        /// Bytes of the header.
        needed: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// The first bytes are not those of a filter block.
    #[error("not a filter block: it begins with {got:02x?} and not with [89, 42, 4c, 46]")]
    Magic {
        /// The first bytes, at most 4.
        got: Vec<u8>,
    },
    /// The block was written by a newer version of the library.
    #[error("version {got} of the filter block is newer than this program, which reads up to {newest}")]
    Version {
        /// The newest version that this library reads.
        newest: u8,
        /// The version of the block.
        got: u8,
    },
    /// The block says version 0, which there never was: versions begin at 1.
    #[error("version 0 of the filter block, which does not exist: versions begin at 1")]
    NoVersion,
    /// The header is damaged.
    #[error("damaged header: its CRC32 is {got:#010x} where {expected:#010x} was written")]
    HeaderChecksum {
        /// The checksum that the block carries.
        expected: u32,
        /// The checksum of its header.
        got: u32,
    },
    /// The body is damaged.
    #[error("damaged body: its CRC32 is {got:#010x} where {expected:#010x} was written")]
    BodyChecksum {
        /// The checksum that the header carries.
        expected: u32,
        /// The checksum of the body.
        got: u32,
    },
    /// A field that is zero in this version holds something.
    #[error("the field `{field}` must be 0, got {got}")]
    Reserved {
        /// The field's name in the byte map.
        field: &'static str,
        /// What it holds.
        got: u64,
    },
    /// The kind of filter is not one that this version knows.
    #[error("filter kind {got} is not known to this program")]
    UnknownKind {
        /// The kind's number.
        got: u8,
    },
    /// The block holds another kind of filter than the caller can use.
    #[error("a {got} filter where a {expected} filter is needed")]
    WrongKind {
        /// The kind that the caller can use.
        expected: Kind,
        /// The kind of the block.
        got: Kind,
    },
    /// A block without bits says that it has keys or probes.
    #[error("a block of 0 bits can hold no key, but claims {count} keys and {probes} probes")]
    EmptyWithKeys {
        /// The keys that the header claims.
        count: u64,
        /// The probes that the header claims.
        probes: u8,
    },
    /// The parameters are not those of any filter of the kind.
    #[error("impossible parameters of a {kind} filter: {source}")]
    Parameters {
        /// The kind of the block.
        kind: Kind,
        /// What is wrong with the parameters.
        source: SizingError,
    },
    /// The block is longer or shorter than its header says.
    #[error("truncated or overlong: the header asks for {expected} bytes, got {got}")]
    Length {
        /// Bytes of header and body, from the header.
        expected: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// A scalable filter's block claims no layer, or more than there can be.
    #[error("a scalable filter has 1 to {max} layers, the block claims {got}")]
    Layers {
        /// The most layers that there can be.
        max: u8,
        /// The layers that the block claims.
        got: u8,
    },
    /// The directory of a scalable filter's block is damaged.
    #[error("damaged directory of layers: its CRC32 is {got:#010x} where {expected:#010x} was written")]
    DirectoryChecksum {
        /// The checksum that the directory carries.
        expected: u32,
        /// The checksum of the directory.
        got: u32,
    },
    /// A scalable filter's block says that its layers are of a kind that can't be a layer.
    #[error("the layers of a scalable filter are classic or blocked, not {got}")]
    LayerKind {
        /// The kind that the block says.
        got: Kind,
    },
    /// One layer of a scalable filter can't be believed.
    #[error("layer {layer}: {source}")]
    Layer {
        /// The layer, the oldest being 0.
        layer: u8,
        /// What is wrong with it.
        source: Box<FormatError>,
    },
    /// One layer of a scalable filter is not of the filter around it.
    #[error("layer {layer} differs from its filter in `{field}`: expected {expected}, got {got}")]
    LayerDiffers {
        /// The layer, the oldest being 0.
        layer: u8,
        /// The field's name in the byte map.
        field: &'static str,
        /// What the filter has.
        expected: u64,
        /// What the layer has.
        got: u64,
    },
    /// One layer of a scalable filter has no bits.
    #[error("layer {layer} has 0 bits")]
    EmptyLayer {
        /// The layer, the oldest being 0.
        layer: u8,
    },
    /// The layers of a scalable filter hold other keys in sum than the block claims.
    #[error("the layers hold {expected} keys in sum, the block claims {got}")]
    Count {
        /// The sum over the layers.
        expected: u64,
        /// What the header claims.
        got: u64,
    },
    /// Bits past the end of the filter, in its last line, are set.
    #[error("bits past the filter's {bits} bits are set")]
    PaddingNotZero {
        /// Bits of the filter.
        bits: u64,
    },
    /// A layer of a scalable filter is too small for the keys that its options give it.
    #[error("layer {layer} has {bits} bits for {capacity} keys")]
    LayerTooSmall {
        /// Index of the layer, the first being 0.
        layer: u8,
        /// Keys that the layer is to take, by the options.
        capacity: u64,
        /// Bits of the layer.
        bits: u64,
    },
    /// The lines of a compact filter contradict each other.
    #[error("impossible compact filter: {0}")]
    Compact(#[from] CompactBodyError),
    /// The keys were hashed with a hasher that the reader doesn't have.
    #[error(transparent)]
    Hasher(#[from] HasherError),
    /// The system gave no memory for a copy of the filter.
    #[error("no memory for a filter of {bytes} bytes")]
    OutOfMemory {
        /// Bytes of the lines.
        bytes: u64,
    },
}

/// Two filters that are no unions of each other's bits. `expected` is what the filter has that is merged into,
/// `got` what the other has.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A compact filter was built once, from all its keys: its bits are the solution of their equations, and
    /// the solutions of two sets of keys don't add up to one of their union.
    #[error("can't merge compact filters: build one from all keys instead")]
    Static,
    /// The kinds differ.
    #[error("can't merge: `kind` differs, {expected} and {got}")]
    Kind {
        /// The kind merged into.
        expected: Kind,
        /// The other kind.
        got: Kind,
    },
    /// The sizes differ.
    #[error("can't merge: `bits` differs, {expected} and {got}")]
    Bits {
        /// The bits of the filter merged into.
        expected: u64,
        /// The bits of the other.
        got: u64,
    },
    /// The numbers of probes differ.
    #[error("can't merge: `probes` differs, {expected} and {got}")]
    Probes {
        /// The probes of the filter merged into.
        expected: u8,
        /// The probes of the other.
        got: u8,
    },
    /// The hash functions differ.
    #[error("can't merge: `hasher` differs, {expected} and {got}")]
    Hasher {
        /// The hash function of the filter merged into.
        expected: HasherId,
        /// The hash function of the other.
        got: HasherId,
    },
    /// The seeds of the hash functions differ.
    #[error("can't merge: `seed` differs, {expected} and {got}")]
    Seed {
        /// The seed of the filter merged into.
        expected: u64,
        /// The seed of the other.
        got: u64,
    },
    /// The hash functions have the same id and seed and yet differ: two secret keys, or two functions of an
    /// application.
    #[error("can't merge: `hasher check` differs, {expected:#010x} and {got:#010x}")]
    Check {
        /// The check of the filter merged into.
        expected: u32,
        /// The check of the other.
        got: u32,
    },
    /// The kinds of the layers of two scalable filters differ.
    #[error("can't merge: `kind of the layers` differs, {expected} and {got}")]
    LayerKind {
        /// The kind of layers of the filter merged into.
        expected: Kind,
        /// The kind of layers of the other.
        got: Kind,
    },
    /// The options of two scalable filters differ.
    #[error("can't merge: `{field}` differs, {expected} and {got}")]
    Option {
        /// The option's name.
        field: &'static str,
        /// Its value in the filter merged into.
        expected: f64,
        /// Its value in the other.
        got: f64,
    },
    /// The numbers of layers of two scalable filters differ.
    #[error("can't merge: `layers` differs, {expected} and {got}")]
    Layers {
        /// The layers of the filter merged into.
        expected: usize,
        /// The layers of the other.
        got: usize,
    },
    /// One layer of two scalable filters differs.
    #[error("layer {layer}: {source}")]
    Layer {
        /// The layer, the oldest being 0.
        layer: usize,
        /// What differs.
        source: Box<MergeError>,
    },
    /// The first block of a merge could not be copied into an owned filter.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Why a hasher can't be made, or can't answer for a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HasherError {
    /// The seed is larger than the hash function takes.
    #[error("seed {seed} is out of range for {hasher}: the largest is {max}")]
    SeedOutOfRange {
        /// The hasher asked for.
        hasher: HasherId,
        /// The seed asked for.
        seed: u64,
        /// The largest seed that the hasher takes; 0 where it takes none.
        max: u64,
    },
    /// The keys were hashed with a secret key, and none was given.
    #[error("needs the secret key of {hasher}, and none was given")]
    SecretKeyNeeded {
        /// The keyed hasher.
        hasher: HasherId,
    },
    /// None of the secret keys given is the one that the keys were hashed with.
    #[error(
        "needs another secret key of {hasher}: its check is {expected:#010x}, the key given has {got:#010x}"
    )]
    WrongSecretKey {
        /// The keyed hasher.
        hasher: HasherId,
        /// The check value that the right key has.
        expected: u32,
        /// The check value of the last key tried.
        got: u32,
    },
    /// The hasher of this id and seed hashes the check text to something else: a damaged header, or a
    /// faulty implementation on the side of the writer or of the reader.
    #[error(
        "needs {hasher} with seed {seed} and check {expected:#010x}, but that hasher's check is {got:#010x} here"
    )]
    CheckMismatch {
        /// The hasher asked for.
        hasher: HasherId,
        /// The seed asked for.
        seed: u64,
        /// The check value asked for.
        expected: u32,
        /// The check value worked out here.
        got: u32,
    },
    /// The application hasher given was made with another seed.
    #[error("needs {hasher} with seed {expected}, got it with seed {got}")]
    SeedMismatch {
        /// The application hasher.
        hasher: HasherId,
        /// The seed asked for.
        expected: u64,
        /// The seed of the hasher that was given.
        got: u64,
    },
    /// The application's own hasher is needed, and it was not given.
    #[error("needs {hasher}, which its application must supply")]
    ApplicationHasherNeeded {
        /// The application hasher.
        hasher: HasherId,
    },
    /// A hasher of a storage engine is needed: this crate knows its name, but does not compute it.
    #[error("needs {hasher}, which only the storage engine that it belongs to can supply")]
    EngineHasherNeeded {
        /// The engine's hasher.
        hasher: HasherId,
    },
    /// The id is not in the registry of this version.
    #[error("needs {hasher}: no hasher with that id is known to this version")]
    UnknownHasher {
        /// The id that was found.
        hasher: HasherId,
    },
    /// An application hasher was given an id outside the range kept for applications.
    #[error("an application hasher's id is {first:#06x} or above, got {got:#06x}", first = HasherId::FIRST_APPLICATION.get(), got = hasher.get())]
    NotApplicationId {
        /// The id that was given.
        hasher: HasherId,
    },
}
