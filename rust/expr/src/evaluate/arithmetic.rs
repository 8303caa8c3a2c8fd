//! Arithmetic: errors instead of wrapped numbers.

use std::sync::Arc;

use arrow_arith::numeric;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::DataType;
use mortice_base::{Error, Result};

use super::cast::{as_type, exact_cast};
use super::compare::with_short_floats;
use super::value::{Value, aligned, downcast, failed};
use crate::decimals::MOST_DIGITS;
use crate::kinds::{
    DIGITS_OF_LONG, common_type, is_date, is_decimal, is_float, is_number, is_timestamp, timestamp_type, type_name,
};

/// Computes a sum, difference, product, quotient or remainder.
pub(crate) fn arithmetic(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    let is_interval = |value: &Value| matches!(value.kind(), DataType::Duration(_));
    if matches!(symbol, "+" | "-") && (is_interval(one) || is_interval(other)) {
        return moved(symbol, one, other);
    }
    let is_computed = |value: &Value| is_number(value.kind()) || value.kind().is_null();
    if !is_computed(one) || !is_computed(other) {
        return Err(undefined(symbol, one, other, "cast the values"));
    }
    if one.kind().is_null() && other.kind().is_null() {
        return Ok(if one.is_constant { other.clone() } else { one.clone() });
    }
    if symbol == "/" {
        return quotient(&as_type(one, &DataType::Float64)?, &as_type(other, &DataType::Float64)?);
    }
    let values = with_short_floats(&[one.clone(), other.clone()])?;
    let [one, other] = values.as_slice() else { return Err(Error::internal("two values are computed")) };
    let kind = common_type(one.kind(), other.kind())?;
    if symbol == "%" {
        if !kind.is_integer() {
            let (one, other) = (type_name(one.kind()), type_name(other.kind()));
            return Err(Error::invalid_argument(format!("% takes integers, got {one} and {other}")));
        }
        return remainder(&as_type(one, &DataType::Int64)?, &as_type(other, &DataType::Int64)?);
    }
    if is_decimal(&kind) {
        return decimals(symbol, one, other);
    }
    let (one, other) = (as_type(one, &kind)?, as_type(other, &kind)?);
    computed(symbol, &one, &other)
}

fn undefined(symbol: &str, one: &Value, other: &Value, hint: &str) -> Error {
    let (one, other) = (type_name(one.kind()), type_name(other.kind()));
    Error::invalid_argument(format!("{one} {symbol} {other} is not defined; {hint}"))
}

fn computed(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    one.call(other, |one, other| match symbol {
        "+" => numeric::add(one, other),
        "-" => numeric::sub(one, other),
        _ => numeric::mul(one, other),
    })
}

fn quotient(one: &Value, other: &Value) -> Result<Value> {
    let (arrays, is_constant) = aligned(&[one.clone(), other.clone()])?;
    let [dividend, divisor] = arrays.as_slice() else { return Err(Error::internal("two values are divided")) };
    let (dividend, divisor) = (dividend.as_primitive::<Float64Type>(), divisor.as_primitive::<Float64Type>());
    let zero = |(one, other): (Option<f64>, Option<f64>)| one.is_some() && other == Some(0.0);
    if dividend.iter().zip(divisor.iter()).any(zero) {
        return Err(Error::invalid_argument("divide by zero"));
    }
    let array = numeric::div(dividend, divisor).map_err(|error| failed(&error))?;
    Ok(Value { array, is_constant })
}

/// The remainder has the sign of the dividend.
fn remainder(one: &Value, other: &Value) -> Result<Value> {
    let (arrays, is_constant) = aligned(&[one.clone(), other.clone()])?;
    let [dividend, divisor] = arrays.as_slice() else { return Err(Error::internal("two values are divided")) };
    let compute = |one: i64, other: i64| match other {
        0 => Err(arrow_schema::ArrowError::DivideByZero),
        _ => one
            .checked_rem(other)
            .ok_or_else(|| arrow_schema::ArrowError::ArithmeticOverflow(format!("{one} % {other}"))),
    };
    let (dividend, divisor) = (dividend.as_primitive::<Int64Type>(), divisor.as_primitive::<Int64Type>());
    let array = arrow_arith::arity::try_binary::<_, _, _, Int64Type>(dividend, divisor, compute);
    Ok(Value { array: Arc::new(array.map_err(|error| failed(&error))?), is_constant })
}

