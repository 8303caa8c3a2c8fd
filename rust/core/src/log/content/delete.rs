//! Content of a delete block (`HoodieDeleteBlock`): log block version, byte length, then by version
//!
//! | version | written by | bytes |
//! |---|---|---|
//! | 1, 2 | 0.9 to 0.13 | Kryo |
//! | others | 0.14 and later | one Avro datum `HoodieDeleteRecordList` |
//!
//! The Avro datum is an array of (record key, partition path, ordering value), each nullable; the ordering value is a
//! union of records with one field, so that the union's index is followed at once by the value:
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

use super::avro_data::head;
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// The scale of every decimal in a delete block.
pub const DECIMAL_SCALE: i8 = 15;

/// One deleted key. Texts are ranges of the content, so that keys need not be copied.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The record key.
    pub key: Option<Range<u32>>,
    /// The partition path.
    pub partition: Option<Range<u32>>,
    /// What it was ordered by.
    pub ordering: Ordering,
}

/// An ordering value, as the block has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ordering {
    /// Null: unordered.
    None,
    /// A boolean.
    Boolean(bool),
    /// An int; 0 means unordered.
    Int(i32),
    /// A long.
    Long(i64),
    /// A float.
    Float(f32),
    /// A double.
    Double(f64),
    /// Bytes, a range of the content.
    Bytes(Range<u32>),
    /// Text, a range of the content.
    Text(Range<u32>),
    /// Days since the epoch.
    Date(i32),
    /// Unscaled, at [`DECIMAL_SCALE`].
    Decimal(i128),
    /// Microseconds of the day.
    TimeMicros(i64),
    /// Microseconds since the epoch.
    TimestampMicros(i64),
    /// Of several ordering fields.
    Array(Vec<Ordering>),
}

/// The deleted keys of a block, in their order.
pub fn deleted(content: &[u8]) -> Result<Vec<Deleted>> {
    let (version, len) = head(content)?;
    if version == 1 || version == 2 {
        return Err(Error::unsupported(format!(
            "a delete block of version {version} (written by Hudi 0.{}); this release reads version 3, of Hudi 0.14 and later",
            if version == 1 { "9 or 0.10" } else { "11 to 0.13" }
        ))
        .at_offset(0));
    }
    let Some(data) = usize::try_from(len).ok().and_then(|len| content.get(8..)?.get(..len)) else {
        let left = content.len().saturating_sub(8);
        return Err(Error::corrupt(format!("deleted keys of {len} bytes where {left} are left")).at_offset(4));
    };
    if u32::try_from(content.len()).is_err() {
        return Err(Error::corrupt("a content of 4 GiB or more, which no Hudi release writes").at_offset(0));
    }
    list(&mut Cursor::new(data)).map_err(|error| error.offset_from(8))
}

