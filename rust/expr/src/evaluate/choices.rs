//! Functions that choose one of several values.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum};
use arrow_schema::DataType;
use arrow_select::zip::zip;
use mortice_base::{Error, Result};

use super::compare::{compared, filled, nulls, ordered, unified};
use super::value::{Value, aligned, failed};
use crate::kinds::is_float;

fn chosen(mask: &BooleanArray, one: &ArrayRef, other: &ArrayRef) -> Result<ArrayRef> {
    zip(mask, &one.as_ref() as &dyn Datum, &other.as_ref() as &dyn Datum).map_err(|error| failed(&error))
}

/// Returns the first value that is not null.
pub(crate) fn coalesce(values: &[Value]) -> Result<Value> {
    let (arrays, is_constant) = aligned(&unified(values)?)?;
    let mut arrays = arrays.into_iter();
    let Some(mut found) = arrays.next() else { return Err(Error::internal("coalesce has arguments")) };
    for next in arrays {
        if found.data_type().is_null() || found.null_count() == 0 {
            break;
        }
        let is_missing = nulls(&Value::rows(found.clone()))?;
        found = chosen(is_missing.array.as_boolean(), &next, &found)?;
    }
    Ok(Value { array: found, is_constant })
}

/// Returns a value, and null where it equals another one.
pub(crate) fn nullif(value: &Value, other: &Value) -> Result<Value> {
    let is_equal = compared("=", value, other)?;
    let (arrays, is_constant) = aligned(&[value.clone(), is_equal])?;
    let [array, is_equal] = arrays.as_slice() else { return Err(Error::internal("nullif has two arguments")) };
    if array.data_type().is_null() {
        return Ok(Value { array: array.clone(), is_constant });
    }
    let is_equal = filled(is_equal.as_boolean(), false);
    let array = arrow_select::nullif::nullif(array, &is_equal).map_err(|error| failed(&error))?;
    Ok(Value { array, is_constant })
}

/// Returns the greatest or the least value that is not null. NaN is one only if there is no other.
pub(crate) fn extreme(name: &str, values: &[Value]) -> Result<Value> {
    let symbol = if name == "greatest" { ">" } else { "<" };
    let (arrays, is_constant) = aligned(&unified(values)?)?;
    let mut arrays = arrays.into_iter();
    let Some(mut found) = arrays.next() else { return Err(Error::internal("greatest has arguments")) };
    for next in arrays {
        if found.data_type() == &DataType::Null {
            break;
        }
        let is_better = is_better(symbol, &next, &found)?;
        found = chosen(&is_better, &next, &found)?;
    }
    Ok(Value { array: found, is_constant })
}

fn is_better(symbol: &str, next: &ArrayRef, found: &ArrayRef) -> Result<BooleanArray> {
    let (next, found) = (Value::rows(next.clone()), Value::rows(found.clone()));
    let mut is_better = filled(ordered(symbol, &next, &found)?.array.as_boolean(), false);
    if is_float(found.kind()) {
        // Only NaN differs from itself.
        let is_nan = filled(ordered("!=", &found, &found)?.array.as_boolean(), false);
        is_better = arrow_arith::boolean::or(&is_better, &is_nan).map_err(|error| failed(&error))?;
    }
    let is_missing = nulls(&found)?;
    let is_better =
        arrow_arith::boolean::or(&is_better, is_missing.array.as_boolean()).map_err(|error| failed(&error))?;
    let is_there = arrow_arith::boolean::is_not_null(&next.array).map_err(|error| failed(&error))?;
    arrow_arith::boolean::and(&is_better, &is_there).map_err(|error| failed(&error))
}
