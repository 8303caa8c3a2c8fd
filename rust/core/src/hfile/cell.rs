//! The cells of a data block's payload, one after the other to its end:
//!
//! ```text
//! key length 4 · value length 4 · key · value · sequence number (Hadoop's vint)
//! key: row length 2 · row · family length 1 · family and qualifier (empty) · timestamp 8 · type 1 (4, a put)
//! ```

use std::ops::Range;

use bytes::Bytes;

use super::key::{row_len, vint};
use crate::cursor::Cursor;
use crate::error::{Error, Result};

const PUT: u8 = 4;
/// The fewest bytes that a cell takes: two lengths, a key of an empty row, a sequence number.
pub(super) const LEAST: u64 = 21;
/// Bytes of a key beside its row.
const KEY_EXTRAS: usize = 12;

/// A data block's payload and the cells in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// The payload, unpacked.
    pub payload: Bytes,
    /// The cells, in key order.
    pub cells: Vec<Cell>,
}

/// A key and its value, as ranges of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The row: what Hudi calls the key.
    pub key: Range<u32>,
    /// The value.
    pub value: Range<u32>,
}

impl Cells {
    /// All cells of a payload. Offsets of errors are the payload's.
    pub(super) fn parse(payload: Bytes) -> Result<Self> {
        if u32::try_from(payload.len()).is_err() {
            return Err(Error::corrupt("an HFile block of 4 GiB or more"));
        }
        let mut cursor = Cursor::new(&payload);
        let mut cells = Vec::new();
        while cursor.remaining() > 0 {
            let at = cursor.position() as u64;
            cells.push(cell(&mut cursor).map_err(|error| error.at_offset(at))?);
        }
        Ok(Self { payload: payload.clone(), cells })
    }

    /// The key of a cell.
    #[must_use]
    pub fn key(&self, cell: &Cell) -> &[u8] {
        self.payload.get(cell.key.start as usize..cell.key.end as usize).unwrap_or_default()
    }

    /// The value of a cell.
    #[must_use]
    pub fn value(&self, cell: &Cell) -> &[u8] {
        self.payload.get(cell.value.start as usize..cell.value.end as usize).unwrap_or_default()
    }
}

fn cell(cursor: &mut Cursor<'_>) -> Result<Cell> {
    let (key_len, value_len) = (length(cursor.i32_be()?)?, length(cursor.i32_be()?)?);
    let mut key = Cursor::new(cursor.take(key_len)?);
    let key_at = cursor.position() - key_len;
    let row_len = row_len(u16::from_be_bytes(key.array()?), key_len, &[KEY_EXTRAS]);
    let row_at = key_at + key.position();
    key.skip(row_len)?;
    if key_len < row_len + KEY_EXTRAS {
        return Err(Error::corrupt(format!("a key of {key_len} bytes for a row of {row_len} in an HFile")));
    }
    let kind = key.rest().last().copied().unwrap_or_default();
    if kind != PUT {
        return Err(Error::unsupported(format!("an HFile cell of type {kind}; Hudi writes puts (4) alone")));
    }
    let value_at = cursor.position();
    cursor.skip(value_len)?;
    vint(cursor)?;
    Ok(Cell { key: range(row_at, row_len)?, value: range(value_at, value_len)? })
}

fn length(len: i32) -> Result<usize> {
    usize::try_from(len).map_err(|_| Error::corrupt(format!("a length of {len} in an HFile cell")))
}

fn range(at: usize, len: usize) -> Result<Range<u32>> {
    let place = |at: usize| u32::try_from(at).map_err(|_| Error::corrupt("an HFile block of 4 GiB or more"));
    Ok(place(at)?..place(at + len)?)
}
