//! Values of Arrow arrays as literals.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use mortice_formats::filter::Literal;

use crate::decimals::{MOST_DIGITS, with_scale};
use crate::kinds::{is_bytes, is_float, is_text};

/// Returns the literal that a value is. None for one that no literal is exactly: of another type, or a time between
/// microseconds.
pub(crate) fn literal_at(values: &ArrayRef, row: usize) -> Option<Literal> {
    if row >= values.len() {
        return None;
    }
    let value = values.slice(row, 1);
    let kind = value.data_type();
    if kind.is_null() || value.is_null(0) {
        return Some(Literal::Null);
    }
    if let DataType::Dictionary(_, of) = kind {
        return literal_at(&cast(&value, of).ok()?, 0);
    }
    let as_type = |kind: &DataType| cast(&value, kind).ok().filter(|value| value.is_valid(0));
    match kind {
        DataType::Boolean => Some(Literal::Bool(value.as_boolean_opt()?.value(0))),
        DataType::UInt64 => Some(Literal::Int(value.as_primitive_opt::<UInt64Type>()?.value(0).into())),
        kind if kind.is_integer() => {
            Some(Literal::Int(as_type(&DataType::Int64)?.as_primitive_opt::<Int64Type>()?.value(0).into()))
        }
        kind if is_float(kind) => {
            Some(Literal::Float(as_type(&DataType::Float64)?.as_primitive_opt::<Float64Type>()?.value(0)))
        }
        kind if is_text(kind) => {
            Some(Literal::Text(as_type(&DataType::Utf8)?.as_string_opt::<i32>()?.value(0).to_owned()))
        }
        kind if is_bytes(kind) => {
            Some(Literal::Bytes(as_type(&DataType::Binary)?.as_binary_opt::<i32>()?.value(0).to_vec()))
        }
        DataType::Date32 | DataType::Date64 => {
            Some(Literal::Date(as_type(&DataType::Date32)?.as_primitive_opt::<Date32Type>()?.value(0)))
        }
        DataType::Timestamp(unit, zone) => {
            Some(Literal::Timestamp { micros: micros(&value, *unit)?, utc: zone.is_some() })
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => {
            let value = as_type(&DataType::Decimal128(MOST_DIGITS, *scale))?;
            let unscaled = value.as_primitive_opt::<Decimal128Type>()?.value(0);
            if *scale >= 0 {
                return Some(Literal::Decimal { unscaled, scale: *scale });
            }
            Some(Literal::Decimal { unscaled: with_scale(unscaled, i64::from(*scale), 0)?, scale: 0 })
        }
        _ => None,
    }
}

/// Returns the literals of the list that a value is. None for another value, or if one is no literal.
pub(super) fn literals_at(values: &ArrayRef, row: usize) -> Option<Vec<Literal>> {
    let items = items_at(values, row)?;
    (0..items.len()).map(|at| literal_at(&items, at)).collect()
}

fn items_at(values: &ArrayRef, row: usize) -> Option<ArrayRef> {
    if row >= values.len() || values.is_null(row) {
        return None;
    }
    match values.data_type() {
        DataType::List(_) => Some(values.as_list_opt::<i32>()?.value(row)),
        DataType::LargeList(_) => Some(values.as_list_opt::<i64>()?.value(row)),
        DataType::FixedSizeList(..) => Some(values.as_fixed_size_list_opt()?.value(row)),
        _ => None,
    }
}

fn micros(value: &ArrayRef, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.as_primitive_opt::<TimestampSecondType>()?.value(0).checked_mul(1_000_000),
        TimeUnit::Millisecond => value.as_primitive_opt::<TimestampMillisecondType>()?.value(0).checked_mul(1_000),
        TimeUnit::Microsecond => Some(value.as_primitive_opt::<TimestampMicrosecondType>()?.value(0)),
        TimeUnit::Nanosecond => {
            let nanos = value.as_primitive_opt::<TimestampNanosecondType>()?.value(0);
            (nanos % 1_000 == 0).then_some(nanos / 1_000)
        }
    }
}

/// Returns a text so that a pattern matches it only.
pub(super) fn like_pattern(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
