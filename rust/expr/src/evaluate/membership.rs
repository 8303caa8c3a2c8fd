//! `IN`: one comparison for each item, or a look-up in the set of them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use mortice_base::Result;

use super::cast::as_type;
use super::compare::{as_moment, compared, joined};
use super::value::{Value, failed};
use crate::kinds::{common_type, is_float};
use crate::literals;

/// Items from which on a set is quicker than comparisons.
const SET_FROM: usize = 8;

/// Returns whether values are among items; null for a value that is null, and for one that is not found while an item
/// is null.
pub(crate) fn among(value: &Value, items: &[Value]) -> Result<Value> {
    if let Some(found) = among_constants(value, items)? {
        return Ok(found);
    }
    let mut found = Value::constant(literals::boolean(false));
    for item in items {
        found = joined("or", &found, &compared("=", value, item)?)?;
    }
    Ok(found)
}

/// Looks values up in the set of items: constants that are compared in one type, in which equal values have equal
/// bytes. None for others.
fn among_constants(value: &Value, items: &[Value]) -> Result<Option<Value>> {
    if value.is_constant || items.len() < SET_FROM {
        return Ok(None);
    }
    if items.iter().any(|item| !item.is_constant || item.is_null_constant()) {
        return Ok(None);
    }
    let items = items.iter().map(|item| as_moment(item, value.kind())).collect::<Result<Vec<_>>>()?;
    let mut kinds = items.iter().map(|item| common_type(value.kind(), item.kind())).collect::<Result<Vec<_>>>()?;
    kinds.dedup();
    let [kind] = kinds.as_slice() else { return Ok(None) };
    if is_float(kind) || kind.is_nested() || kind.is_null() {
        return Ok(None);
    }
    look_up(value, &items, kind).map(Some)
}

fn look_up(value: &Value, items: &[Value], kind: &DataType) -> Result<Value> {
    let items = items.iter().map(|item| as_type(item, kind)).collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = items.iter().map(|item| item.array.as_ref()).collect();
    let items = concat(&arrays).map_err(|error| failed(&error))?;
    let values = as_type(value, kind)?.array;
    let nulls = values.logical_nulls();
    let converter = RowConverter::new(vec![SortField::new(kind.clone())]).map_err(|error| failed(&error))?;
    let items = converter.convert_columns(&[items]).map_err(|error| failed(&error))?;
    let values = converter.convert_columns(&[values]).map_err(|error| failed(&error))?;
    let set: HashSet<_> = items.iter().collect();
    let found: BooleanBuffer = values.iter().map(|row| set.contains(&row)).collect();
    Ok(Value::rows(Arc::new(BooleanArray::new(found, nulls))))
}
