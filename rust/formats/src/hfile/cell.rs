//! Cells: the keys and values of a decompressed data block.
//!
//! ```text
//! key length: int · value length: int
//! key: row length: short · row · family length: 00 · timestamp: long · kind: byte
//! key: row length: short · row                                                       written by builds of Hudi 1.1
//! value · sequence number: 00
//! ```
//! The row is Hudi's key. Columns (family, qualifier) are empty, all cells are puts, and the sequence number is there
//! where the file info's `KEY_VALUE_VERSION` is 1, and always where Hudi's own writer wrote the file. Hudi's reader
//! looks at nothing in a key but its row. Layout: HBase's `KeyValue`, Hudi's `HFileDataBlock` and `Key`.

use std::ops::Range;

use bytes::Bytes;

use super::index::{KEY_AROUND_ROW, before_and_after, has_low_bits};
use super::key_order::compare;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// The kind of a cell that holds a value (`KeyValue.Type.Put`).
const PUT: u8 = 4;
/// Bytes of the row's length, which a key begins with.
const ROW_LENGTH: usize = 2;

/// The position of a cell in the payload of its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of the key: HBase's row.
    pub key: Range<u32>,
    /// Bytes of the value.
    pub value: Range<u32>,
}

/// A data block: its payload, and all cells or those that were looked for, in the order of their keys.
#[derive(Debug, Clone)]
pub struct Cells {
    /// The decompressed payload. If the block is not compressed, it is a slice of the file.
    pub payload: Bytes,
    /// Places of the cells in the payload.
    pub cells: Vec<Cell>,
}

impl Cells {
    /// The key of a cell of this block.
    #[must_use]
    pub fn key(&self, cell: &Cell) -> &[u8] {
        self.bytes(&cell.key)
    }

    /// The value of a cell of this block.
    #[must_use]
    pub fn value(&self, cell: &Cell) -> &[u8] {
        self.bytes(&cell.value)
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.cells.iter().map(|cell| (self.key(cell), self.value(cell)))
    }

    fn bytes(&self, range: &Range<u32>) -> &[u8] {
        let bytes = self.payload.get(range.start as usize..range.end as usize);
        // Both ends were checked against the payload when the cell was parsed.
        debug_assert!(bytes.is_some(), "bytes {range:?} of a block of {}", self.payload.len());
        bytes.unwrap_or_default()
    }
}

/// What to do with a cell whose key has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellMatch {
    Take,
    Skip,
    /// Neither this cell nor one after it.
    Stop,
}

/// Scans the cells, passes each key to `judge`, and returns the cells that it takes. `from` is the first key by the
/// index.
pub(super) fn scan_cells(
    payload: &[u8],
    has_sequence: bool,
    from: &[u8],
    mut judge: impl FnMut(&[u8]) -> CellMatch,
) -> Result<Vec<Cell>> {
    let mut cursor = Cursor::new(payload);
    let mut cells = Vec::new();
    let mut before = from;
    while cursor.remaining() > 0 {
        let at = cursor.position();
        let (row, value_len) = cell_key(&mut cursor).map_err(|error| error.at_offset(at as u64))?;
        let value_at = cursor.position();
        cursor.skip(value_len)?;
        if has_sequence && cursor.u8()? != 0 {
            let sequence_at = cursor.position() as u64 - 1;
            return Err(Error::corrupt("invalid HFile cell: its sequence number is not 0").at_offset(sequence_at));
        }
        if compare(row, before).is_lt() {
            let message = format!("invalid HFile: keys are out of order: {}", before_and_after(before, row));
            return Err(Error::corrupt(message).at_offset(at as u64));
        }
        before = row;
        match judge(row) {
            CellMatch::Take => cells.push(place(at + 10, row.len(), value_at, value_len)?),
            CellMatch::Skip => {}
            CellMatch::Stop => break,
        }
    }
    Ok(cells)
}

