//! A block: its header, its payload compressed with gzip, and room for checksums, which are not computed.

use mortice_base::error::{Error, Result};
use mortice_base::gzip::GzipCompressor;

const HEADER: usize = 33;
const NO_PREVIOUS_BLOCK: i64 = -1;
const NO_CHECKSUM: u8 = 0;
const BYTES_PER_CHECKSUM: i32 = 16 * 1024;
/// [`BYTES_PER_CHECKSUM`] as a length.
const CHUNK: usize = 16 * 1024;
/// Bytes of one checksum.
const CHECKSUM: usize = 4;

pub(super) const DATA: &[u8; 8] = b"DATABLK*";
pub(super) const META: &[u8; 8] = b"METABLKc";
pub(super) const ROOT_INDEX: &[u8; 8] = b"IDXROOT2";
pub(super) const FILE_INFO: &[u8; 8] = b"FILEINF2";

/// Appends a block. `previous` is the offset of the data block before, if this is a data block and there is one.
/// Returns the bytes that were appended.
pub(super) fn append_block(
    out: &mut Vec<u8>,
    compressor: &mut GzipCompressor,
    magic: &[u8; 8],
    payload: &[u8],
    previous: Option<u64>,
) -> Result<usize> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    compressor.compress(payload, out)?;
    let without_checksums = out.len().saturating_sub(start);
    out.resize(out.len().saturating_add(checksum_bytes(without_checksums)), 0);
    let length = out.len().saturating_sub(start);
    let size = |bytes: usize| {
        i32::try_from(bytes)
            .map_err(|_| Error::invalid_argument(format!("an HFile block of {bytes} bytes: at most 2 GiB")))
    };
    let previous = previous.map_or(Ok(NO_PREVIOUS_BLOCK), i64::try_from);
    let previous = previous.map_err(|_| Error::invalid_argument("an HFile of more than 8 EiB"))?;
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(magic);
    header.extend(size(length.saturating_sub(HEADER))?.to_be_bytes());
    header.extend(size(payload.len())?.to_be_bytes());
    header.extend(previous.to_be_bytes());
    header.push(NO_CHECKSUM);
    header.extend(BYTES_PER_CHECKSUM.to_be_bytes());
    header.extend(size(without_checksums)?.to_be_bytes());
    let place = out.get_mut(start..start.saturating_add(HEADER));
    place.ok_or_else(|| Error::internal("an HFile block without its header"))?.copy_from_slice(&header);
    Ok(length)
}

/// Bytes of the checksums after a block of `len` bytes, its header included: one for each 16 KiB begun. Hudi's writer
/// leaves this room, filled with zeros, though its files have no checksums (`HFileBlock.serialize`). Readers calculate
/// it again from the length of the whole block, checksums included, and take it off the payload (hudi-rs), so that it
/// has to be enough for that length: where the checksums themselves begin another 16 KiB, there is one more than Hudi
/// has.
fn checksum_bytes(len: usize) -> usize {
    let mut room = 0_usize;
    loop {
        let needed = len.saturating_add(room).div_ceil(CHUNK).saturating_mul(CHECKSUM);
        if needed <= room {
            return room;
        }
        room = needed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two lengths of a header, and the bytes of the checksums after the block.
    fn frame_of(payload: &[u8]) -> (usize, usize, usize) {
        let mut out = Vec::new();
        append_block(&mut out, &mut GzipCompressor::new(), DATA, payload, None).unwrap();
        let int = |at: usize| usize::try_from(i32::from_be_bytes(out[at..at + 4].try_into().unwrap())).unwrap();
        (int(8) + HEADER, int(29), out.len() - int(29))
    }

    #[test]
    fn room_for_a_checksum_follows_a_block() {
        let (whole, without, checksums) = frame_of(b"a few bytes");
        assert_eq!(checksums, 4);
        assert_eq!(whole, without + 4);
    }

    #[test]
    fn a_long_block_has_room_for_a_checksum_of_each_16_kib() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .take(60_000)
        .collect();
        let (whole, without, checksums) = frame_of(&noise);
        assert!(without > 49_152);
        assert_eq!(checksums, 16);
        assert_eq!(whole, without + 16);
    }

    #[test]
    fn the_room_is_what_a_reader_calculates_from_the_whole_block() {
        for len in (0..100_000).chain([16_384 * 5_000 - 3]) {
            let room = checksum_bytes(len);
            assert_eq!(room, (len + room).div_ceil(CHUNK) * CHECKSUM, "{len}");
        }
    }
}
