//! A block: its header, then its payload compressed with gzip; no checksums.

use mortice_base::error::{Error, Result};
use mortice_base::gzip::GzipCompressor;

const HEADER: usize = 33;
const NO_PREVIOUS_BLOCK: i64 = -1;
const NO_CHECKSUM: u8 = 0;
const BYTES_PER_CHECKSUM: i32 = 16 * 1024;

pub(super) const DATA: &[u8; 8] = b"DATABLK*";
pub(super) const META: &[u8; 8] = b"METABLKc";
pub(super) const ROOT_INDEX: &[u8; 8] = b"IDXROOT2";
pub(super) const FILE_INFO: &[u8; 8] = b"FILEINF2";

/// Appends a block. `previous` is the offset of the data block before, if this is a data block and there is one.
/// Returns the bytes that were appended.
///
/// # Errors
/// `InvalidArgument` for a block of 2 GiB or more.
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
    header.extend(size(length)?.to_be_bytes());
    let place = out.get_mut(start..start.saturating_add(HEADER));
    place.ok_or_else(|| Error::internal("an HFile block without its header"))?.copy_from_slice(&header);
    Ok(length)
}
