//! Rows that are to be new, as those that a merge inserts: the write is refused if the table has a row of their key,
//! anywhere the index looks for it. Without that the row would replace the stored one, or move it.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};

use super::index::Index;
use super::indexed_rows::{IndexedRows, strings};
use super::present_keys::present_keys;
use crate::row_set::{RowMark, select_keys};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_base::row_number::at;
use mortice_table::plan::OpenTable;

/// Which rows are to be new, and have a key that the index has found. Logs may have deleted its row.
#[must_use]
pub(super) fn located_inserts(rows: &IndexedRows) -> Vec<bool> {
    let located = |(row, mark): (usize, RowMark)| mark == RowMark::Insert && rows.tagged.location(row).is_some();
    rows.rows.marks.iter().enumerate().map(located).collect()
}

/// Refuses rows that are to be new and have a key that the index has found, where no log can have deleted its row.
///
/// # Errors
/// `InvalidArgument` if there is one.
pub fn refuse_located_inserts(rows: &IndexedRows) -> Result<()> {
    match located_inserts(rows).iter().position(|is_located| *is_located) {
        None => Ok(()),
        Some(row) => Err(stored_key(rows, row, rows.tagged.location(row).map(|location| location.partition.as_str()))),
    }
}

/// The same, of an index that is not global: the file groups are read that have logs.
pub(super) fn refuse_present_inserts(table: &OpenTable, index: &dyn Index, rows: &IndexedRows) -> Result<()> {
    let located = located_inserts(rows);
    let numbers: Vec<u32> = (0_u32..).zip(&located).filter(|(_, is)| **is).map(|(row, _)| row).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    let keys = select_keys(&rows.rows.keys, &UInt32Array::from(numbers.clone()))?;
    let present = present_keys(table, index, &keys, &rows.tagged.of_rows(&numbers)?)?;
    match numbers.iter().zip(present).find(|(_, is_present)| *is_present) {
        None => Ok(()),
        Some((row, _)) => Err(stored_key(rows, at(*row), rows.rows.keys.partitions.iter().nth(at(*row)).flatten())),
    }
}

/// The same, given the stored rows of their keys.
pub(super) fn refuse_stored_inserts(
    rows: &IndexedRows,
    stored: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    let mut found: HashSet<(Arc<str>, String)> = HashSet::new();
    for batch in stored {
        let batch = batch?;
        let (keys, partitions) =
            (strings(&batch, meta_columns::RECORD_KEY)?, strings(&batch, meta_columns::PARTITION_PATH)?);
        for (partition, key) in partitions.iter().zip(&keys) {
            found.extend(partition.zip(key).map(|(partition, key)| (Arc::from(partition), key.to_owned())));
        }
    }
    for (row, is_located) in located_inserts(rows).into_iter().enumerate() {
        let keys = &rows.rows.keys;
        let (partition, key) = (keys.partitions.value(row), keys.record_keys.value(row));
        if is_located && found.contains(&(Arc::from(partition), key.to_owned())) {
            return Err(stored_key(rows, row, Some(partition)));
        }
    }
    Ok(())
}

/// The error of a row that is to be new, and whose key a partition has.
pub(super) fn stored_key(rows: &IndexedRows, row: usize, partition: Option<&str>) -> Error {
    let key = rows.rows.keys.record_keys.iter().nth(row).flatten().unwrap_or_default();
    let place = partition.filter(|path| !path.is_empty()).map(|path| format!(", in partition {path:?},"));
    Error::invalid_argument(format!(
        "the row to insert with the key {key:?} is in the table{} though no stored row matches it; match by the record key, or give a condition to the clause that inserts",
        place.unwrap_or_else(|| ",".to_owned())
    ))
}
