//! One block: a header of 33 bytes, a payload, checksums.
//!
//! | field | bytes |
//! |---|---|
//! | magic, by the kind of block | 8 |
//! | size on disk, checksums included, header not | 4 |
//! | size unpacked | 4 |
//! | offset of the previous block of the kind | 8 |
//! | checksum type, bytes to a checksum | 1, 4 |
//! | size on disk of header and payload | 4 |
//!
//! Checksums are not verified; no reader of Hudi does, and Hudi's own writer omits them.

use std::io::Read as _;
use std::ops::Range;

use bytes::Bytes;
use flate2::read::GzDecoder;

use super::trailer::Codec;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::storage::Source;

/// The size of the header.
pub(super) const HEADER: u64 = 33;

/// The most that deflate makes of a byte, and room for small blocks.
pub(super) const MOST_INFLATION: u64 = 1032;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Data,
    RootIndex,
    LeafIndex,
    IntermediateIndex,
    FileInfo,
}

impl BlockKind {
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::RootIndex => b"IDXROOT2",
            Self::LeafIndex => b"IDXLEAF2",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::FileInfo => b"FILEINF2",
        }
    }
}

/// The unpacked payload of the block that begins at `place` and ends within it, which is of one of these kinds; and which.
pub(super) fn read(
    source: &dyn Source,
    place: Range<u64>,
    kinds: &[BlockKind],
    codec: Codec,
) -> Result<(Bytes, BlockKind)> {
    let at = place.start;
    payload(source, place, kinds, codec).map_err(|error| error.at_offset(at))
}

fn payload(source: &dyn Source, place: Range<u64>, kinds: &[BlockKind], codec: Codec) -> Result<(Bytes, BlockKind)> {
    let at = place.start;
    let left = place.end.min(source.len()).checked_sub(at).and_then(|left| left.checked_sub(HEADER));
    let Some(left) = left else {
        return Err(Error::corrupt("a block of an HFile was expected, no room for its header is left"));
    };
    let header = source.read(at..at + HEADER)?;
    let mut cursor = Cursor::new(&header);
    let magic: [u8; 8] = cursor.array()?;
    let Some(kind) = kinds.iter().copied().find(|kind| *kind.magic() == magic) else {
        return Err(Error::corrupt(format!("an HFile block of kind {kinds:?} was expected, found {magic:02x?}")));
    };
    let on_disk = size(cursor.i32_be()?)?;
    let unpacked = size(cursor.i32_be()?)?;
    cursor.skip(13)?;
    let with_header = size(cursor.i32_be()?)?;
    if on_disk > left {
        return Err(Error::corrupt(format!("an HFile block of {on_disk} bytes where {left} are left")));
    }
    let packed = with_header.checked_sub(HEADER).filter(|packed| *packed <= on_disk);
    let Some(packed) = packed else {
        return Err(Error::corrupt(format!("an HFile block of {with_header} bytes, header included, in {on_disk}")));
    };
    let payload = source.read(at + HEADER..at + HEADER + packed)?;
    Ok((unpack(payload, unpacked, codec)?, kind))
}

fn size(size: i32) -> Result<u64> {
    u64::try_from(size).map_err(|_| Error::corrupt(format!("a size of {size} in the header of an HFile block")))
}

fn unpack(payload: Bytes, unpacked: u64, codec: Codec) -> Result<Bytes> {
    let packed = payload.len() as u64;
    let bytes = match codec {
        Codec::None => payload,
        Codec::Gzip if unpacked > packed.saturating_mul(MOST_INFLATION) => {
            return Err(Error::corrupt(format!(
                "an HFile block of {packed} bytes that claims to unpack to {unpacked}"
            )));
        }
        Codec::Gzip => {
            let mut bytes = Vec::new();
            // One byte more than announced is enough to see that there is more.
            GzDecoder::new(&payload[..])
                .take(unpacked + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| Error::corrupt("an HFile block that cannot be unpacked").caused_by(error))?;
            Bytes::from(bytes)
        }
    };
    if bytes.len() as u64 != unpacked {
        return Err(Error::corrupt(format!("an HFile block of {unpacked} bytes unpacked, found {}", bytes.len())));
    }
    Ok(bytes)
}
