//! Numbers of some bits each, side by side, from the highest bit of the first byte on. After the last, the rest of its
//! byte is blank.

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Appends the next `count` numbers of `width` bits, 1 to 64.
pub(super) fn unpack(cursor: &mut Cursor<'_>, width: u32, count: usize, into: &mut Vec<u64>) -> Result<()> {
    let bits = (width as usize).saturating_mul(count);
    let bytes = cursor.take(bits.div_ceil(8))?;
    let (mut held, mut left) = (0_u128, 0_u32);
    let mut rest = bytes.iter();
    for _ in 0..count {
        while left < width {
            let byte = rest.next().ok_or_else(|| Error::internal("bit-packed numbers beyond their bytes"))?;
            held = held << 8 | u128::from(*byte);
            left += 8;
        }
        left -= width;
        let value = held >> left;
        held &= (1_u128 << left) - 1;
        into.push(u64::try_from(value).map_err(|_| Error::internal("a bit-packed number of more than 64 bits"))?);
    }
    Ok(())
}

/// The width that five bits of a run's header stand for.
pub(super) const fn width_of(code: u8) -> u32 {
    match code & 0x1f {
        code @ 0..=23 => code as u32 + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The narrowest width of [`width_of`] that so many bits go in.
pub(super) fn closest_width(bits: u32) -> u32 {
    (0..32).map(width_of).find(|width| *width >= bits).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width() {
        for width in [1, 2, 3, 7, 8, 13, 24, 30, 33, 57, 64] {
            let numbers: Vec<u64> =
                (0..20_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)).collect();
            let mut bits: Vec<bool> = Vec::new();
            for number in &numbers {
                bits.extend((0..width).rev().map(|bit| number >> bit & 1 == 1));
            }
            let bytes: Vec<u8> = bits
                .chunks(8)
                .map(|bits| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << (7 - at)))
                .collect();
            let mut found = Vec::new();
            unpack(&mut Cursor::new(&bytes), width, 20, &mut found).unwrap();
            assert_eq!(found, numbers, "{width}");
            assert!(unpack(&mut Cursor::new(&bytes), width, 20 * 8 + 1, &mut found).is_err());
        }
    }

    #[test]
    fn widths() {
        assert_eq!([0, 23, 24, 27, 28, 31].map(width_of), [1, 24, 26, 32, 40, 64]);
        assert_eq!([1, 24, 25, 29, 33, 57].map(closest_width), [1, 24, 26, 30, 40, 64]);
    }
}
