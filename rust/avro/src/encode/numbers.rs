//! Writers of numbers, and of what is a number to Avro: dates, times, timestamps.

use arrow_array::{BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, UInt64Array};

use super::column_writer::{ColumnWriter, RefusedValue, WriteResult};
use crate::binary::write_long;

/// `boolean`.
pub(super) struct BooleanWriter(pub(super) BooleanArray);

impl ColumnWriter for BooleanWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        out.push(u8::from(self.0.value(row)));
        Ok(())
    }
}

/// `int`.
pub(super) struct IntWriter(pub(super) Int32Array);

impl ColumnWriter for IntWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        write_long(self.0.value(row).into(), out);
        Ok(())
    }
}

/// `long`.
pub(super) struct LongWriter(pub(super) Int64Array);

impl ColumnWriter for LongWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        write_long(self.0.value(row), out);
        Ok(())
    }
}

/// `long` from numbers without a sign.
pub(super) struct UnsignedLongs {
    pub(super) values: UInt64Array,
    pub(super) path: String,
}

impl ColumnWriter for UnsignedLongs {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        let long =
            i64::try_from(value).map_err(|_| RefusedValue::new(&self.path, format!("{value} does not fit a long")))?;
        write_long(long, out);
        Ok(())
    }
}

/// How a unit becomes another.
#[derive(Clone, Copy)]
pub(super) enum UnitScale {
    /// Times so much.
    Up(i64),
    /// So many are one; what is left over is refused.
    Down(i64),
}

/// `int` or `long` of another unit.
pub(super) struct ScaledWriter {
    pub(super) values: Int64Array,
    pub(super) scale: UnitScale,
    /// The most that the type holds.
    pub(super) most: i64,
    pub(super) unit: &'static str,
    pub(super) path: String,
}

impl ColumnWriter for ScaledWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        let scaled = match self.scale {
            UnitScale::Up(factor) => value.checked_mul(factor),
            UnitScale::Down(factor) => value.checked_rem(factor).filter(|rest| *rest == 0).map(|_| value / factor),
        };
        let Some(scaled) = scaled.filter(|scaled| -self.most - 1 <= *scaled && *scaled <= self.most) else {
            return Err(RefusedValue::new(
                &self.path,
                format!("{value} is no whole number of {} that fits", self.unit),
            ));
        };
        write_long(scaled, out);
        Ok(())
    }
}

/// `float`: the bits as they are, those of a NaN too.
pub(super) struct FloatWriter(pub(super) Float32Array);

impl ColumnWriter for FloatWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        out.extend_from_slice(&self.0.value(row).to_le_bytes());
        Ok(())
    }
}

/// `double`.
pub(super) struct DoubleWriter(pub(super) Float64Array);

impl ColumnWriter for DoubleWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        out.extend_from_slice(&self.0.value(row).to_le_bytes());
        Ok(())
    }
}
