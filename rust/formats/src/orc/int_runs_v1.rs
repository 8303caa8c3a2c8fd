//! A run of whole numbers in the first version's form.
//!
//! | control byte | what follows |
//! |---|---|
//! | 0 … 127 | a step, one signed byte, and a first number: that many numbers and three more, a step apart |
//! | -1 … -128 | as many numbers |
//!
//! Numbers are varints, zig-zag where they have a sign.

use super::stream::zigzag;
use mortice_base::cursor::Cursor;
use mortice_base::error::Result;

/// Appends the numbers of the next run.
pub(super) fn run(cursor: &mut Cursor<'_>, signed: bool, into: &mut Vec<i64>) -> Result<()> {
    let control = cursor.u8()?;
    if control < 0x80 {
        let step = i64::from(i8::from_ne_bytes([cursor.u8()?]));
        let first = number(cursor, signed)?;
        into.extend((0..i64::from(control) + 3).map(|at| first.wrapping_add(at.wrapping_mul(step))));
    } else {
        for _ in 0..256 - usize::from(control) {
            into.push(number(cursor, signed)?);
        }
    }
    Ok(())
}

/// A varint.
pub(super) fn number(cursor: &mut Cursor<'_>, signed: bool) -> Result<i64> {
    let number = cursor.uvarint()?;
    Ok(if signed { zigzag(number) } else { number.cast_signed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_examples() {
        let mut found = Vec::new();
        run(&mut Cursor::new(&[0x61, 0x00, 0x07]), false, &mut found).unwrap();
        assert_eq!(found, [7; 100]);
        found.clear();
        run(&mut Cursor::new(&[0x61, 0xff, 0x64]), false, &mut found).unwrap();
        assert_eq!(found, (1..=100).rev().collect::<Vec<_>>());
        found.clear();
        run(&mut Cursor::new(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b]), false, &mut found).unwrap();
        assert_eq!(found, [2, 3, 6, 7, 11]);
        assert!(run(&mut Cursor::new(&[0xfb, 0x02]), false, &mut found).is_err());
    }
}
