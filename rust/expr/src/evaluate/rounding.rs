//! `round`, `ceil` and `floor`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::DataType;
use mortice_base::{Error, Result};

use super::cast::{cast, exact_cast};
use super::value::{Value, downcast, failed};
use crate::decimals::rounded;
use crate::kinds::{is_decimal, is_float, is_number, type_name};

/// Rounds half away from zero, to digits behind the point, or before it if their number is negative.
pub(crate) fn round(value: &Value, digits: i64) -> Result<Value> {
    let kind = value.kind().clone();
    if kind.is_null() || (kind.is_integer() && digits >= 0) {
        return Ok(value.clone());
    }
    if !is_number(&kind) {
        return Err(takes_numbers("round", &kind));
    }
    let digits =
        i32::try_from(digits).map_err(|_| Error::invalid_argument(format!("round cannot have {digits} digits")))?;
    match kind {
        DataType::Float64 => value.map(|array| floats::<Float64Type>(array, |number| round_float(number, digits))),
        DataType::Float32 => {
            #[allow(clippy::cast_possible_truncation)]
            let short = |number: f32| round_float(f64::from(number), digits).map(|number| number as f32);
            value.map(|array| floats::<Float32Type>(array, short))
        }
        DataType::Decimal128(precision, scale) => value.map(|array| decimals(array, precision, scale, digits)),
        _ => {
            let long = exact_cast(value, &DataType::Int64)?;
            let unit = 10_i128.checked_pow(digits.unsigned_abs());
            let long = long.map(|array| {
                let compute = |number: i64| {
                    let found = unit.map_or(Some(0), |unit| rounded(i128::from(number), unit)?.checked_mul(unit));
                    found.and_then(|found| i64::try_from(found).ok()).ok_or_else(|| overflow(digits))
                };
                Ok(Arc::new(array.as_primitive::<Int64Type>().try_unary::<_, Int64Type, Error>(compute)?))
            })?;
            exact_cast(&long, &kind).map_err(|_| overflow(digits))
        }
    }
}

fn takes_numbers(name: &str, kind: &DataType) -> Error {
    Error::invalid_argument(format!("{name} takes numbers, got {}; cast the value", type_name(kind)))
}

fn overflow(digits: i32) -> Error {
    Error::invalid_argument(format!("overflow: a value rounded to {digits} digits"))
}

fn floats<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    compute: impl Fn(T::Native) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let compute = |number| compute(number).ok_or_else(|| Error::invalid_argument("overflow: a rounded value"));
    Ok(Arc::new(array.as_primitive::<T>().try_unary::<_, T, Error>(compute)?))
}

/// Rounds a number; it stays as it is if it is whole in the unit. None if the result is infinite.
fn round_float(number: f64, digits: i32) -> Option<f64> {
    let power = 10_f64.powi(digits.saturating_abs());
    let scaled = if digits >= 0 { number * power } else { number / power };
    if !number.is_finite() || scaled.fract() == 0.0 {
        return Some(number);
    }
    let found = if digits > 0 { scaled.round() / power } else { scaled.round() * power };
    found.is_finite().then_some(found)
}

fn decimals(array: &ArrayRef, precision: u8, scale: i8, digits: i32) -> Result<ArrayRef> {
    let fewer = i32::from(scale).saturating_sub(digits);
    if fewer <= 0 {
        return Ok(array.clone());
    }
    let unit = 10_i128.checked_pow(fewer.unsigned_abs());
    let limit = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    let compute = |value: i128| {
        let found = unit.map_or(Some(0), |unit| rounded(value, unit)?.checked_mul(unit));
        found.filter(|found| found.unsigned_abs() < limit).ok_or_else(|| overflow(digits))
    };
    let numbers = downcast::<Decimal128Array>(array)?.try_unary::<_, Decimal128Type, Error>(compute)?;
    let numbers = numbers.with_precision_and_scale(precision, scale).map_err(|error| failed(&error))?;
    Ok(Arc::new(numbers))
}

/// Returns the next integer, which is greater for `ceil` and smaller for `floor`.
pub(crate) fn whole(name: &str, value: &Value) -> Result<Value> {
    let kind = value.kind();
    let is_up = name != "floor";
    if kind.is_integer() {
        return Ok(value.clone());
    }
    if is_decimal(kind) {
        return value.map(|array| whole_decimals(array, is_up));
    }
    if !is_float(kind) {
        return Err(takes_numbers(name, kind));
    }
    let numbers = exact_cast(value, &DataType::Float64)?;
    let numbers = numbers.map(|array| {
        let compute = if is_up { f64::ceil } else { f64::floor };
        Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(compute)))
    })?;
    cast(&numbers, &DataType::Int64)
}

fn whole_decimals(array: &ArrayRef, is_up: bool) -> Result<ArrayRef> {
    let DataType::Decimal128(_, scale) = array.data_type() else {
        return Err(Error::internal("a decimal has 128 bits"));
    };
    let unit = u32::try_from(*scale).ok().and_then(|scale| 10_i128.checked_pow(scale)).unwrap_or(1);
    let compute = |value: i128| {
        let (floor, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
        i64::try_from(floor + i128::from(is_up && rest != 0)).map_err(|_| Error::invalid_argument("overflow: bigint"))
    };
    Ok(Arc::new(downcast::<Decimal128Array>(array)?.try_unary::<_, Int64Type, Error>(compute)?))
}
