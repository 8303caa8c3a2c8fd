//! What keys of cells and keys of the index have in common: a row, and its length, which may not be all that is written of it.

use crate::cursor::Cursor;
use crate::error::Result;

/// The length of a row in a key of `key_len` bytes, `extras` of which may be others. What is written are its low 16 bits: Hudi's own
/// writer takes longer rows, though its reader does not.
pub(super) fn row_len(written: u16, key_len: usize, extras: &[usize]) -> usize {
    let fits = |extras: &usize| key_len.checked_sub(*extras).filter(|len| len & 0xffff == usize::from(written));
    extras.iter().find_map(fits).unwrap_or(usize::from(written))
}

/// Hadoop's variable-length number (`WritableUtils.readVLong`): one byte from -112 on; below, a sign and how many bytes follow.
pub(super) fn vint(cursor: &mut Cursor<'_>) -> Result<i64> {
    let first = cursor.u8()?.cast_signed();
    let (count, negative) = match first {
        -112.. => return Ok(i64::from(first)),
        -120..=-113 => ((-112 - i16::from(first)).unsigned_abs(), false),
        _ => ((-120 - i16::from(first)).unsigned_abs(), true),
    };
    let value = cursor.take(usize::from(count))?.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    Ok(if negative { !value.cast_signed() } else { value.cast_signed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_hadoop() {
        for (bytes, value) in [
            (&[0_u8][..], 0),
            (&[0x7f], 127),
            (&[0x90], -112),
            (&[0x8f, 0x80], 128),
            (&[0x8e, 1, 0], 256),
            (&[0x87, 0x80], -129),
        ] {
            assert_eq!(vint(&mut Cursor::new(bytes)).unwrap(), value, "{bytes:?}");
        }
        assert!(vint(&mut Cursor::new(&[0x88])).is_err());
    }
}
