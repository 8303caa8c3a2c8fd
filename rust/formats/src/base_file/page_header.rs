//! The header of a parquet page: a struct of Thrift's compact protocol, of which the fields are read that are needed
//! without the page itself. The parquet crate reads headers with their pages only.

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Structs in a page header: statistics, in the header of a data page.
const MAX_DEPTH: u32 = 8;

/// Which page follows a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Data,
    Dictionary,
    Other,
}

/// What is read of a struct `PageHeader` of parquet.thrift.
#[derive(Debug)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// The bytes of the page after the header.
    pub(super) len: i64,
    /// Those bytes without compression.
    pub(super) decompressed: u64,
    pub(super) checksum: Option<u32>,
    /// Values of the page, nulls among them.
    pub(super) values: u64,
    /// Rows of the page, if the header has them.
    pub(super) rows: Option<u64>,
    /// The encoding of the values, by its number in parquet.thrift.
    pub(super) encoding: i64,
}

/// Reads the header of a page.
pub(super) fn page_header(cursor: &mut Cursor<'_>) -> Result<PageHeader> {
    let (mut id, mut len, mut checksum) = (0, None, None);
    let (mut kind, mut decompressed) = (PageKind::Other, 0);
    let mut values = PageValues::default();
    while let Some(field_type) = field(cursor, &mut id)? {
        match (id, field_type) {
            (1, 5) => {
                kind = match cursor.varint()? {
                    0 | 3 => PageKind::Data,
                    2 => PageKind::Dictionary,
                    _ => PageKind::Other,
                }
            }
            (2, 5) => decompressed = count(cursor)?,
            (3, 5) => len = Some(cursor.varint()?),
            (4, 5) => checksum = i32::try_from(cursor.varint()?).ok().map(i32::cast_unsigned),
            (5 | 7, 12) => values = PageValues::read(cursor, 2, None)?,
            (8, 12) => values = PageValues::read(cursor, 4, Some(3))?,
            _ => skip(cursor, field_type, 0)?,
        }
    }
    let len = len.ok_or_else(|| Error::corrupt("invalid header of a page: its length is missing"))?;
    let PageValues { values, rows, encoding } = values;
    Ok(PageHeader { kind, len, decompressed, checksum, values, rows, encoding })
}

/// What the header of a data page or a dictionary says of its values.
#[derive(Default)]
struct PageValues {
    values: u64,
    rows: Option<u64>,
    encoding: i64,
}

impl PageValues {
    /// Reads the struct of a kind of page, with the ids of two of its fields.
    fn read(cursor: &mut Cursor<'_>, encoding: i64, rows: Option<i64>) -> Result<Self> {
        let (mut id, mut read) = (0, Self::default());
        while let Some(field_type) = field(cursor, &mut id)? {
            match field_type {
                5 if id == 1 => read.values = count(cursor)?,
                5 if id == encoding => read.encoding = cursor.varint()?,
                5 if rows == Some(id) => read.rows = Some(count(cursor)?),
                _ => skip(cursor, field_type, 1)?,
            }
        }
        Ok(read)
    }
}

/// Reads a number that is not negative; 0 for one that is.
fn count(cursor: &mut Cursor<'_>) -> Result<u64> {
    Ok(u64::try_from(cursor.varint()?).unwrap_or_default())
}

/// Reads the head of a field, and returns its type; `None` at the end of a struct.
fn field(cursor: &mut Cursor<'_>, id: &mut i64) -> Result<Option<u8>> {
    let head = cursor.u8()?;
    if head == 0 {
        return Ok(None);
    }
    *id = match head >> 4 {
        0 => cursor.varint()?,
        delta => id.saturating_add(i64::from(delta)),
    };
    Ok(Some(head & 0xF))
}

/// Skips a value of a type of the compact protocol.
fn skip(cursor: &mut Cursor<'_>, field_type: u8, depth: u32) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Error::corrupt("invalid header of a page: it is nested too deeply"));
    }
    match field_type {
        // The value of a boolean field is its type.
        1 | 2 => Ok(()),
        3 => cursor.skip(1),
        4..=6 => cursor.varint().map(|_| ()),
        7 => cursor.skip(8),
        8 => {
            let len = cursor.uvarint()?;
            cursor.skip(usize::try_from(len).unwrap_or(usize::MAX))
        }
        12 => {
            let mut id = 0;
            while let Some(field_type) = field(cursor, &mut id)? {
                skip(cursor, field_type, depth + 1)?;
            }
            Ok(())
        }
        _ => Err(Error::corrupt(format!("invalid header of a page: a field of type {field_type}"))),
    }
}
