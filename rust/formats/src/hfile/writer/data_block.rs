//! Cells of a data block: keys with an empty column, the latest timestamp and the type put, and their values.

use mortice_base::error::{Error, Result};

/// What a cell has beside its key and its value: two lengths, and the sequence number at the end.
const AROUND_CELL: usize = 4 + 4 + 1;
/// What a stored key has around it: its length, an empty column family, the timestamp and the type.
const AROUND_KEY: usize = 2 + 1 + 8 + 1;
/// The length of a key is a Java short.
const MAX_KEY: usize = i16::MAX as usize;
/// The timestamp of all cells (`HConstants.LATEST_TIMESTAMP`).
const TIMESTAMP: i64 = i64::MAX;
const NO_FAMILY: u8 = 0;
const PUT: u8 = 4;
const SEQUENCE: u8 = 0;

/// Bytes of a cell.
pub(super) fn cell_len(key: &[u8], value: &[u8]) -> usize {
    key.len().saturating_add(value.len()).saturating_add(AROUND_CELL + AROUND_KEY)
}

/// Appends a cell.
pub(super) fn append_cell(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> Result<()> {
    let stored = stored_key(key)?;
    let key_len = stored.len().saturating_add(AROUND_KEY - 2);
    for (len, what) in [(key_len, "key"), (value.len(), "value")] {
        let len = i32::try_from(len).map_err(|_| {
            Error::invalid_argument(format!("an HFile cell with a {what} of {len} bytes: at most 2 GiB"))
        })?;
        out.extend(len.to_be_bytes());
    }
    out.extend(stored);
    out.push(NO_FAMILY);
    out.extend(TIMESTAMP.to_be_bytes());
    out.push(PUT);
    out.extend_from_slice(value);
    out.push(SEQUENCE);
    Ok(())
}

/// A key behind its length, as the index and the file info have it.
pub(super) fn stored_key(key: &[u8]) -> Result<Vec<u8>> {
    let len = i16::try_from(key.len()).map_err(|_| {
        Error::invalid_argument(format!(
            "the metadata table cannot store a key of {} bytes: at most {MAX_KEY}",
            key.len()
        ))
    })?;
    Ok([&len.to_be_bytes()[..], key].concat())
}