/// The row of the cell at the cursor, which then stands at the value, and the value's length.
fn cell_key<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], usize)> {
    let key_len = length(cursor, "key")?;
    let value_len = length(cursor, "value")?;
    let mut key = Cursor::new(cursor.take(key_len)?);
    let Some(short_row_len) = key_len.checked_sub(ROW_LENGTH) else {
        return Err(Error::corrupt(format!("invalid HFile cell: key of {key_len} bytes (at least {ROW_LENGTH})")));
    };
    let low_bits = u16::from_be_bytes(key.array()?);
    if has_low_bits(short_row_len, low_bits) {
        return Ok((key.take(short_row_len)?, value_len));
    }
    let row_len = key_len.checked_sub(KEY_AROUND_ROW);
    let Some(row_len) = row_len.filter(|row_len| has_low_bits(*row_len, low_bits)) else {
        let message = format!("HFile cell: key of {key_len} bytes with a row of {low_bits}");
        return Err(if row_len.is_some_and(|row_len| usize::from(low_bits) < row_len) {
            Error::unsupported(format!("unsupported {message}: it has a column, which Hudi never writes"))
        } else {
            Error::corrupt(format!("invalid {message}"))
        });
    };
    let row = key.take(row_len)?;
    let family_len = key.u8()?;
    if family_len != 0 {
        return Err(Error::corrupt(format!(
            "invalid HFile cell: column family of {family_len} bytes, which does not fit"
        )));
    }
    key.skip(8)?;
    check_kind(key.u8()?)?;
    Ok((row, value_len))
}

fn length(cursor: &mut Cursor<'_>, what: &str) -> Result<usize> {
    let claimed = cursor.i32_be()?;
    usize::try_from(claimed).map_err(|_| Error::corrupt(format!("invalid HFile cell: {what} of {claimed} bytes")))
}

fn check_kind(kind: u8) -> Result<()> {
    let name = match kind {
        PUT => return Ok(()),
        8 => "Delete",
        10 => "DeleteFamilyVersion",
        12 => "DeleteColumn",
        14 => "DeleteFamily",
        _ => return Err(Error::corrupt(format!("invalid HFile cell: unknown type {kind} (expected {PUT}, put)"))),
    };
    Err(Error::unsupported(format!("unsupported HFile cell of type {name}: Hudi stores deletes in its records")))
}

