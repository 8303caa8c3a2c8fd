//! A run of whole numbers in the second version's form. The two highest bits of the first byte tell which:
//!
//! | | header | numbers |
//! |---|---|---|
//! | 0 short repeat | 3 bits: width in bytes - 1; 3 bits: count - 3 | one, big-endian |
//! | 1 direct | 5 bits: width; 9 bits: count - 1 | packed |
//! | 2 patched base | the same; 3 bits: bytes of the base - 1; 5: width of a patch; 3: width of a gap - 1; 5: patches | a base, packed distances from it, gaps and patches: higher bits of some distances |
//! | 3 delta | as direct; width code 0 is none | a first number, a first step, packed further steps of the same sign |
//!
//! Numbers are zig-zag where they have a sign, but for distances and for a base, whose highest bit is its sign.

use super::bit_packing::{closest_width, unpack, width_of};
use super::int_runs_v1::number;
use super::stream::zigzag;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Appends the numbers of the next run; `spare` is room for packed ones.
pub(super) fn run(cursor: &mut Cursor<'_>, signed: bool, spare: &mut Vec<u64>, into: &mut Vec<i64>) -> Result<()> {
    let first = cursor.u8()?;
    spare.clear();
    match first >> 6 {
        0 => {
            let value = big_endian(cursor, usize::from(first >> 3 & 7) + 1)?;
            into.extend(std::iter::repeat_n(decoded(value, signed), usize::from(first & 7) + 3));
            Ok(())
        }
        1 => {
            let (width, count) = (width_of(first >> 1), count(cursor, first)?);
            unpack(cursor, width, count, spare)?;
            into.extend(spare.iter().map(|value| decoded(*value, signed)));
            Ok(())
        }
        2 => patched(cursor, first, spare, into),
        _ => deltas(cursor, first, signed, spare, into),
    }
}

const fn decoded(value: u64, signed: bool) -> i64 {
    if signed { zigzag(value) } else { value.cast_signed() }
}

fn count(cursor: &mut Cursor<'_>, first: u8) -> Result<usize> {
    Ok((usize::from(first & 1) << 8 | usize::from(cursor.u8()?)) + 1)
}

fn big_endian(cursor: &mut Cursor<'_>, bytes: usize) -> Result<u64> {
    Ok(cursor.take(bytes)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn patched(cursor: &mut Cursor<'_>, first: u8, packed: &mut Vec<u64>, into: &mut Vec<i64>) -> Result<()> {
    let (width, count) = (width_of(first >> 1), count(cursor, first)?);
    let [third, fourth] = cursor.array::<2>()?;
    let (base_bytes, patch_width) = (u32::from(third >> 5) + 1, width_of(third));
    let (gap_width, patches) = (u32::from(fourth >> 5) + 1, usize::from(fourth & 0x1f));
    let base = big_endian(cursor, base_bytes as usize)?;
    let sign = 1_u64 << (8 * base_bytes - 1);
    let magnitude = (base & !sign).cast_signed();
    let base = if base & sign == 0 { magnitude } else { -magnitude };
    unpack(cursor, width, count, packed)?;
    if gap_width + patch_width > 64 {
        return Err(Error::invalid_table("invalid ORC integer run: patches wider than 64 bits"));
    }
    let mut list = Vec::new();
    unpack(cursor, closest_width(gap_width + patch_width), patches, &mut list)?;
    let mut at = 0_usize;
    for entry in list {
        let gap = entry.checked_shr(patch_width).unwrap_or_default();
        let patch = if patch_width == 64 { entry } else { entry & ((1 << patch_width) - 1) };
        at = at.saturating_add(usize::try_from(gap).unwrap_or(usize::MAX));
        let slot = packed
            .get_mut(at)
            .ok_or_else(|| Error::invalid_table("invalid ORC integer run: a patch is after its end"))?;
        *slot |= patch.checked_shl(width).unwrap_or_default();
    }
    into.extend(packed.iter().map(|distance| base.wrapping_add(distance.cast_signed())));
    Ok(())
}

fn deltas(cursor: &mut Cursor<'_>, first: u8, signed: bool, packed: &mut Vec<u64>, into: &mut Vec<i64>) -> Result<()> {
    let code = first >> 1 & 0x1f;
    let count = count(cursor, first)?;
    let mut value = number(cursor, signed)?;
    let step = number(cursor, true)?;
    into.push(value);
    if code == 0 {
        for _ in 1..count {
            value = value.wrapping_add(step);
            into.push(value);
        }
        return Ok(());
    }
    if count > 1 {
        value = value.wrapping_add(step);
        into.push(value);
    }
    unpack(cursor, width_of(code), count.saturating_sub(2), packed)?;
    for distance in packed.iter() {
        let distance = distance.cast_signed();
        value = if step < 0 { value.wrapping_sub(distance) } else { value.wrapping_add(distance) };
        into.push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], signed: bool) -> Result<Vec<i64>> {
        let (mut spare, mut found) = (Vec::new(), Vec::new());
        run(&mut Cursor::new(bytes), signed, &mut spare, &mut found)?;
        Ok(found)
    }

    #[test]
    fn the_specifications_examples() {
        assert_eq!(decode(&[0x0a, 0x27, 0x10], false).unwrap(), [10_000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(decode(&direct, false).unwrap(), [23_713, 43_806, 57_005, 48_879]);
        let primes = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(decode(&primes, false).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
            0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let mut expected = vec![2030, 2000, 2020, 1_000_000];
        expected.extend((0..16).map(|at| 2040 + at * 10));
        assert_eq!(decode(&patched, true).unwrap(), expected);
    }

    #[test]
    fn steps_may_fall_or_stay() {
        assert_eq!(decode(&[0xc0, 0x04, 0x64, 0x13], false).unwrap(), [100, 90, 80, 70, 60]);
        assert_eq!(decode(&[0xc0, 0x02, 0x05, 0x00], true).unwrap(), [-3, -3, -3]);
    }

    #[test]
    fn torn_runs_are_errors() {
        for bytes in [&[][..], &[0x0a, 0x27], &[0x5e, 0x03, 0x5c], &[0xc6, 0x09, 0x02], &[0x8e, 0x13, 0x2b, 0x21]] {
            assert!(decode(bytes, true).is_err());
        }
    }
}
