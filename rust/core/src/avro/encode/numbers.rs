//! Writers of numbers, and of what is a number to Avro: dates, times, timestamps.

use arrow_array::{BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, UInt64Array};

use super::column_writer::{ColumnWriter, Refused, Written};
use crate::avro::binary::write_long;

/// `boolean`.
pub(super) struct Booleans(pub(super) BooleanArray);

impl ColumnWriter for Booleans {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        out.push(u8::from(self.0.value(row)));
        Ok(())
    }
}

/// `int`.
pub(super) struct Ints(pub(super) Int32Array);

impl ColumnWriter for Ints {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        write_long(self.0.value(row).into(), out);
        Ok(())
    }
}

/// `long`.
pub(super) struct Longs(pub(super) Int64Array);

impl ColumnWriter for Longs {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
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
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        let value = self.values.value(row);
        let long =
            i64::try_from(value).map_err(|_| Refused::new(&self.path, format!("{value} does not fit a long")))?;
        write_long(long, out);
        Ok(())
    }
}

/// How a unit becomes another.
#[derive(Clone, Copy)]
pub(super) enum Scale {
    /// Times so much.
    Up(i64),
    /// So many are one; what is left over is refused.
    Down(i64),
}

/// `int` or `long` of another unit.
pub(super) struct Scaled {
    pub(super) values: Int64Array,
    pub(super) scale: Scale,
    /// The most that the type holds.
    pub(super) most: i64,
    pub(super) unit: &'static str,
    pub(super) path: String,
}

impl ColumnWriter for Scaled {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        let value = self.values.value(row);
        let scaled = match self.scale {
            Scale::Up(factor) => value.checked_mul(factor),
            Scale::Down(factor) => value.checked_rem(factor).filter(|rest| *rest == 0).map(|_| value / factor),
        };
        let Some(scaled) = scaled.filter(|scaled| -self.most - 1 <= *scaled && *scaled <= self.most) else {
            return Err(Refused::new(&self.path, format!("{value} is no whole number of {} that fits", self.unit)));
        };
        write_long(scaled, out);
        Ok(())
    }
}

/// `float`: the bits as they are, those of a NaN too.
pub(super) struct Floats(pub(super) Float32Array);

impl ColumnWriter for Floats {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        out.extend_from_slice(&self.0.value(row).to_le_bytes());
        Ok(())
    }
}

/// `double`.
pub(super) struct Doubles(pub(super) Float64Array);

impl ColumnWriter for Doubles {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        out.extend_from_slice(&self.0.value(row).to_le_bytes());
        Ok(())
    }
}