fn list(cursor: &mut Cursor<'_>) -> Result<Vec<Deleted>> {
    let mut all = Vec::new();
    items(cursor, |cursor| {
        let key = text(cursor)?;
        let partition = text(cursor)?;
        let ordering = ordering(cursor, Level::Top)?;
        all.push(Deleted { key, partition, ordering });
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
        // Each item takes a byte at least.
        if count.unsigned_abs() > cursor.remaining() as u64 {
            let left = cursor.remaining();
            return Err(Error::corrupt(format!("an array of {count} items where {left} bytes are left")).at_offset(at));
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

/// A length and that many bytes: their range in the content, which begins eight bytes before the data.
fn bytes(cursor: &mut Cursor<'_>) -> Result<Range<u32>> {
    let at = cursor.position() as u64;
    let len = cursor.varint()?;
    let Ok(len) = usize::try_from(len) else {
        return Err(Error::corrupt(format!("a length of {len}")).at_offset(at));
    };
    let start = cursor.position();
    cursor.skip(len)?;
    let place = |at: usize| u32::try_from(at + 8).map_err(|_| Error::corrupt("a content of 4 GiB or more"));
    Ok(place(start)?..place(start + len)?)
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Top,
    Inside,
}

fn ordering(cursor: &mut Cursor<'_>, level: Level) -> Result<Ordering> {
    Ok(match (cursor.varint()?, level) {
        (0, _) => Ordering::None,
        (1, _) => Ordering::Boolean(cursor.u8()? != 0),
        (2, _) => Ordering::Int(int(cursor)?),
        (3, _) => Ordering::Long(cursor.varint()?),
        (4, _) => Ordering::Float(f32::from_le_bytes(cursor.array()?)),
        (5, _) => Ordering::Double(f64::from_le_bytes(cursor.array()?)),
        (6, _) => Ordering::Bytes(bytes(cursor)?),
        (7, _) => Ordering::Text(bytes(cursor)?),
        (8, _) | (12, Level::Inside) => Ordering::Date(int(cursor)?),
        (9, _) => Ordering::Decimal(decimal(cursor)?),
        (10, _) => Ordering::TimeMicros(cursor.varint()?),
        (11, _) => Ordering::TimestampMicros(cursor.varint()?),
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
            Ordering::Array(values)
        }
        (other, _) => return Err(bad_index(cursor, other)),
    })
}

fn int(cursor: &mut Cursor<'_>) -> Result<i32> {
    let at = cursor.position() as u64;
    let value = cursor.varint()?;
    i32::try_from(value).map_err(|_| Error::corrupt(format!("an int of {value}")).at_offset(at))
}

fn decimal(cursor: &mut Cursor<'_>) -> Result<i128> {
    let at = cursor.position() as u64;
    let len = cursor.varint()?;
    let digits = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    if digits.len() > 16 {
        return Err(Error::corrupt(format!("a decimal of {len} bytes")).at_offset(at));
    }
    let negative = digits.first().is_some_and(|byte| byte & 0x80 != 0);
    Ok(digits.iter().fold(if negative { -1 } else { 0 }, |value, byte| (value << 8) | i128::from(*byte)))
}

fn bad_index(cursor: &Cursor<'_>, index: i64) -> Error {
    Error::corrupt(format!("a union of a deleted key has no member {index}")).at_offset(cursor.position() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (a,p,Int 0) (b,p,Long 7) (c,p,"s") (d,p,null), as Hudi 1.2.0 writes it.
    const REAL: [u8; 42] = [
        0, 0, 0, 3, 0, 0, 0, 0x22, 8, 2, 2, 0x61, 2, 2, 0x70, 4, 0, 2, 2, 0x62, 2, 2, 0x70, 6, 0x0e, 2, 2, 0x63, 2, 2,
        0x70, 0x0e, 2, 0x73, 2, 2, 0x64, 2, 2, 0x70, 0, 0,
    ];

    fn key(one: &Deleted) -> &'static str {
        let range = one.key.clone().unwrap();
        std::str::from_utf8(&REAL[range.start as usize..range.end as usize]).unwrap()
    }

    #[test]
    fn reads_what_hudi_writes() {
        let all = deleted(&REAL).unwrap();
        assert_eq!(all.iter().map(key).collect::<String>(), "abcd");
        let found: Vec<_> = all.into_iter().map(|one| one.ordering).collect();
        assert_eq!(found, [Ordering::Int(0), Ordering::Long(7), Ordering::Text(33..34), Ordering::None]);
    }

    #[test]
    fn several_ordering_values_and_decimals() {
        // (1, "x") and a decimal of -1.
        let data = [4, 0, 0, 0x18, 2, 4, 4, 2, 0x0e, 2, 0x78, 0, 0, 0, 0x12, 2, 0xff, 0];
        let mut content = vec![0, 0, 0, 3, 0, 0, 0, u8::try_from(data.len()).unwrap()];
        content.extend(data);
        let all = deleted(&content).unwrap();
        assert_eq!(all[0].ordering, Ordering::Array(vec![Ordering::Int(1), Ordering::Text(18..19)]));
        assert_eq!(all[1].ordering, Ordering::Decimal(-1));
    }

    #[test]
    fn every_truncation_and_every_flip_is_survived() {
        for len in 0..REAL.len() {
            assert!(deleted(&REAL[..len]).is_err(), "{len}");
        }
        for at in 0..REAL.len() {
            for bit in 0..8 {
                let mut bytes = REAL;
                bytes[at] ^= 1 << bit;
                let _ = deleted(&bytes);
            }
        }
    }

    #[test]
    fn kryo_versions_are_refused_by_name() {
        let error = deleted(&[0, 0, 0, 2, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(error.kind(), crate::Kind::Unsupported);
        assert!(error.to_string().contains("0.11 to 0.13"));
    }
}
