//! Rows with their keys and locations.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, StringArray};

use super::tagged::Tagged;
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::RowBatches;

/// Rows that are written: no two have the same key and partition, unless the input had.
#[derive(Debug, Clone)]
pub struct IndexedRows {
    /// The rows, with the columns of the input.
    pub rows: RowBatches,
    /// Their keys.
    pub keys: RowKeys,
    /// Which are deletes.
    pub is_delete: BooleanArray,
    /// Which deletes apply regardless of ordering values: those of the operation `delete`, and those of rows that have moved.
    pub is_unconditional: BooleanArray,
    /// Which change a stored row in some columns only, so that a log needs no others of them.
    pub is_update: BooleanArray,
    /// Where their keys are.
    pub tagged: Tagged,
}

/// A column of strings.
pub(super) fn strings(batch: &RecordBatch, name: &str) -> Result<StringArray> {
    let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.cloned().ok_or_else(|| Error::internal(format_args!("stored rows without {name}")))
}

/// Rows by record key.
pub(super) type ByKey<T> = HashMap<String, T, foldhash::fast::RandomState>;
