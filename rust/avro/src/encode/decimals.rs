//! Writer of decimals: unscaled, in big-endian two's complement, at the scale of the schema.

use arrow_array::types::{Decimal256Type, DecimalType};
use arrow_array::{ArrowNativeTypeOp, Decimal256Array};
use arrow_buffer::i256;

use super::column_writer::{ColumnWriter, RefusedValue, WriteResult};
use crate::binary::{shortest, write_bytes};
use crate::types::Decimal;

/// `decimal`, of `bytes` or `fixed`.
pub(super) struct DecimalWriter {
    values: Decimal256Array,
    ty: Decimal,
    /// What values are multiplied with, or divided by.
    factor: Option<i256>,
    divides: bool,
    /// 10 to the power of the precision.
    limit: Option<i256>,
    path: String,
}

impl DecimalWriter {
    pub(super) fn new(values: Decimal256Array, ty: &Decimal, path: &str) -> Self {
        let ten = i256::from_i128(10);
        let up = i64::from(ty.scale) - i64::from(values.scale());
        let power = |exponent: u64| ten.pow_checked(u32::try_from(exponent).unwrap_or(u32::MAX)).ok();
        Self {
            factor: power(up.unsigned_abs()),
            divides: up < 0,
            limit: power(ty.precision.into()),
            ty: ty.clone(),
            values,
            path: path.to_owned(),
        }
    }

    fn at_scale(&self, value: i256) -> Option<i256> {
        let factor = self.factor?;
        if factor == i256::ONE {
            return Some(value);
        }
        if !self.divides {
            return value.mul_checked(factor).ok();
        }
        let rest = value.mod_checked(factor).ok()?;
        (rest == i256::ZERO).then(|| value.div_checked(factor).ok()).flatten()
    }

    /// A precision beyond what 256 bits hold has no limit.
    fn fits(&self, value: i256) -> bool {
        self.limit.is_none_or(|limit| value < limit && limit.wrapping_neg() < value)
    }
}

impl ColumnWriter for DecimalWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        let refused = || {
            let text = Decimal256Type::format_decimal(value, Decimal256Type::MAX_PRECISION, self.values.scale());
            RefusedValue::new(
                &self.path,
                format!("{text} does not fit decimal({},{})", self.ty.precision, self.ty.scale),
            )
        };
        let unscaled = self.at_scale(value).filter(|value| self.fits(*value)).ok_or_else(refused)?;
        let bytes = unscaled.to_be_bytes();
        let digits = shortest(&bytes);
        let Some(fixed) = &self.ty.fixed else {
            write_bytes(digits, out);
            return Ok(());
        };
        let sign = fixed.size.checked_sub(digits.len()).ok_or_else(refused)?;
        out.resize(out.len() + sign, if unscaled < i256::ZERO { 0xff } else { 0 });
        out.extend_from_slice(digits);
        Ok(())
    }
}
