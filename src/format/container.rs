//! The body of a scalable filter's block: a directory, then the lines of each layer.
//!
//! ```text
//! offset size field                                         the block's header says before this
//!      0    8 keys that the first layer is sized for          kind 4
//!      8    8 target rate P, IEEE 754 binary64                probes: the number L of layers, 1 to 64
//!     16    8 tightening r, IEEE 754 binary64                 bits: 512 for each line of the body
//!     24    1 growth s, 2 or 4                                keys added: the sum over the layers
//!     25    1 kind of the layers, 1 or 2
//!     26   34 reserved, zero
//!     60    4 CRC32 (IEEE) of the directory without these 4 bytes
//!     64 48·L the header of each layer's own block, oldest layer first
//!           … zeros up to a whole line
//!             the lines of each layer, oldest layer first
//! ```
//!
//! So a layer is a block of its own in two places, and every layer's lines lie on a 64-byte boundary wherever
//! the body does. The number of layers is a byte of the header: a container can't claim more than 255, and the
//! place of everything follows from sums that are checked against the bytes there are.
//!
//! The directory has a checksum of its own because a reader that opens in O(1) doesn't check the body's.

use std::ops::Range;

use super::{HEADER_BYTES, Header, Kind, Shape, verify_body};
use crate::error::FormatError;
use crate::hash::HasherIdentity;
use crate::line::{LINE_BITS, LINE_BYTES, LineBytes};
use crate::sizing::ScalableParams;

// Each field begins where the one before it ends.
const FIRST_CAPACITY_AT: usize = 0;
const FPP_AT: usize = FIRST_CAPACITY_AT + 8;
const TIGHTENING_AT: usize = FPP_AT + 8;
const GROWTH_AT: usize = TIGHTENING_AT + 8;
const LAYER_KIND_AT: usize = GROWTH_AT + 1;
const RESERVED_AT: usize = LAYER_KIND_AT + 1;
const CRC_AT: usize = LINE_BYTES - 4;
const LAYERS_AT: usize = LINE_BYTES;

/// What a scalable filter's block holds, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The options from which further layers follow.
    pub params: ScalableParams,
    /// The kind of all layers: classic or blocked.
    pub layer_kind: Kind,
    /// The layers, oldest first; at least one.
    pub layers: Vec<ContainerLayer>,
}

/// One layer of a scalable filter's block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerLayer {
    /// The header that the layer would have as a block of its own; never that of an empty block.
    pub header: Header,
    /// Where the layer's lines are among those of the container's body.
    pub lines: Range<usize>,
}

/// Lines of the directory of `layers` layers.
const fn directory_lines(layers: usize) -> usize {
    (LAYERS_AT + layers * HEADER_BYTES).div_ceil(LINE_BYTES)
}

impl Container {
    /// Bytes of header and directory, before the lines of `layers` layers.
    #[must_use]
    pub(crate) const fn prefix_bytes(layers: usize) -> usize {
        HEADER_BYTES + directory_lines(layers) * LINE_BYTES
    }

