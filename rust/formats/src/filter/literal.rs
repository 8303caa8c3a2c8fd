//! Literals as values of a column's type: exactly, or not at all.

use std::sync::Arc;

use arrow_array::types::Date32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, TimeUnit};
use chrono::Utc;

use super::expr::Literal;
use mortice_base::error::{Error, Result};

/// The literals as an array of `kind`. [`mortice_base::ErrorKind::InvalidArgument`] where one is not exactly a value of
/// it.
pub(super) fn array_of(literals: &[Literal], kind: &DataType, column: &str) -> Result<ArrayRef> {
    let misfit = |literal: &Literal| {
        Error::invalid_argument(format!("a filter on column {column:?} needs a literal of type {kind}, got {literal}"))
    };
    /// All literals by one conversion.
    fn all<'a, T>(
        literals: &'a [Literal],
        misfit: impl Fn(&Literal) -> Error,
        one: impl Fn(&'a Literal) -> Option<T>,
    ) -> Result<Vec<T>> {
        literals.iter().map(|literal| one(literal).ok_or_else(|| misfit(literal))).collect()
    }
    Ok(match kind {
        DataType::Boolean => Arc::new(BooleanArray::from(all(literals, misfit, bool_of)?)),
        DataType::Int32 => Arc::new(Int32Array::from(all(literals, misfit, |one| i32::try_from(int_of(one)?).ok())?)),
        DataType::Int64 => Arc::new(Int64Array::from(all(literals, misfit, |one| i64::try_from(int_of(one)?).ok())?)),
        DataType::Float32 => Arc::new(Float32Array::from(all(literals, misfit, float32_of)?)),
        DataType::Float64 => Arc::new(Float64Array::from(all(literals, misfit, float_of)?)),
        DataType::Utf8 => Arc::new(StringArray::from(all(literals, misfit, text_of)?)),
        DataType::Binary => {
            let values = all(literals, misfit, bytes_of)?;
            Arc::new(BinaryArray::from_iter_values(values))
        }
        DataType::Date32 => Arc::new(Date32Array::from(all(literals, misfit, date_of)?)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let values = all(literals, misfit, |one| timestamp_of(one, zone.is_some()))?;
            Arc::new(TimestampMicrosecondArray::from(values).with_timezone_opt(zone.clone()))
        }
        DataType::Decimal128(precision, scale) => {
            let values = all(literals, misfit, |one| decimal_of(one, *precision, *scale))?;
            let array = Decimal128Array::from(values).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|error| Error::invalid_argument("a decimal column's type").caused_by(error))?)
        }
        other => {
            let message = format!("column {column:?} is of type {other}, which can only be tested with \"is null\"");
            return Err(Error::invalid_argument(message));
        }
    })
}

fn bool_of(literal: &Literal) -> Option<bool> {
    if let Literal::Bool(value) = literal { Some(*value) } else { None }
}

fn text_of(literal: &Literal) -> Option<&str> {
    if let Literal::Text(value) = literal { Some(value) } else { None }
}

fn bytes_of(literal: &Literal) -> Option<&[u8]> {
    match literal {
        Literal::Bytes(value) => Some(value),
        Literal::Text(value) => Some(value.as_bytes()),
        _ => None,
    }
}

/// Whole numbers, however they are written.
fn int_of(literal: &Literal) -> Option<i128> {
    match literal {
        Literal::Int(value) => Some(*value),
        // Doubles up to 2^63 that are whole are exact as integers.
        #[allow(clippy::cast_possible_truncation)]
        Literal::Float(value) if value.fract() == 0.0 && value.abs() <= 9.3e18 => Some(*value as i128),
        Literal::Decimal { unscaled, scale } => {
            let factor = 10_i128.checked_pow(u32::try_from(*scale).ok()?)?;
            (unscaled % factor == 0).then(|| unscaled / factor)
        }
        _ => None,
    }
}

/// Doubles, and integers that are exactly one.
fn float_of(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Float(value) => Some(*value),
        // The greatest integers are rounded up to 2^127, which no integer of 128 bits is.
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        Literal::Int(value) => {
            Some(*value as f64).filter(|float| *float < i128::MAX as f64 && *float as i128 == *value)
        }
        // A decimal is compared as the double of its digits, as a user who wrote `Decimal("0.1")` means it.
        Literal::Decimal { unscaled, scale } => format!("{unscaled}e{}", -i32::from(*scale)).parse().ok(),
        _ => None,
    }
}

/// Floats: a double literal means the float that it is nearest to where that is how a user writes the float.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn float32_of(literal: &Literal) -> Option<f32> {
    let double = float_of(literal)?;
    let float = double as f32;
    let same = f64::from(float) == double || double.is_nan() || float.to_string().parse() == Ok(double);
    same.then_some(float)
}

fn date_of(literal: &Literal) -> Option<i32> {
    match literal {
        Literal::Date(days) => Some(*days),
        Literal::Text(text) if text.len() == 10 => Date32Type::parse(text),
        _ => None,
    }
}

fn timestamp_of(literal: &Literal, zoned: bool) -> Option<i64> {
    match literal {
        // A time without a zone, asked of a column of instants, is UTC, as the column's own values are shown.
        Literal::Timestamp { micros, utc } if zoned || !utc => Some(*micros),
        Literal::Date(days) => i64::from(*days).checked_mul(86_400_000_000),
        Literal::Text(text) => {
            let names_zone = text.get(10..).is_some_and(|time| time.contains(['Z', 'z', '+', '-']));
            let time = string_to_datetime(&Utc, text).ok().filter(|_| zoned || !names_zone)?;
            let sub_micro = time.timestamp_subsec_nanos() % 1000;
            (sub_micro == 0).then(|| time.timestamp_micros())
        }
        _ => None,
    }
}

fn decimal_of(literal: &Literal, precision: u8, scale: i8) -> Option<i128> {
    let (unscaled, from) = match literal {
        Literal::Decimal { unscaled, scale } => (*unscaled, *scale),
        Literal::Int(value) => (*value, 0),
        // The shortest digits that name the double.
        Literal::Float(value) if value.is_finite() => digits_of(*value)?,
        _ => return None,
    };
    let factor = 10_i128.checked_pow(u32::from(from.abs_diff(scale)))?;
    let value = if scale >= from {
        unscaled.checked_mul(factor)?
    } else if unscaled % factor == 0 {
        unscaled / factor
    } else {
        return None;
    };
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    (value > -limit && value < limit).then_some(value)
}

pub(super) fn digits_of(value: f64) -> Option<(i128, i8)> {
    let text = value.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let unscaled = format!("{whole}{fraction}").parse().ok()?;
    Some((unscaled, i8::try_from(fraction.len()).ok()?))
}
