//! The footer of a Parquet file.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::Length as _;

use super::source_bytes::SourceBytes;
use crate::avro_parquet::check_footer;

/// Bytes after the footer: its length, and the magic.
const TAIL: u64 = 8;

/// Reads the footer, and compares its checksum if it has one.
pub(super) fn read_footer(bytes: &SourceBytes) -> Result<ParquetMetaData> {
    let (footer, _) = checked_footer(bytes)?;
    ParquetMetaDataReader::decode_metadata(&footer)
}

/// Returns the bytes of the footer, and whether they have a checksum.
pub(super) fn checked_footer(bytes: &SourceBytes) -> Result<(Bytes, bool)> {
    let len = bytes.len();
    let too_small = || ParquetError::EOF(format!("the file of {len} bytes is too small for its footer"));
    let end = len.checked_sub(TAIL).ok_or_else(too_small)?;
    let tail = FooterTail::try_from(bytes.range(end, len)?.as_ref())?;
    if tail.is_encrypted_footer() {
        return Err(ParquetError::General("the footer is encrypted, which is not supported".to_owned()));
    }
    let start = end.checked_sub(tail.metadata_length() as u64).ok_or_else(too_small)?;
    let footer = bytes.range(start, end)?;
    let has_checksum = check_footer(&footer).map_err(|error| bytes.failed(bytes.error(error.at_offset(start))))?;
    Ok((footer, has_checksum))
}
