//! Checked reads over a byte slice: no read passes its end, no length is believed before it is compared with what is
//! left.
//!
//! Fixed-width integers of Hudi's log container are big-endian; Avro's are little-endian or zig-zag varints.

use crate::error::{Error, Result};

/// A place in a byte slice. Cheap to copy; a failed read leaves it where it was.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Cursor<'a> {
    /// At the first byte.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// Bytes read so far.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    /// What is left to read.
    #[inline]
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes are left to read.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.ends_early(count)),
        }
    }

    /// Steps over `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(|_| ())
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.ends_early(N)),
        }
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A big-endian 32-bit integer.
    #[inline]
    pub fn i32_be(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// A big-endian 64-bit integer.
    #[inline]
    pub fn i64_be(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A LEB128 number of at most ten bytes; bits past the 64th are refused.
    #[inline]
    pub fn uvarint(&mut self) -> Result<u64> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_uvarint(),
        }
    }

    #[inline(never)]
    fn long_uvarint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        if self.rest.len() < 10 {
            return Err(self.ends_early(self.rest.len() + 1));
        }
        Err(Error::corrupt("invalid variable-length integer: more than 64 bits").at_offset(self.position() as u64))
    }

    /// A zig-zag varint: Avro's int and long.
    #[inline]
    pub fn varint(&mut self) -> Result<i64> {
        self.uvarint().map(|value| (value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    #[cold]
    fn ends_early(&self, wanted: usize) -> Error {
        Error::corrupt(format!("unexpected end of data: expected {wanted} bytes, found {}", self.rest.len()))
            .at_offset(self.position() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fixed_and_variable_integers() {
        let mut cursor = Cursor::new(&[0, 0, 0, 7, 0x80, 0x01, 0x01, 0xff]);
        assert_eq!(cursor.i32_be().unwrap(), 7);
        assert_eq!(cursor.uvarint().unwrap(), 128);
        assert_eq!(cursor.varint().unwrap(), -1);
        assert_eq!(cursor.position(), 7);
        assert_eq!(cursor.remaining(), 1);
    }

    #[test]
    fn varint_covers_the_whole_range() {
        let mut least = [0xff_u8; 10];
        least[9] = 1;
        assert_eq!(Cursor::new(&least).varint().unwrap(), i64::MIN);
    }

    #[test]
    fn a_failed_read_moves_nothing_and_names_the_place() {
        let mut cursor = Cursor::new(&[1, 0x80]);
        cursor.skip(1).unwrap();
        let error = cursor.varint().unwrap_err();
        assert_eq!(error.location().offset, Some(1));
        assert_eq!(cursor.position(), 1);
        assert!(Cursor::new(&[0xff; 11]).uvarint().is_err());
        assert!(cursor.take(usize::MAX).is_err());
    }
}
