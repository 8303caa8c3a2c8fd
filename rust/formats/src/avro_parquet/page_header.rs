//! The header of a page that the parquet crate has made, changed to one with a checksum.
//!
//! It is a struct of Thrift's compact protocol: three integers of 32 bits, then the struct of its kind. The crate
//! leaves out the checksum, the integer between them.

use parquet::errors::{ParquetError, Result};

use mortice_base::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Data,
    Dictionary,
}

pub(super) struct PageHeader<'a> {
    kind: PageKind,
    /// The bytes up to the compressed size, which is third, and those after the head of the struct.
    before: &'a [u8],
    after: &'a [u8],
}

/// The head of an integer whose field is the next one.
const NEXT_I32: u8 = 0x15;
/// The heads of the structs of pages of version 1 (field 5), and of dictionaries (field 7), after field 3.
const DATA: u8 = 0x2c;
const DICTIONARY: u8 = 0x4c;
/// What of a head is the distance from the field before.
const ONE_FIELD: u8 = 0x10;

impl<'a> PageHeader<'a> {
    /// Args:
    ///     header: The header as the crate has made it.
    ///     content: The bytes of the page that the crate has made after it.
    pub(super) fn parse(header: &'a [u8], content: usize) -> Result<Self> {
        let mut rest = header;
        let mut before = 0_usize;
        let mut number = 0;
        for field in 0..3 {
            let (marker, after) = rest.split_first().ok_or_else(|| internal("a page header is cut"))?;
            if *marker != NEXT_I32 {
                return Err(internal("a page header has another field than its sizes"));
            }
            if field == 2 {
                before = header.len().saturating_sub(after.len());
            }
            (number, rest) = varint(after)?;
        }
        // Signed integers are in zigzag form.
        if usize::try_from(number >> 1)? != content {
            return Err(internal("a page header has not the size of its content"));
        }
        let (kind, after) = match rest.split_first() {
            Some((&DATA, after)) => (PageKind::Data, after),
            Some((&DICTIONARY, after)) => (PageKind::Dictionary, after),
            _ => return Err(internal("a page header of an unknown kind")),
        };
        Ok(Self { kind, before: header.get(..before).unwrap_or_default(), after })
    }

    pub(super) const fn kind(&self) -> PageKind {
        self.kind
    }

    /// The header with the size and the checksum of the content that is stored.
    pub(super) fn with_checksum(&self, size: usize, checksum: u32) -> Result<Vec<u8>> {
        /// Bytes of two integers and two heads.
        const ADDED: usize = 12;
        let mut changed = Vec::with_capacity(self.before.len().saturating_add(self.after.len()).saturating_add(ADDED));
        changed.extend_from_slice(self.before);
        put_zigzag(i32::try_from(size)?, &mut changed);
        changed.push(NEXT_I32);
        put_zigzag(checksum.cast_signed(), &mut changed);
        // The struct follows field 4 now.
        changed.push(match self.kind {
            PageKind::Data => DATA - ONE_FIELD,
            PageKind::Dictionary => DICTIONARY - ONE_FIELD,
        });
        changed.extend_from_slice(self.after);
        Ok(changed)
    }
}

fn put_zigzag(number: i32, out: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 31).cast_unsigned();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Returns an integer of up to 32 bits, seven of them in a byte, and the bytes after it.
fn varint(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok((number, bytes.get(at.saturating_add(1)..).unwrap_or_default()));
        }
    }
    Err(internal("a page header has an integer of more than 32 bits"))
}

pub(super) fn internal(what: &str) -> ParquetError {
    ParquetError::External(Box::new(Error::internal(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a data page of 5 bytes, which are 100 before they are compressed.
    const MADE: [u8; 11] = [0x15, 0, 0x15, 0xC8, 1, 0x15, 10, 0x2c, 0x15, 2, 0];

    #[test]
    fn size_and_checksum_are_put_before_the_struct_of_the_kind() {
        let header = PageHeader::parse(&MADE, 5).unwrap();
        assert_eq!(header.kind(), PageKind::Data);
        for (checksum, varint) in [(0_u32, &[0_u8][..]), (1, &[2]), (u32::MAX, &[1]), (0x8000_0000, &[0xFF; 5])] {
            let mut stored = varint.to_vec();
            if checksum == 0x8000_0000 {
                stored[4] = 0x0F;
            }
            let expected = [&MADE[..6], &[14, 0x15], &stored, &[0x1c, 0x15, 2, 0]].concat();
            assert_eq!(header.with_checksum(7, checksum).unwrap(), expected, "{checksum}");
        }
    }

    #[test]
    fn other_headers_are_refused() {
        assert!(PageHeader::parse(&MADE, 6).is_err());
        for len in 0..8 {
            assert!(PageHeader::parse(&MADE[..len], 5).is_err(), "{len}");
        }
        let mut version_2 = MADE;
        version_2[7] = 0x5c;
        assert!(PageHeader::parse(&version_2, 5).is_err());
    }
}
