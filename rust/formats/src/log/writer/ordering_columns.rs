//! Ordering values of deleted keys (`HoodieAvroWrapperUtils`): the wrapper of the union for each Arrow type.
//!
//! | Arrow | wrapper | index |
//! |---|---|---|
//! | boolean | Boolean | 1 |
//! | int8 to int32, uint8, uint16, time of s or ms, date (days) | Int | 2 |
//! | int64, uint32, uint64 in range, time of µs or ns, timestamp (µs) | Long | 3 |
//! | float16, float32 | Float | 4 |
//! | float64 | Double | 5 |
//! | binary | Bytes | 6 |
//! | string | String | 7 |
//! | decimal | Decimal, at scale 15 | 9 |
//!
//! Dates and timestamps are numbers, as in the deletes of Hudi's Spark writer: its readers compare them with the
//! numbers of rows. They fail on the wrappers that Hudi has for them (8 and 11): "Long cannot be cast to class
//! java.util.Date".
//!
//! Hudi handles times of day as numbers; it never writes their wrapper and cannot read it (index 10). Values that the
//! wrapper would change (a nanosecond, the sixteenth decimal place) are errors that name the row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, DecimalType, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BinaryArray, BooleanArray, Decimal128Array, Float32Array, Float64Array,
    Int32Array, Int64Array, StringArray,
};
use arrow_buffer::i256;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use crate::log::content::delete_avro::DECIMAL_SCALE;
use mortice_avro::{shortest, write_bytes, write_long};
use mortice_base::error::{Error, Result};

/// The digits of Hudi's decimal wrapper: precision 30, scale 15.
const DECIMAL_DIGITS: u32 = 30;
const MILLIS_A_DAY: i64 = 86_400_000;

/// A column of ordering values.
pub(super) enum OrderingColumn {
    Boolean(BooleanArray),
    Int(Int32Array),
    Long(Int64Array),
    Float(Float32Array),
    Double(Float64Array),
    Bytes(BinaryArray),
    Text(StringArray),
    /// Unscaled, at scale 15.
    Decimal(Decimal128Array),
}

impl OrderingColumn {
    /// Converts the values of a column.
    pub(super) fn from_column(name: &str, column: &ArrayRef) -> Result<Self> {
        Self::convert(column).map_err(|Unfit(why)| Error::invalid_argument(format!("ordering column {name:?}: {why}")))
    }

    fn convert(column: &ArrayRef) -> Result<Self, Unfit> {
        use DataType as Ty;
        Ok(match column.data_type() {
            Ty::Dictionary(_, values) => return Self::convert(&cast(column, values)?),
            Ty::Boolean => Self::Boolean(column.as_boolean().clone()),
            Ty::Int8 | Ty::Int16 | Ty::Int32 | Ty::UInt8 | Ty::UInt16 | Ty::Time32(_) => {
                Self::Int(cast(&time_of_day(column)?, &Ty::Int32)?.as_primitive::<Int32Type>().clone())
            }
            Ty::Int64 | Ty::UInt32 | Ty::UInt64 | Ty::Time64(_) => Self::Long(longs(&time_of_day(column)?)?),
            Ty::Float16 | Ty::Float32 => Self::Float(cast(column, &Ty::Float32)?.as_primitive::<Float32Type>().clone()),
            Ty::Float64 => Self::Double(column.as_primitive::<Float64Type>().clone()),
            Ty::Binary | Ty::LargeBinary | Ty::BinaryView | Ty::FixedSizeBinary(_) => {
                Self::Bytes(cast(column, &Ty::Binary)?.as_binary::<i32>().clone())
            }
            Ty::Utf8 | Ty::LargeUtf8 | Ty::Utf8View => Self::Text(cast(column, &Ty::Utf8)?.as_string::<i32>().clone()),
            Ty::Date32 => Self::Int(cast(column, &Ty::Int32)?.as_primitive::<Int32Type>().clone()),
            Ty::Date64 => {
                let days: ArrayRef = std::sync::Arc::new(scaled(&longs(column)?, Scale::Down(MILLIS_A_DAY), "day")?);
                Self::Int(cast(&days, &Ty::Int32)?.as_primitive::<Int32Type>().clone())
            }
            Ty::Decimal32(..) | Ty::Decimal64(..) | Ty::Decimal128(..) | Ty::Decimal256(..) => {
                Self::Decimal(decimals(column)?)
            }
            Ty::Timestamp(unit, _) => Self::Long(scaled(&longs(column)?, to_micros(*unit), "microsecond")?),
            other => return Err(Unfit(format!("Hudi has no ordering values of type {other}"))),
        })
    }

