//! Keys of rows: some of them, and those of several sets.

use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::take::take;

use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;

/// The keys of some rows.
///
/// # Errors
/// `InvalidArgument` if they are too large together.
pub fn select_keys(keys: &RowKeys, rows: &UInt32Array) -> Result<RowKeys> {
    Ok(RowKeys {
        record_keys: select_strings(&keys.record_keys, rows)?,
        partitions: select_strings(&keys.partitions, rows)?,
    })
}

/// Keys, one set behind the other.
///
/// # Errors
/// `InvalidArgument` if they are too large together.
pub fn join_keys<'k>(keys: impl IntoIterator<Item = &'k RowKeys>) -> Result<RowKeys> {
    let (record_keys, partitions): (Vec<&dyn Array>, Vec<&dyn Array>) =
        keys.into_iter().map(|keys| -> (&dyn Array, &dyn Array) { (&keys.record_keys, &keys.partitions) }).unzip();
    Ok(RowKeys { record_keys: join_strings(&record_keys)?, partitions: join_strings(&partitions)? })
}

/// Some values of a column of strings.
///
/// # Errors
/// `InvalidArgument` if they are too large together.
pub fn select_strings(column: &StringArray, rows: &UInt32Array) -> Result<StringArray> {
    strings(&take(column, rows, None).map_err(too_large)?)
}

fn join_strings(columns: &[&dyn Array]) -> Result<StringArray> {
    if columns.is_empty() {
        return Ok(StringArray::new_null(0));
    }
    strings(&concat(columns).map_err(too_large)?)
}

/// A column of strings, such as a kernel returns it.
///
/// # Errors
/// `Internal` for another type.
pub fn strings(column: &dyn Array) -> Result<StringArray> {
    column.as_string_opt::<i32>().cloned().ok_or_else(|| Error::internal("keys are no strings"))
}

fn too_large(error: ArrowError) -> Error {
    Error::invalid_argument("the keys of one write are too large; write its rows in parts").caused_by(error)
}
