//! Fields of a protocol buffer message, in their order.

use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message that a varint length stands before, and how many bytes both take.
pub(super) fn delimited(bytes: &[u8]) -> Result<(&[u8], usize)> {
    let mut cursor = Cursor::new(bytes);
    let len = cursor.uvarint()?;
    let message = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    Ok((message, cursor.position()))
}

/// (Number, value) of each field.
pub(super) fn fields(message: &[u8]) -> Result<Vec<(u64, Value<'_>)>> {
    let mut cursor = Cursor::new(message);
    let mut fields = Vec::new();
    while cursor.remaining() > 0 {
        let at = cursor.position() as u64;
        let tag = cursor.uvarint()?;
        let value = match tag & 7 {
            0 => Value::Number(cursor.uvarint()?),
            1 => Value::Number(u64::from_le_bytes(cursor.array()?)),
            2 => {
                let len = cursor.uvarint()?;
                Value::Bytes(cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?)
            }
            5 => Value::Number(u64::from(u32::from_le_bytes(cursor.array()?))),
            other => return Err(Error::corrupt(format!("a protobuf field of wire type {other}")).at_offset(at)),
        };
        fields.push((tag >> 3, value));
    }
    Ok(fields)
}
