//! Decimals: digits as varints of any length, zig-zag; and the scale of each.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};

use super::values::ValueReader;
use crate::orc::int_runs::IntRuns;
use crate::orc::stream::Stream;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Decimals, brought to the column's scale.
pub(super) struct DecimalValues {
    pub(super) digits: Stream,
    pub(super) scales: IntRuns,
    pub(super) precision: u8,
    pub(super) scale: i8,
}

impl ValueReader for DecimalValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let scales = self.scales.read(count)?;
        let to = i64::from(self.scale);
        let values: Vec<i128> = self
            .digits
            .read(|cursor| scales.iter().map(|scale| rescaled(wide(cursor)?, *scale, to)).collect::<Result<_>>())?;
        let array = Decimal128Array::from(values).with_precision_and_scale(self.precision, self.scale);
        let array = array.and_then(|array| array.validate_decimal_precision(self.precision).map(|()| array));
        array
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::invalid_table("invalid ORC column of decimals").caused_by(error))
    }
}

/// A zig-zag varint of up to 127 bits and a sign.
fn wide(cursor: &mut Cursor<'_>) -> Result<i128> {
    let mut value = 0_u128;
    for shift in (0..128).step_by(7) {
        let byte = cursor.u8()?;
        let bits = u128::from(byte & 0x7f);
        if bits.checked_shl(shift).map(|shifted| shifted >> shift) != Some(bits) {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    Err(Error::invalid_table("invalid ORC decimal: more than 128 bits"))
}

/// Without loss: writers store fewer digits behind the point than the column has, never more that count.
fn rescaled(value: i128, from: i64, to: i64) -> Result<i128> {
    let power = |by: i64| u32::try_from(by).ok().and_then(|by| 10_i128.checked_pow(by));
    let scaled = if from <= to {
        power(to - from).and_then(|power| value.checked_mul(power))
    } else {
        power(from.saturating_sub(to)).filter(|power| value % power == 0).map(|power| value / power)
    };
    scaled.ok_or_else(|| Error::invalid_table(format!("invalid ORC decimal: scale {from} in a column of scale {to}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_length() {
        let of = |bytes: &[u8]| wide(&mut Cursor::new(bytes));
        assert_eq!(of(&[0x80, 0x81, 0x01]).unwrap(), 8256);
        assert_eq!(of(&[0x03]).unwrap(), -2);
        let longest = [vec![0xff; 18], vec![0x03]].concat();
        assert_eq!(of(&longest).unwrap(), i128::MIN);
        assert!(of(&[vec![0xff; 18], vec![0x07]].concat()).is_err());
        assert!(of(&[0xff; 40]).is_err() && of(&[0x80]).is_err());
    }

    #[test]
    fn scales_are_those_of_the_column() {
        assert_eq!(rescaled(15, 1, 3).unwrap(), 1500);
        assert_eq!(rescaled(1500, 3, 1).unwrap(), 15);
        for (value, from, to) in [(1501, 3, 1), (i128::MAX, 0, 3), (1, -40, 2), (1, i64::MAX, 0)] {
            assert!(rescaled(value, from, to).is_err());
        }
    }
}
