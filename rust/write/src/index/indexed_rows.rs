//! Rows with the locations of their keys.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};

use super::tagged::Tagged;
use crate::row_set::WriteRows;
use mortice_base::error::{Error, Result};

/// Rows that are written: no two have the same key and partition, unless the input had.
#[derive(Debug, Clone)]
pub struct IndexedRows {
    /// The rows, with their keys.
    pub rows: WriteRows,
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
