//! Parses the part of protobuf that HFiles and ORC files need: the fields of one message, in their order.
//!
//! ```text
//! field: number << 3 | wire type, as a varint · value
//! wire types: 0 varint · 1 eight bytes · 2 length, bytes · 5 four bytes
//! ```
//! Layout: protobuf's "Encoding" page. Groups (3, 4) are as old as they are rare: no message of HBase or ORC has one.

use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A varint; negative numbers are those of 64 bits.
    Number(u64),
    /// Bytes, a text or a message.
    Bytes(&'a [u8]),
    /// Eight bytes, a double for one.
    Fixed64([u8; 8]),
    /// Four bytes: none of the fields that are read here.
    Fixed32,
}

/// Hands each field of the message to `take`.
///
/// # Errors
/// `CorruptLog`, with the offset within the message, if it is not a message; and what `take` returns.
pub fn fields<'a>(message: &'a [u8], mut take: impl FnMut(u64, FieldValue<'a>) -> Result<()>) -> Result<()> {
    let mut cursor = Cursor::new(message);
    while cursor.remaining() > 0 {
        let at = cursor.position() as u64;
        let tag = cursor.uvarint()?;
        let value = match tag & 7 {
            0 => FieldValue::Number(cursor.uvarint()?),
            1 => FieldValue::Fixed64(cursor.array()?),
            2 => FieldValue::Bytes(delimited(&mut cursor)?),
            5 => cursor.skip(4).map(|()| FieldValue::Fixed32)?,
            other => {
                return Err(Error::corrupt(format!("invalid protobuf field: unknown wire type {other}")).at_offset(at));
            }
        };
        take(tag >> 3, value).map_err(|error| error.at_offset(at))?;
    }
    Ok(())
}

/// A length and as many bytes.
///
/// # Errors
/// `CorruptLog` where fewer are left.
pub fn delimited<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let at = cursor.position() as u64;
    let len = cursor.uvarint()?;
    let left = cursor.remaining();
    usize::try_from(len)
        .ok()
        .filter(|len| *len <= left)
        .ok_or_else(|| {
            Error::corrupt(format!("unexpected end of data: protobuf field has {len} bytes, only {left} remain"))
                .at_offset(at)
        })
        .and_then(|len| cursor.take(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(message: &[u8]) -> Result<Vec<(u64, FieldValue<'_>)>> {
        let mut found = Vec::new();
        fields(message, |number, value| {
            found.push((number, value));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_of_every_wire_type_are_parsed() {
        let message = [0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x28, 1];
        let found = all(&message).unwrap();
        let expected = [
            (1, FieldValue::Number(300)),
            (2, FieldValue::Bytes(b"hi")),
            (3, FieldValue::Fixed32),
            (4, FieldValue::Fixed64([0; 8])),
            (5, FieldValue::Number(1)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_length_past_the_end_and_a_group_are_refused_with_their_place() {
        assert_eq!(all(&[0x08, 1, 0x12, 9, 0]).unwrap_err().location().offset, Some(3));
        assert_eq!(all(&[0x08, 1, 0x0b]).unwrap_err().location().offset, Some(2));
        assert!(all(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).is_err());
    }
}