fn place(key_at: usize, key_len: usize, value_at: usize, value_len: usize) -> Result<Cell> {
    let end = |at: usize, len: usize| at.checked_add(len).and_then(|end| u32::try_from(end).ok());
    match (end(key_at, 0), end(key_at, key_len), end(value_at, 0), end(value_at, value_len)) {
        (Some(key), Some(key_end), Some(value), Some(value_end)) => {
            Ok(Cell { key: key..key_end, value: value..value_end })
        }
        _ => Err(Error::corrupt("invalid HFile data block: more than 4 GiB").at_offset(key_at as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    /// A cell of that kind, with a family if it is to have one.
    fn cell(row: &[u8], family: &[u8], kind: u8, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((row.len() + family.len() + 12) as u32).to_be_bytes().to_vec();
        bytes.extend((value.len() as u32).to_be_bytes());
        bytes.extend((row.len() as u16).to_be_bytes());
        bytes.extend(row);
        bytes.push(family.len() as u8);
        bytes.extend(family);
        bytes.extend(i64::MAX.to_be_bytes());
        bytes.push(kind);
        bytes.extend(value);
        bytes.push(0);
        bytes
    }

    fn all(payload: &[u8]) -> Result<Vec<Cell>> {
        scan_cells(payload, true, b"", |_| CellMatch::Take)
    }

    #[test]
    fn a_cell_as_hudi_writes_it() {
        let bytes =
            b"\x00\x00\x00\x10\x00\x00\x00\x03\x00\x04key0\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04\x00\x02\x00\x00";
        let cells = Cells { payload: Bytes::from_static(bytes), cells: all(bytes).unwrap() };
        assert_eq!(cells.iter().collect::<Vec<_>>(), [(&b"key0"[..], &[0, 2, 0][..])]);
    }

    #[test]
    fn a_key_may_end_with_its_row() {
        let bytes = b"\x00\x00\x00\x06\x00\x00\x00\x03\x00\x04key0\x00\x02\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00v\x00";
        let first = Cells { payload: Bytes::from_static(bytes), cells: all(&bytes[..18]).unwrap() };
        assert_eq!(first.iter().collect::<Vec<_>>(), [(&b"key0"[..], &[0, 2, 0][..])]);
        assert!(all(bytes).is_err(), "an empty key is out of order");
        assert!(all(&bytes[18..]).is_ok());

        let row = vec![b'x'; 70_000];
        let mut long = 70_002_u32.to_be_bytes().to_vec();
        long.extend([0, 0, 0, 1]);
        long.extend((row.len() as u16).to_be_bytes());
        long.extend([&row[..], b"v", &[0]].concat());
        assert_eq!(all(&long).unwrap()[0].key, 10..70_010);
    }

    #[test]
    fn every_cell_to_the_last_byte_is_found() {
        let rows: Vec<String> = (0..5000).map(|row| format!("{row:06}")).collect();
        let payload: Vec<u8> = rows.iter().flat_map(|row| cell(row.as_bytes(), b"", PUT, b"v")).collect();
        assert_eq!(all(&payload).unwrap().len(), rows.len());
    }

    #[test]
    fn without_sequence_numbers_cells_follow_each_other() {
        let with = [cell(b"a", b"", PUT, b"1"), cell(b"b", b"", PUT, b"2")];
        let without: Vec<u8> = with.iter().flat_map(|cell| &cell[..cell.len() - 1]).copied().collect();
        assert_eq!(scan_cells(&without, false, b"", |_| CellMatch::Take).unwrap().len(), 2);
        assert!(all(&without).is_err());
    }

    #[test]
    fn only_what_is_judged_worth_it_is_given() {
        let payload: Vec<u8> = [b"a", b"b", b"c", b"d"].iter().flat_map(|row| cell(*row, b"", PUT, b"v")).collect();
        let judge = |row: &[u8]| match row {
            b"b" => CellMatch::Take,
            b"d" => CellMatch::Stop,
            _ => CellMatch::Skip,
        };
        let cells = Cells { cells: scan_cells(&payload, true, b"", judge).unwrap(), payload: payload.into() };
        assert_eq!(cells.iter().map(|(key, _)| key).collect::<Vec<_>>(), [b"b"]);
    }

    #[test]
    fn rows_longer_than_their_length_can_tell_are_read() {
        let row = vec![b'x'; 70_000];
        let cells = all(&cell(&row, b"", PUT, b"v")).unwrap();
        assert_eq!(cells[0].key, 10..70_010);
    }

    #[test]
    fn deletes_and_columns_are_refused_by_name() {
        for (bytes, name) in [
            (cell(b"a", b"", 8, b""), "Delete"),
            (cell(b"a", b"", 14, b""), "DeleteFamily"),
            (cell(b"a", b"f", PUT, b"v"), "column"),
        ] {
            let error = all(&bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn damage_names_its_place_in_the_payload() {
        let first = cell(b"b", b"", PUT, b"v");
        let damaged = |second: Vec<u8>| {
            let error = all(&[first.clone(), second].concat()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptLog, "{error}");
            assert!(error.location().offset.unwrap() >= first.len() as u64, "{error}");
        };
        damaged(cell(b"a", b"", PUT, b"v"));
        damaged(cell(b"c", b"", 7, b"v"));
        damaged(vec![0; 3]);
        for (at, byte) in [(0, 0xff), (0, 0x7f), (4, 0x80), (4, 0x70), (3, 1), (9, 5), (11, 1)] {
            let mut second = cell(b"c", b"", PUT, b"v");
            second[at] = byte;
            damaged(second);
        }
        let mut with_sequence = cell(b"c", b"", PUT, b"v");
        *with_sequence.last_mut().unwrap() = 1;
        damaged(with_sequence);
        assert!(scan_cells(&first, true, b"c", |_| CellMatch::Take).is_err(), "a key below what the index says");
    }
}