    /// Returns true if a row has no value.
    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Boolean(array) => array.is_null(row),
            Self::Int(array) => array.is_null(row),
            Self::Long(array) => array.is_null(row),
            Self::Float(array) => array.is_null(row),
            Self::Double(array) => array.is_null(row),
            Self::Bytes(array) => array.is_null(row),
            Self::Text(array) => array.is_null(row),
            Self::Decimal(array) => array.is_null(row),
        }
    }

    /// Appends the union index and the value of a row that is not null.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(array) => out.extend([tag(1), u8::from(array.value(row))]),
            Self::Int(array) => tagged_long(out, 2, array.value(row).into()),
            Self::Long(array) => tagged_long(out, 3, array.value(row)),
            Self::Float(array) => {
                out.push(tag(4));
                out.extend(array.value(row).to_le_bytes());
            }
            Self::Double(array) => {
                out.push(tag(5));
                out.extend(array.value(row).to_le_bytes());
            }
            Self::Bytes(array) => {
                out.push(tag(6));
                write_bytes(array.value(row), out);
            }
            Self::Text(array) => {
                out.push(tag(7));
                write_bytes(array.value(row).as_bytes(), out);
            }
            Self::Decimal(array) => {
                out.push(tag(9));
                write_bytes(shortest(&array.value(row).to_be_bytes()), out);
            }
        }
    }
}

/// Why a column or a value has no wrapper.
struct Unfit(String);

/// Returns a union index as one byte.
const fn tag(index: u8) -> u8 {
    index << 1
}

fn tagged_long(out: &mut Vec<u8>, index: u8, value: i64) {
    out.push(tag(index));
    write_long(value, out);
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Unfit> {
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &exact).map_err(|error| Unfit(error.to_string()))
}

fn longs(column: &ArrayRef) -> Result<Int64Array, Unfit> {
    Ok(cast(column, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Converts times of day to the units that Avro has: milliseconds in an int, microseconds in a long. Other columns are
/// returned unchanged.
fn time_of_day(column: &ArrayRef) -> Result<ArrayRef, Unfit> {
    let scale = match column.data_type() {
        DataType::Time32(TimeUnit::Second) => Scale::Up(1000),
        DataType::Time64(TimeUnit::Nanosecond) => Scale::Down(1000),
        _ => return Ok(column.clone()),
    };
    let numbers = if matches!(scale, Scale::Up(_)) { cast(column, &DataType::Int32)? } else { column.clone() };
    Ok(std::sync::Arc::new(scaled(&longs(&numbers)?, scale, "microsecond")?))
}

enum Scale {
    Up(i64),
    Down(i64),
}

const fn to_micros(unit: TimeUnit) -> Scale {
    match unit {
        TimeUnit::Second => Scale::Up(1_000_000),
        TimeUnit::Millisecond => Scale::Up(1000),
        TimeUnit::Microsecond => Scale::Up(1),
        TimeUnit::Nanosecond => Scale::Down(1000),
    }
}

/// Converts numbers to another unit, exactly.
fn scaled(numbers: &Int64Array, scale: Scale, unit: &str) -> Result<Int64Array, Unfit> {
    let convert = |(row, value): (usize, Option<i64>)| -> Result<Option<i64>, Unfit> {
        let Some(value) = value else { return Ok(None) };
        let converted = match scale {
            Scale::Up(factor) => value.checked_mul(factor),
            Scale::Down(factor) => (value % factor == 0).then(|| value / factor),
        };
        converted
            .map(Some)
            .ok_or_else(|| Unfit(format!("row {row}: {value} is not a whole number of {unit}s that fits in 64 bits")))
    };
    numbers.iter().enumerate().map(convert).collect()
}

/// Converts decimals of any scale to scale 15.
fn decimals(column: &ArrayRef) -> Result<Decimal128Array, Unfit> {
    let scale = match column.data_type() {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        other => return Err(Unfit(format!("{other} is not a decimal"))),
    };
    let wide = cast(column, &DataType::Decimal256(Decimal256Type::MAX_PRECISION, scale))?;
    let values = wide.as_primitive::<Decimal256Type>();
    let convert = |(row, value): (usize, Option<i256>)| -> Result<Option<i128>, Unfit> {
        let Some(value) = value else { return Ok(None) };
        at_scale(value, scale).map(Some).ok_or_else(|| {
            let text = Decimal256Type::format_decimal(value, Decimal256Type::MAX_PRECISION, scale);
            Unfit(format!("row {row}: {text} does not fit decimal({DECIMAL_DIGITS},{DECIMAL_SCALE}), the type of decimals in a delete block"))
        })
    };
    values.iter().enumerate().map(convert).collect()
}

fn at_scale(value: i256, scale: i8) -> Option<i128> {
    let ten = i256::from_i128(10);
    let up = i32::from(DECIMAL_SCALE) - i32::from(scale);
    let factor = ten.pow_checked(up.unsigned_abs()).ok()?;
    let value = if up >= 0 {
        value.mul_checked(factor).ok()?
    } else {
        let rest = value.mod_checked(factor).ok()?;
        (rest == i256::ZERO).then_some(())?;
        value.div_checked(factor).ok()?
    };
    let limit = 10_i128.pow(DECIMAL_DIGITS);
    value.to_i128().filter(|value| -limit < *value && *value < limit)
}
