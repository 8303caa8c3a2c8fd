//! Comparisons, and values in the type that they have in common.

use std::sync::Arc;

use arrow_arith::boolean::{is_null, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Datum, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use mortice_base::{Error, Result};

use super::cast::{as_type, cast};
use super::value::{Value, aligned, booleans, failed};
use crate::kinds::{common_type, is_date, is_number, is_text, is_timestamp};

/// Returns values in the type that they have in common.
pub(crate) fn unified(values: &[Value]) -> Result<Vec<Value>> {
    let values = with_short_floats(values)?;
    let mut kinds = values.iter().map(Value::kind);
    let first = kinds.next().cloned().unwrap_or(DataType::Null);
    let kind = kinds.try_fold(first, |kind, other| common_type(&kind, other))?;
    values.iter().map(|value| as_type(value, &kind)).collect()
}

/// Returns values of which numbers that are constants have 32 bits, if all others have.
pub(crate) fn with_short_floats(values: &[Value]) -> Result<Vec<Value>> {
    let mut columns = values.iter().filter(|value| !value.is_constant).map(Value::kind).peekable();
    if columns.peek().is_none() || columns.any(|kind| kind != &DataType::Float32) {
        return Ok(values.to_vec());
    }
    let short =
        |value: &Value| if is_number(value.kind()) { cast(value, &DataType::Float32) } else { Ok(value.clone()) };
    values.iter().map(short).collect()
}

/// Compares values. A string constant is read as the date or time that it is compared with.
pub(crate) fn compared(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    let values = unified(&[as_moment(one, other.kind())?, as_moment(other, one.kind())?])?;
    let [one, other] = values.as_slice() else { return Err(Error::internal("two values are compared")) };
    if symbol != "<=>" {
        return ordered(symbol, one, other);
    }
    let equal = ordered("=", one, other)?;
    let (arrays, is_constant) = aligned(&[one.clone(), other.clone(), equal])?;
    let [one, other, equal] = arrays.as_slice() else { return Err(Error::internal("two values are compared")) };
    let nulls = |array: &ArrayRef| is_null(&with_nulls(array)).map_err(|error| failed(&error));
    let both = arrow_arith::boolean::and(&nulls(one)?, &nulls(other)?).map_err(|error| failed(&error))?;
    let equal = filled(equal.as_boolean(), false);
    let found = or_kleene(&both, &equal).map_err(|error| failed(&error))?;
    Ok(Value { array: Arc::new(found), is_constant })
}

/// An array without values has a bitmap of nulls only as another type.
fn with_nulls(array: &ArrayRef) -> ArrayRef {
    if array.data_type().is_null() { new_null_array(&DataType::Boolean, array.len()) } else { array.clone() }
}

/// Returns a string constant as a value of a date or time that it is compared with.
pub(crate) fn as_moment(value: &Value, other: &DataType) -> Result<Value> {
    let is_read = value.is_constant && is_text(value.kind()) && (is_timestamp(other) || is_date(other));
    if is_read { cast(value, other) } else { Ok(value.clone()) }
}

/// Returns booleans, null as a value.
pub(crate) fn filled(array: &BooleanArray, value: bool) -> BooleanArray {
    let Some(nulls) = array.nulls() else { return array.clone() };
    let (values, valid) = (array.values(), nulls.inner());
    BooleanArray::new(if value { values | &!valid } else { values & valid }, None)
}

/// Compares values of one type.
pub(crate) fn ordered(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    match one.kind() {
        DataType::Null => {
            let (arrays, is_constant) = aligned(&[one.clone(), other.clone()])?;
            let rows = arrays.first().map_or(0, Array::len);
            Ok(Value { array: new_null_array(&DataType::Boolean, rows), is_constant })
        }
        DataType::Float64 => floats::<Float64Type>(symbol, one, other),
        DataType::Float32 => floats::<Float32Type>(symbol, one, other),
        _ => one.call(other, |one: &dyn Datum, other: &dyn Datum| match symbol {
            "=" => cmp::eq(one, other),
            "!=" => cmp::neq(one, other),
            "<" => cmp::lt(one, other),
            "<=" => cmp::lt_eq(one, other),
            ">" => cmp::gt(one, other),
            ">=" => cmp::gt_eq(one, other),
            _ => Err(ArrowError::InvalidArgumentError(format!("{symbol} is no comparison"))),
        }),
    }
}

/// Compares floating-point numbers: NaN differs from all, and there is one zero, which Arrow's kernels do otherwise.
fn floats<T: ArrowPrimitiveType>(symbol: &str, one: &Value, other: &Value) -> Result<Value> {
    let (arrays, is_constant) = aligned(&[one.clone(), other.clone()])?;
    let [one, other] = arrays.as_slice() else { return Err(Error::internal("two values are compared")) };
    let (one, other) = (one.as_primitive::<T>(), other.as_primitive::<T>());
    let is_true: fn(T::Native, T::Native) -> bool = match symbol {
        "=" => |a, b| a == b,
        "!=" => |a, b| a != b,
        "<" => |a, b| a < b,
        "<=" => |a, b| a <= b,
        ">" => |a, b| a > b,
        _ => |a, b| a >= b,
    };
    let values =
        BooleanBuffer::collect_bool(one.len().min(other.len()), |row| is_true(one.value(row), other.value(row)));
    let nulls = NullBuffer::union(one.nulls(), other.nulls());
    Ok(Value { array: Arc::new(BooleanArray::new(values, nulls)), is_constant })
}

/// Computes AND and OR with null as a third value.
pub(crate) fn joined(name: &str, one: &Value, other: &Value) -> Result<Value> {
    let (arrays, is_constant) = aligned(&[cast(one, &DataType::Boolean)?, cast(other, &DataType::Boolean)?])?;
    let [one, other] = arrays.as_slice() else { return Err(Error::internal("two conditions are joined")) };
    let kernel = if name == "and" { arrow_arith::boolean::and_kleene } else { or_kleene };
    let found = kernel(one.as_boolean(), other.as_boolean()).map_err(|error| failed(&error))?;
    Ok(Value { array: Arc::new(found), is_constant })
}

/// Returns where a condition is not true.
pub(crate) fn inverted(value: &Value) -> Result<Value> {
    let value = cast(value, &DataType::Boolean)?;
    let array = arrow_arith::boolean::not(booleans(&value)?).map_err(|error| failed(&error))?;
    Ok(value.with(Arc::new(array)))
}

/// Returns where values are null.
pub(crate) fn nulls(value: &Value) -> Result<Value> {
    let array = is_null(&with_nulls(&value.array)).map_err(|error| failed(&error))?;
    Ok(value.with(Arc::new(array)))
}

/// Returns where a condition is true (or false), and not null.
pub(crate) fn decided(value: &Value, is_true: bool) -> Result<Value> {
    let value = cast(value, &DataType::Boolean)?;
    let array = filled(booleans(&value)?, !is_true);
    let value = value.with(Arc::new(array));
    if is_true { Ok(value) } else { inverted(&value) }
}
