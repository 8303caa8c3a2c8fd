//! Meta columns of rows that the commit wrote; the others keep theirs.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};

use crate::write::base_file::BaseFileTarget;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

/// The rows of a batch that the commit wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrittenRows {
    /// None: all are base rows.
    None,
    /// All.
    All,
    /// Those that are true here.
    Some(Vec<bool>),
}

impl WrittenRows {
    /// Whether a row is one of them.
    pub(super) fn contains(&self, row: usize) -> Result<bool> {
        match self {
            Self::None => Ok(false),
            Self::All => Ok(true),
            Self::Some(rows) => {
                let lost = || Error::internal(format_args!("row {row} of {} that are merged", rows.len()));
                rows.get(row).copied().ok_or_else(lost)
            }
        }
    }
}

/// Sets commit time, sequence number and partition path of the rows that the commit wrote. `first` is the number of the
/// first row in the file, by which sequence numbers count, as in `HoodieAvroParquetWriter`.
pub(super) fn with_new_meta(
    rows: RecordBatch,
    written: &WrittenRows,
    file: &BaseFileTarget,
    first: u64,
) -> Result<RecordBatch> {
    if *written == WrittenRows::None {
        return Ok(rows);
    }
    let instant = file.instant.as_str();
    let task = file.token.task;
    let schema = rows.schema();
    let mut columns = rows.columns().to_vec();
    let mut set = |name: &str, value: &dyn Fn(u64, &mut String)| -> Result<()> {
        let missing = || Error::internal(format!("rows that are written have no column {name}"));
        let (at, _) = schema.column_with_name(name).ok_or_else(missing)?;
        let column = columns.get_mut(at).ok_or_else(missing)?;
        let stored = column.as_string_opt::<i32>().ok_or_else(missing)?;
        *column = replaced(stored, written, first, value)?;
        Ok(())
    };
    set(meta_columns::COMMIT_TIME, &|_, text| text.push_str(instant))?;
    set(meta_columns::PARTITION_PATH, &|_, text| text.push_str(&file.partition))?;
    set(meta_columns::COMMIT_SEQNO, &|number, text| {
        // Writing to a string cannot fail.
        let _ = std::fmt::Write::write_fmt(text, format_args!("{instant}_{task}_{number}"));
    })?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| Error::internal(format!("meta columns do not fit their rows: {error}")))
}

/// The column with other values in the rows that were written.
fn replaced(
    stored: &StringArray,
    written: &WrittenRows,
    first: u64,
    value: &dyn Fn(u64, &mut String),
) -> Result<ArrayRef> {
    let mut values = StringBuilder::with_capacity(stored.len(), stored.values().len());
    let mut text = String::new();
    for (row, number) in (0..stored.len()).zip(first..) {
        if written.contains(row)? {
            text.clear();
            value(number, &mut text);
            values.append_value(&text);
        } else if stored.is_null(row) {
            values.append_null();
        } else {
            values.append_value(stored.value(row));
        }
    }
    Ok(Arc::new(values.finish()))
}
