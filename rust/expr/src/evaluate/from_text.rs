//! Casts of strings, which must be written as literals are.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use mortice_base::{Error, Result};

use super::value::failed;
use crate::decimals::{parse_decimal, with_scale};
use crate::kinds::type_name;
use crate::moments::{MICROS_OF_DAY, parse_moment};
use crate::text::quoted;

/// Casts strings, to times in microseconds only. `InvalidArgument` for one that is no value of the type.
pub(crate) fn cast_text(strings: &StringArray, kind: &DataType) -> Result<ArrayRef> {
    match kind {
        DataType::Boolean => {
            let read = |text: &str| match text.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            };
            let values = strings.iter().map(|text| text.map(|text| parsed(text, kind, read)).transpose());
            Ok(Arc::new(values.collect::<Result<BooleanArray>>()?))
        }
        DataType::Float64 => primitive::<Float64Type>(strings, kind, |text| float(text)?.parse().ok()),
        DataType::Float32 => primitive::<Float32Type>(strings, kind, |text| float(text)?.parse().ok()),
        DataType::Decimal128(precision, scale) => decimals(strings, kind, *precision, *scale),
        DataType::Date32 => primitive::<Date32Type>(strings, kind, date),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let times = typed::<TimestampMicrosecondType>(strings, kind, |text| parse_moment(text).map(|m| m.micros))?;
            Ok(Arc::new(times.with_timezone_opt(zone.clone())))
        }
        _ if kind.is_integer() => {
            let longs = primitive::<Int64Type>(strings, kind, integer)?;
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(&longs, kind, &options).map_err(|error| failed(&error))
        }
        _ => Err(Error::invalid_argument(format!("string cannot be cast to {}", type_name(kind)))),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    strings: &StringArray,
    kind: &DataType,
    read: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef> {
    Ok(Arc::new(typed::<T>(strings, kind, read)?))
}

fn typed<T: ArrowPrimitiveType>(
    strings: &StringArray,
    kind: &DataType,
    read: impl Fn(&str) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>> {
    let values = strings.iter().map(|text| text.map(|text| parsed(text, kind, &read)).transpose());
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(PrimitiveArray::from_iter(values))
}

fn parsed<V>(text: &str, kind: &DataType, read: impl Fn(&str) -> Option<V>) -> Result<V> {
    read(text).ok_or_else(|| {
        Error::invalid_argument(format!("Failed to parse string: {} as a value of {}", quoted(text), type_name(kind)))
    })
}

fn integer(text: &str) -> Option<i64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// A number without sign `+`, which is no literal.
fn float(text: &str) -> Option<&str> {
    (!text.starts_with('+')).then_some(text)
}

/// The day of a date, or of a time, which has no fraction of a second and no zone.
fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    let moment = parse_moment(text).filter(|moment| !moment.has_zone && !text.contains('.'))?;
    i32::try_from(moment.micros.div_euclid(MICROS_OF_DAY)).ok()
}

fn decimals(strings: &StringArray, kind: &DataType, precision: u8, scale: i8) -> Result<ArrayRef> {
    let limit = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    let read = |text: &str| {
        let decimal = parse_decimal(text)?;
        with_scale(decimal.value, decimal.scale, i64::from(scale)).filter(|value| value.unsigned_abs() < limit)
    };
    let values = typed::<Decimal128Type>(strings, kind, read)?;
    Ok(Arc::new(values.with_precision_and_scale(precision, scale).map_err(|error| failed(&error))?))
}