/// The result has the digits that it needs, at most 38.
fn decimals(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    let integers = DataType::Decimal128(DIGITS_OF_LONG, 0);
    let decimal = |value: &Value| if is_decimal(value.kind()) { Ok(value.clone()) } else { as_type(value, &integers) };
    let (one, other) = (decimal(one)?, decimal(other)?);
    let result = computed(symbol, &one, &other)?;
    let DataType::Decimal128(precision, _) = result.kind() else { return Ok(result) };
    if *precision == MOST_DIGITS {
        let checked = downcast::<Decimal128Array>(&result.array)?.validate_decimal_precision(MOST_DIGITS);
        checked
            .map_err(|_| Error::invalid_argument(format!("overflow: a result of {symbol} has more than 38 digits")))?;
    }
    Ok(result)
}

/// Moves a date or a time by an interval. A date becomes a time.
fn moved(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    let is_interval = |value: &Value| matches!(value.kind(), DataType::Duration(_));
    let (mut one, mut other) = (one.clone(), other.clone());
    if is_interval(&one) && !is_interval(&other) {
        if symbol == "-" {
            return Err(Error::invalid_argument("INTERVAL - value is not defined; write value - INTERVAL"));
        }
        std::mem::swap(&mut one, &mut other);
    }
    if !(is_timestamp(one.kind()) || is_date(one.kind())) || !is_interval(&other) {
        return Err(undefined(symbol, &one, &other, "cast the values"));
    }
    // As numbers: the kernels of times know zones, and no offset is needed for an interval of microseconds.
    let kind = timestamp_type(crate::kinds::has_zone(one.kind()));
    let (time, interval) = (exact_cast(&one, &kind)?, as_numbers(&other)?);
    let sum = computed(symbol, &as_numbers(&time)?, &interval)?;
    sum.map(|array| retyped(array, &kind))
}

fn as_numbers(value: &Value) -> Result<Value> {
    value.map(|array| retyped(array, &DataType::Int64))
}

/// Returns the numbers of an array as those of another type of 64 bits.
fn retyped(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(kind.clone()).build();
    Ok(arrow_array::make_array(data.map_err(|error| failed(&error))?))
}

/// Returns values with the other sign.
pub(crate) fn negated(value: &Value) -> Result<Value> {
    let kind = value.kind();
    if kind.is_null() {
        return Ok(value.clone());
    }
    if !is_number(kind) {
        return Err(Error::invalid_argument(format!("-{} is not defined; cast the value", type_name(kind))));
    }
    value.map(|array| numeric::neg(array.as_ref()).map_err(|error| failed(&error)))
}

/// Returns values without their sign.
pub(crate) fn absolute(value: &Value) -> Result<Value> {
    let kind = value.kind().clone();
    if kind.is_null() {
        return Ok(value.clone());
    }
    if !is_number(&kind) {
        return Err(Error::invalid_argument(format!("abs takes numbers, got {}; cast the value", type_name(&kind))));
    }
    if is_float(&kind) {
        return value.map(|array| match kind {
            DataType::Float32 => Ok(unary::<Float32Type>(array, f32::abs)),
            _ => Ok(unary::<Float64Type>(array, f64::abs)),
        });
    }
    if is_decimal(&kind) {
        return value.map(|array| Ok(unary::<Decimal128Type>(array, i128::abs)).and_then(|new| like(&new, &kind)));
    }
    let long = exact_cast(value, &DataType::Int64)?;
    let positive = long.map(|array| {
        let compute = |number: i64| number.checked_abs().ok_or_else(|| Error::invalid_argument("overflow: abs"));
        let numbers = array.as_primitive::<Int64Type>().try_unary::<_, Int64Type, Error>(compute)?;
        Ok(Arc::new(numbers))
    })?;
    exact_cast(&positive, &kind).map_err(|_| Error::invalid_argument("overflow: abs"))
}

fn unary<T: ArrowPrimitiveType>(array: &ArrayRef, compute: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().unary::<_, T>(compute))
}

fn like(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = kind else { return Ok(array.clone()) };
    let numbers = downcast::<Decimal128Array>(array)?.clone().with_precision_and_scale(*precision, *scale);
    Ok(Arc::new(numbers.map_err(|error| failed(&error))?))
}
