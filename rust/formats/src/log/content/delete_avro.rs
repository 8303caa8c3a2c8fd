//! Deleted keys of version 3: one Avro datum `HoodieDeleteRecordList`, without its schema.
//!
//! It is an array of (record key, partition path, ordering value), all nullable. The ordering value is a union of
//! records with one field each, so the value directly follows the union's index:
//!
//! | index | value | | index | value |
//! |---|---|---|---|---|
//! | 0 | null | | 7 | string |
//! | 1 | boolean | | 8 | date: int days |
//! | 2 | int | | 9 | decimal: bytes, unscaled, always scale 15 |
//! | 3 | long | | 10 | time-micros: long |
//! | 4, 5 | float, double | | 11 | timestamp-micros: long |
//! | 6 | bytes | | 12 | array of these (inside it, 12 is a date) |

use std::ops::Range;

use super::deleted::{DeletedKey, StoredOrdering, twos_complement};
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// The scale of all decimals, fixed in readers and writers.
pub const DECIMAL_SCALE: i8 = 15;

/// The offset of the list in a block's content.
const BEGINS: usize = 8;

/// Returns the keys of a list. Strings are ranges of a content in which the list begins at [`BEGINS`].
pub(super) fn list(data: &[u8]) -> Result<Vec<DeletedKey>> {
    let cursor = &mut Cursor::new(data);
    let mut all = Vec::new();
    items(cursor, |cursor| {
        let key = text(cursor)?;
        let partition = text(cursor)?;
        let ordering = ordering(cursor, Level::Top)?;
        all.push(DeletedKey { key, partition, ordering });
        Ok(())
    })?;
    Ok(all)
}

/// Avro array items: blocks of a count (negative: followed by the block's byte size), ended by a zero.
fn items(cursor: &mut Cursor<'_>, mut one: impl FnMut(&mut Cursor<'_>) -> Result<()>) -> Result<()> {
    loop {
        let at = cursor.position() as u64;
        let count = cursor.varint()?;
        if count == 0 {
            return Ok(());
        }
        if count < 0 {
            cursor.varint()?;
        }
        // Each item takes at least one byte.
        if count.unsigned_abs() > cursor.remaining() as u64 {
            let left = cursor.remaining();
            return Err(Error::corrupt(format!(
                "unexpected end of data: array has {count} items, only {left} bytes remain"
            ))
            .at_offset(at));
        }
        for _ in 0..count.unsigned_abs() {
            one(cursor)?;
        }
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<Option<Range<u32>>> {
    match cursor.varint()? {
        0 => Ok(None),
        1 => bytes(cursor).map(Some),
        other => Err(bad_index(cursor, other)),
    }
}

/// Reads a length and that many bytes; returns their range in the content, which begins eight bytes before the data.
fn bytes(cursor: &mut Cursor<'_>) -> Result<Range<u32>> {
    let at = cursor.position() as u64;
    let len = cursor.varint()?;
    let Ok(len) = usize::try_from(len) else {
        return Err(Error::corrupt(format!("invalid length {len}")).at_offset(at));
    };
    let start = cursor.position();
    cursor.skip(len)?;
    let place = |at: usize| u32::try_from(at + BEGINS).map_err(|_| Error::corrupt("invalid content: 4 GiB or more"));
    Ok(place(start)?..place(start + len)?)
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Top,
    Inside,
}

fn ordering(cursor: &mut Cursor<'_>, level: Level) -> Result<StoredOrdering> {
    Ok(match (cursor.varint()?, level) {
        (0, _) => StoredOrdering::None,
        (1, _) => StoredOrdering::Boolean(cursor.u8()? == 1),
        (2, _) => StoredOrdering::Int(int(cursor)?),
        (3, _) => StoredOrdering::Long(cursor.varint()?),
        (4, _) => StoredOrdering::Float(f32::from_le_bytes(cursor.array()?)),
        (5, _) => StoredOrdering::Double(f64::from_le_bytes(cursor.array()?)),
        (6, _) => StoredOrdering::Bytes(bytes(cursor)?),
        (7, _) => StoredOrdering::Text(bytes(cursor)?),
        (8, _) | (12, Level::Inside) => StoredOrdering::Date(int(cursor)?),
        (9, _) => StoredOrdering::Decimal { unscaled: decimal(cursor)?, scale: i32::from(DECIMAL_SCALE) },
        (10, _) => StoredOrdering::TimeMicros(cursor.varint()?),
        (11, _) => StoredOrdering::TimestampMicros(cursor.varint()?),
        (12, Level::Top) => {
            let mut values = Vec::new();
            match cursor.varint()? {
                0 => {}
                1 => items(cursor, |cursor| {
                    values.push(ordering(cursor, Level::Inside)?);
                    Ok(())
                })?,
                other => return Err(bad_index(cursor, other)),
            }
            StoredOrdering::Array(values)
        }
        (other, _) => return Err(bad_index(cursor, other)),
    })
}

fn int(cursor: &mut Cursor<'_>) -> Result<i32> {
    let at = cursor.position() as u64;
    let value = cursor.varint()?;
    i32::try_from(value).map_err(|_| Error::corrupt(format!("{value} does not fit in an int")).at_offset(at))
}

/// Hudi's schema has 30 digits, which take 13 bytes; Java rejects numbers without bytes.
fn decimal(cursor: &mut Cursor<'_>) -> Result<i128> {
    let at = cursor.position() as u64;
    let len = cursor.varint()?;
    let digits = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    twos_complement(digits)
        .ok_or_else(|| Error::corrupt(format!("invalid decimal: {len} bytes (expected 1 to 16)")).at_offset(at))
}

fn bad_index(cursor: &Cursor<'_>, index: i64) -> Error {
    Error::corrupt(format!("invalid union in a deleted key: it has no branch {index}"))
        .at_offset(cursor.position() as u64)
}
