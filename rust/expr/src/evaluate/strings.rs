//! Functions of strings.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, Int32Array, Scalar, StringArray, new_null_array};
use arrow_schema::DataType;
use mortice_base::{Error, Result};

use super::cast::as_strings;
use super::value::{Value, aligned, downcast, failed};
use crate::kinds::{is_text, type_name};

/// Returns strings. `InvalidArgument` for values of another type.
fn strings(name: &str, value: &Value) -> Result<StringArray> {
    let kind = value.kind();
    if kind.is_null() || is_text(kind) {
        return as_strings(&value.array);
    }
    Err(Error::invalid_argument(format!("{name} takes strings, got {}; cast the value", type_name(kind))))
}

/// Returns a constant of one value. `InvalidArgument` for a column.
fn constant<'a>(name: &str, value: &'a Value) -> Result<&'a Value> {
    if value.is_constant {
        return Ok(value);
    }
    Err(Error::invalid_argument(format!("{name} takes a constant here, got a column")))
}

fn constant_text(name: &str, value: &Value) -> Result<Option<String>> {
    let value = constant(name, value)?;
    if value.is_null_constant() {
        return Ok(None);
    }
    if !is_text(value.kind()) {
        let kind = type_name(value.kind());
        return Err(Error::invalid_argument(format!("{name} takes a string here, got {kind}")));
    }
    Ok(as_strings(&value.array)?.iter().next().flatten().map(str::to_owned))
}

/// Returns an integer that is the same in all rows; None if it is null.
pub(crate) fn constant_integer(name: &str, value: &Value) -> Result<Option<i64>> {
    let value = constant(name, value)?;
    if value.is_null_constant() {
        return Ok(None);
    }
    if !value.kind().is_integer() {
        let kind = type_name(value.kind());
        return Err(Error::invalid_argument(format!("{name} takes an integer here, got {kind}")));
    }
    let number = super::cast::exact_array(&value.array, &DataType::Int64)?;
    Ok(downcast::<arrow_array::Int64Array>(&number)?.iter().next().flatten())
}

fn null_of(value: &Value, kind: &DataType) -> Value {
    value.with(new_null_array(kind, value.array.len()))
}

/// Computes a string of each string.
pub(crate) fn mapped(name: &str, value: &Value) -> Result<Value> {
    let strings = strings(name, value)?;
    let compute: fn(&str) -> String = match name {
        "lower" => |text| text.to_lowercase(),
        "upper" => |text| text.to_uppercase(),
        "ltrim" => |text| text.trim_start_matches(' ').to_owned(),
        "rtrim" => |text| text.trim_end_matches(' ').to_owned(),
        _ => |text| text.trim_matches(' ').to_owned(),
    };
    let found: StringArray = strings.iter().map(|text| text.map(compute)).collect();
    Ok(value.with(Arc::new(found)))
}

/// Returns the number of characters.
pub(crate) fn length(value: &Value) -> Result<Value> {
    let strings = strings("length", value)?;
    let count = |text: &str| i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    let found: Int32Array = strings.iter().map(|text| text.map(count)).collect();
    Ok(value.with(Arc::new(found)))
}

/// Returns where strings match a pattern, or contain, begin or end with a part.
pub(crate) fn searched(name: &str, value: &Value, part: &Value) -> Result<Value> {
    let shown = if name == "like" { "LIKE" } else { name };
    let strings = strings(shown, value)?;
    let Some(part) = constant_text(shown, part)? else { return Ok(null_of(value, &DataType::Boolean)) };
    let found: BooleanArray = match name {
        "contains" => strings.iter().map(|text| text.map(|text| text.contains(&part))).collect(),
        "startswith" => strings.iter().map(|text| text.map(|text| text.starts_with(&part))).collect(),
        "endswith" => strings.iter().map(|text| text.map(|text| text.ends_with(&part))).collect(),
        _ => {
            let pattern = Scalar::new(StringArray::from(vec![part]));
            arrow_string::like::like(&strings, &pattern).map_err(|error| failed(&error))?
        }
    };
    Ok(value.with(Arc::new(found)))
}

/// As in SQL: positions are counted from 1, from the end if they are negative.
pub(crate) fn substring(arguments: &[Value]) -> Result<Value> {
    let [value, start, rest @ ..] = arguments else { return Err(Error::internal("substring has arguments")) };
    let strings = strings("substring", value)?;
    let start = constant_integer("substring", start)?;
    let length = rest.first().map(|length| constant_integer("substring", length)).transpose()?;
    let (Some(start), false) = (start, length == Some(None)) else { return Ok(null_of(value, &DataType::Utf8)) };
    let length = length.flatten();
    let found: StringArray = strings.iter().map(|text| text.map(|text| part(text, start, length))).collect();
    Ok(value.with(Arc::new(found)))
}

fn part(text: &str, start: i64, length: Option<i64>) -> String {
    let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let first = match start {
        start if start > 0 => start.saturating_sub(1),
        0 => 0,
        start => count.saturating_add(start),
    };
    let end = length.map_or(count, |length| first.saturating_add(length.max(0))).min(count);
    let first = first.max(0);
    let (first, taken) = (usize::try_from(first), usize::try_from(end.saturating_sub(first)));
    text.chars().skip(first.unwrap_or(usize::MAX)).take(taken.unwrap_or(0)).collect()
}

/// Replaces a part of strings by another one.
pub(crate) fn replace(value: &Value, old: &Value, new: &Value) -> Result<Value> {
    let (old, new) = (constant_text("replace", old)?, constant_text("replace", new)?);
    let (Some(old), Some(new)) = (old, new) else { return Ok(null_of(value, &DataType::Utf8)) };
    let strings = strings("replace", value)?;
    if old.is_empty() {
        return Ok(value.with(Arc::new(strings)));
    }
    let found: StringArray = strings.iter().map(|text| text.map(|text| text.replace(&old, &new))).collect();
    Ok(value.with(Arc::new(found)))
}

/// Joins strings; null if one is.
pub(crate) fn concat(values: &[Value]) -> Result<Value> {
    let strings: Result<Vec<_>> =
        values.iter().map(|value| Ok(value.with(Arc::new(strings("concat", value)?)))).collect();
    let (arrays, is_constant) = aligned(&strings?)?;
    let strings = arrays.iter().map(|array| downcast::<StringArray>(array)).collect::<Result<Vec<_>>>()?;
    let joined = arrow_string::concat_elements::concat_elements_utf8_many(&strings).map_err(|error| failed(&error))?;
    Ok(Value { array: Arc::new(joined), is_constant })
}