    /// The header and the directory of a block whose layers have these headers, oldest first, 1 to
    /// [`MAX_LAYERS`](ScalableParams::MAX_LAYERS) of them.
    pub(crate) fn encode_prefix(
        params: ScalableParams,
        layer_kind: Kind,
        hasher: HasherIdentity,
        layers: &[Header],
    ) -> Vec<u8> {
        let mut directory = vec![0; directory_lines(layers.len()) * LINE_BYTES];
        directory[FIRST_CAPACITY_AT..FPP_AT].copy_from_slice(&params.first_capacity().to_le_bytes());
        directory[FPP_AT..TIGHTENING_AT].copy_from_slice(&params.fpp().to_le_bytes());
        directory[TIGHTENING_AT..GROWTH_AT].copy_from_slice(&params.tightening().to_le_bytes());
        directory[GROWTH_AT] = params.growth();
        directory[LAYER_KIND_AT] = layer_kind.id();
        for (place, layer) in directory[LAYERS_AT..].chunks_exact_mut(HEADER_BYTES).zip(layers) {
            place.copy_from_slice(&layer.encode());
        }
        let crc = directory_crc(&directory);
        directory[CRC_AT..LAYERS_AT].copy_from_slice(&crc.to_le_bytes());

        let mut body_crc = crc32fast::Hasher::new();
        body_crc.update(&directory);
        let mut bits = directory.len() as u64 * 8;
        let mut count = 0_u64;
        for layer in layers {
            body_crc.combine(&layer_crc(layer));
            bits += layer.body_bytes() * 8;
            count = count.saturating_add(layer.count);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most MAX_LAYERS, a u8")]
        let probes = layers.len() as u8;
        let header =
            Header { kind: Kind::Scalable, probes, bits, count, hasher, body_crc: body_crc.finalize() };
        [&header.encode()[..], &directory].concat()
    }

    /// Reads and checks the directory at the start of `body`, the lines after `header`, which is that of a
    /// scalable filter's block with layers. The layers' lines are not looked at.
    ///
    /// # Errors
    /// In the order of the checks: what [`Header::shape`] finds, [`FormatError::WrongKind`],
    /// [`FormatError::Length`], [`FormatError::DirectoryChecksum`], [`FormatError::Reserved`], [`FormatError::Parameters`],
    /// [`FormatError::UnknownKind`] or [`FormatError::LayerKind`]; [`FormatError::Layer`] with what is wrong
    /// with a layer's header, or [`FormatError::LayerDiffers`] from the container; then
    /// [`FormatError::Length`] and [`FormatError::Count`] for the sums over the layers.
    pub fn decode(header: &Header, body: &[LineBytes]) -> Result<Self, FormatError> {
        if header.shape()? != Shape::Scalable {
            return Err(FormatError::WrongKind { expected: Kind::Scalable, got: header.kind });
        }
        let count = usize::from(header.probes);
        let Some((first, rest)) = body.get(..directory_lines(count)).and_then(<[_]>::split_first) else {
            return Err(body_length(directory_lines(count) as u64, body));
        };
        let directory = body[..directory_lines(count)].as_flattened();
        let (expected, got) = (u32::from_le_bytes(field(first, CRC_AT)), directory_crc(directory));
        if expected != got {
            return Err(FormatError::DirectoryChecksum { expected, got });
        }
        let (headers, padding) = rest.as_flattened().split_at(count * HEADER_BYTES);
        if let Some(&got) = first[RESERVED_AT..CRC_AT].iter().chain(padding).find(|&&byte| byte != 0) {
            return Err(FormatError::Reserved { field: "directory", got: got.into() });
        }
        let params = ScalableParams::new(
            u64::from_le_bytes(field(first, FIRST_CAPACITY_AT)),
            f64::from_le_bytes(field(first, FPP_AT)),
        )
        .and_then(|params| params.with_tightening(f64::from_le_bytes(field(first, TIGHTENING_AT))))
        .and_then(|params| params.with_growth(first[GROWTH_AT]))
        .map_err(|source| FormatError::Parameters { kind: Kind::Scalable, source })?;
        let layer_kind = Kind::from_id(first[LAYER_KIND_AT])?;
        if !matches!(layer_kind, Kind::Classic | Kind::Blocked) {
            return Err(FormatError::LayerKind { got: layer_kind });
        }

        let mut layers = Vec::with_capacity(count);
        let (mut at, mut keys) = (directory_lines(count) as u64, 0_u64);
        for (index, bytes) in (0..).zip(headers.chunks_exact(HEADER_BYTES)) {
            let layer = decode_layer(bytes, index, header, layer_kind)?;
            // Sums that can't overflow: at most 64 layers of at most 2⁵⁵ lines.
            let end = at + layer.body_bytes() / LINE_BYTES as u64;
            keys = keys.saturating_add(layer.count);
            let lines = usize::try_from(at).ok().zip(usize::try_from(end).ok());
            let Some((start, stop)) = lines.filter(|&(_, stop)| stop <= body.len()) else {
                return Err(body_length(end, body));
            };
            layers.push(ContainerLayer { header: layer, lines: start..stop });
            at = end;
        }
        if at != body.len() as u64 {
            return Err(body_length(at, body));
        }
        // Every writer gives a layer more bits than keys. A layer that has fewer would let a small block make the next
        // layer as large as it likes.
        for (index, ContainerLayer { header: layer, .. }) in (0..).zip(&layers) {
            let (capacity, bits) = (params.layer_capacity(index), layer.bits);
            if capacity > bits {
                return Err(FormatError::LayerTooSmall { layer: index, capacity, bits });
            }
        }
        if keys != header.count {
            return Err(FormatError::Count { expected: keys, got: header.count });
        }
        Ok(Self { params, layer_kind, layers })
    }

    /// Checks the lines of every layer against the CRC of its header, and all of `body` against the CRC of the
    /// container's `header`, reading each byte once. Header and body are those that [`decode`](Self::decode) was
    /// given; of others they would be damaged.
    ///
    /// # Errors
    /// [`FormatError::Layer`] with what is wrong with a layer's lines; [`FormatError::BodyChecksum`].
    pub fn verify(&self, header: &Header, body: &[LineBytes]) -> Result<(), FormatError> {
        let mut crc = crc32fast::Hasher::new();
        crc.update(body.get(..directory_lines(self.layers.len())).unwrap_or_default().as_flattened());
        for (index, layer) in (0..).zip(&self.layers) {
            verify_body(&layer.header, body.get(layer.lines.clone()).unwrap_or_default())
                .map_err(|source| FormatError::Layer { layer: index, source: Box::new(source) })?;
            crc.combine(&layer_crc(&layer.header));
        }
        let got = crc.finalize();
        if got != header.body_crc {
            return Err(FormatError::BodyChecksum { expected: header.body_crc, got });
        }
        Ok(())
    }
}

/// The header of one layer, held against its container's.
fn decode_layer(
    bytes: &[u8],
    index: u8,
    container: &Header,
    layer_kind: Kind,
) -> Result<Header, FormatError> {
    let layer = Header::decode(bytes)
        .map_err(|source| FormatError::Layer { layer: index, source: Box::new(source) })?;
    let pairs = [
        ("kind", u64::from(layer_kind.id()), u64::from(layer.kind.id())),
        ("hasher id", container.hasher.id.get().into(), layer.hasher.id.get().into()),
        ("seed", container.hasher.seed, layer.hasher.seed),
        ("hasher check", container.hasher.check.into(), layer.hasher.check.into()),
    ];
    if let Some(&(field, expected, got)) = pairs.iter().find(|(_, expected, got)| expected != got) {
        return Err(FormatError::LayerDiffers { layer: index, field, expected, got });
    }
    if layer.bits == 0 {
        return Err(FormatError::EmptyLayer { layer: index });
    }
    Ok(layer)
}

/// The CRC of a directory, which its own field has no part in.
fn directory_crc(directory: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&directory[..CRC_AT]);
    crc.update(&directory[LAYERS_AT..]);
    crc.finalize()
}

/// The CRC of a layer's lines, to be combined with what comes before them.
fn layer_crc(layer: &Header) -> crc32fast::Hasher {
    crc32fast::Hasher::new_with_initial_len(layer.body_crc, layer.body_bytes())
}

/// The error for a body that the directory says has `lines` lines.
fn body_length(lines: u64, body: &[LineBytes]) -> FormatError {
    let block_bytes = |lines: u64| lines.saturating_mul(LINE_BITS / 8).saturating_add(HEADER_BYTES as u64);
    FormatError::Length { expected: block_bytes(lines), got: block_bytes(body.len() as u64) }
}

/// The `N` bytes at `at`, a constant that leaves room for them in the line.
fn field<const N: usize>(line: &LineBytes, at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&line[at..at + N]);
    field
}
