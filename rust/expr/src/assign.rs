//! Values in the type of the column that they are assigned to.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, ListArray, MapArray, StructArray, new_null_array};
use arrow_schema::{DataType, Field};
use mortice_base::{Error, Result};

use crate::evaluate::{Value, as_moment, as_strings, cast, exact_array, exact_cast, failed, lossy, ordered};
use crate::kinds::{has_zone, is_bytes, is_date, is_decimal, is_float, is_number, is_text, is_timestamp, type_name};
use crate::moments::{MICROS_OF_DAY, parse_moment};
use crate::text::quoted;

/// Returns values in the type of a column.
///
/// A string constant becomes the date or time that it says; a decimal becomes the nearest number of a column of
/// floating-point numbers. Other values are cast only if the column holds them exactly. `InvalidArgument`, naming the
/// column, otherwise.
pub(crate) fn assigned(value: &Value, column: &Field) -> Result<Value> {
    let kind = column.data_type();
    let value = exact_moment(value, column)?;
    let source = value.kind();
    if source == kind || source.is_null() {
        return exact_cast(&value, kind);
    }
    let (name, shown) = (quoted(column.name()), type_name(kind));
    if !is_assignable(source, kind) {
        let source = type_name(source);
        return Err(Error::invalid_argument(format!("column {name} is {shown}, and the value {source}; cast it")));
    }
    value.map(|array| exactly(array, kind)).map_err(|error| {
        Error::invalid_argument(format!(
            "column {name} is {shown}, which does not hold a value exactly: {}",
            error.text()
        ))
    })
}

/// Returns a string constant as the date or time of a column, unless it says another one, or more.
fn exact_moment(value: &Value, column: &Field) -> Result<Value> {
    let kind = column.data_type();
    let is_read = value.is_constant && is_text(value.kind()) && (is_timestamp(kind) || is_date(kind));
    if !is_read || value.array.null_count() > 0 {
        return as_moment(value, kind);
    }
    let text = as_strings(&value.array)?.iter().next().flatten().unwrap_or_default().to_owned();
    let says = match kind {
        DataType::Timestamp(_, Some(_)) => true,
        DataType::Timestamp(_, None) => parse_moment(&text).is_some_and(|moment| !moment.has_zone),
        _ => parse_moment(text.trim()).is_some_and(|m| !m.has_zone && m.micros.rem_euclid(MICROS_OF_DAY) == 0),
    };
    let read = if says { as_moment(value, kind).ok() } else { None };
    read.ok_or_else(|| {
        let (name, kind) = (quoted(column.name()), type_name(kind));
        Error::invalid_argument(format!("column {name} is {kind}, which does not hold {} exactly", quoted(&text)))
    })
}

fn is_assignable(source: &DataType, kind: &DataType) -> bool {
    if is_timestamp(source) && is_timestamp(kind) {
        return has_zone(source) == has_zone(kind);
    }
    if is_float(source) && is_decimal(kind) {
        return false;
    }
    let is_nested = source.is_nested() && std::mem::discriminant(source) == std::mem::discriminant(kind);
    let both = |is_kind: fn(&DataType) -> bool| is_kind(source) && is_kind(kind);
    is_nested || both(is_number) || both(is_text) || both(is_bytes)
}

/// Returns an array in another type. `InvalidArgument` for a value that it does not hold.
fn exactly(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let source = array.data_type();
    if source == kind {
        return Ok(array.clone());
    }
    match kind {
        DataType::Struct(_) | DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => nested(array, kind),
        _ if is_float(kind) && is_decimal(source) => Ok(cast(&Value::rows(array.clone()), kind)?.array),
        _ if is_float(kind) && is_number(source) => exact_float(array, kind),
        _ => exact_array(array, kind),
    }
}

fn exact_float(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let converted = cast(&Value::rows(array.clone()), kind)?;
    let back = cast(&converted, array.data_type())?;
    let value = Value::rows(array.clone());
    let (differs, is_number) = (ordered("!=", &back, &value)?, ordered("=", &value, &value)?);
    let (differs, is_number) = (differs.array.as_boolean(), is_number.array.as_boolean());
    let is_lost = |row: &usize| differs.is_valid(*row) && differs.value(*row) && is_number.value(*row);
    if let Some(row) = (0..array.len()).find(is_lost) {
        return Err(lossy(array, row, kind));
    }
    Ok(converted.array)
}

fn nested(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let other = || Error::invalid_argument(format!("the value is {}", type_name(array.data_type())));
    let nulls = array.nulls().cloned();
    let made: std::result::Result<ArrayRef, _> = match (array.data_type(), kind) {
        (DataType::Struct(from), DataType::Struct(to)) => {
            // A field that the value lacks is null; one that the column lacks would be lost.
            let is_held = from.iter().all(|field| to.find(field.name()).is_some());
            if !is_held || to.iter().any(|field| !field.is_nullable() && from.find(field.name()).is_none()) {
                return Err(other());
            }
            let part = |field: &Arc<Field>| match array.as_struct().column_by_name(field.name()) {
                Some(part) => exactly(part, field.data_type()),
                None => Ok(new_null_array(field.data_type(), array.len())),
            };
            let parts = to.iter().map(part).collect::<Result<Vec<_>>>()?;
            StructArray::try_new(to.clone(), parts, nulls).map(|array| Arc::new(array) as ArrayRef)
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = exactly(list.values(), item.data_type())?;
            ListArray::try_new(item.clone(), list.offsets().clone(), values, nulls)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let list = array.as_list::<i64>();
            let values = exactly(list.values(), item.data_type())?;
            LargeListArray::try_new(item.clone(), list.offsets().clone(), values, nulls)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        (DataType::Map(..), DataType::Map(entries, is_sorted)) => {
            let map = array.as_map();
            let DataType::Struct(fields) = entries.data_type() else { return Err(other()) };
            let parts =
                map.entries().columns().iter().zip(fields).map(|(part, field)| exactly(part, field.data_type()));
            let values = StructArray::try_new(fields.clone(), parts.collect::<Result<Vec<_>>>()?, None);
            let values = values.map_err(|error| failed(&error))?;
            MapArray::try_new(entries.clone(), map.offsets().clone(), values, nulls, *is_sorted)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        _ => return Err(other()),
    };
    made.map_err(|error| failed(&error))
}
