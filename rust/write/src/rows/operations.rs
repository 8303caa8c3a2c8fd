//! `_hoodie_operation` of the rows of a write: which change of a changelog a row is (`HoodieOperation`).
//!
//! Files have the column if the user's rows bring it and the option allows it, or if the table's newest commit has it.
//! Commits do not name it in their schema, as in Hudi, whose writers would ask for it; they say beside the schema that
//! files have it.

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::Schema;

use super::options::RowOptions;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns::OPERATION;
use mortice_merge::config::STORES_OPERATIONS;
use mortice_table::timeline::WriteOperation;

/// Names of operations (`HoodieOperation`): rows that are inserted, replaced, and replace others, and deletes.
const NAMES: [&str; 4] = ["I", "-U", "U", "D"];
/// Those of rows that are not in the table any more.
const DELETES: [&str; 2] = ["-U", "D"];

/// Whether files get the column. `is_stored` says whether those of the table have it.
pub(crate) fn stores_operations(is_stored: bool, given: &Schema, options: &RowOptions) -> Result<bool> {
    let is_given = given.fields().find(OPERATION).is_some();
    let is_allowed = options.allows_operations.unwrap_or(is_stored);
    match (is_given, is_allowed) {
        (true, false) => Err(Error::invalid_argument(format!(
            "the rows have a column {OPERATION:?}, which is written with {STORES_OPERATIONS}=true alone; set it, or leave the column out"
        ))),
        _ => Ok(is_stored || is_given),
    }
}

/// Refuses names that no operation has. Null is none.
pub(crate) fn check_operations(rows: &RecordBatch, first_row: u64) -> Result<()> {
    let Some(operations) = operations_of(rows)? else { return Ok(()) };
    let unknown = operations.iter().position(|name| name.is_some_and(|name| !NAMES.contains(&name)));
    match unknown {
        None => Ok(()),
        Some(row) => Err(Error::invalid_argument(format!(
            "row {}, column {OPERATION:?}: {:?} is no operation (I, -U, U, D)",
            first_row.saturating_add(row as u64),
            operations.value(row)
        ))),
    }
}

/// Refuses deletes among rows that are inserted without a look-up of their keys.
///
/// # Errors
/// `InvalidArgument`, naming the row.
pub fn check_inserts(operation: WriteOperation, rows: &RecordBatch, first_row: u64) -> Result<()> {
    let Some(operations) = operations_of(rows)?.filter(|_| operation != WriteOperation::Upsert) else { return Ok(()) };
    match operations.iter().position(|name| name.is_some_and(is_delete)) {
        None => Ok(()),
        Some(row) => Err(Error::invalid_argument(format!(
            "row {}, column {OPERATION:?}: {:?} deletes a row, and {} looks for none; use upsert",
            first_row.saturating_add(row as u64),
            operations.value(row),
            operation.name().to_ascii_lowercase()
        ))),
    }
}

/// Whether a row of this operation is not in the table any more (`HoodieOperation.isDelete`, `isUpdateBefore`).
pub fn is_delete(name: &str) -> bool {
    DELETES.contains(&name)
}

fn operations_of(rows: &RecordBatch) -> Result<Option<&StringArray>> {
    let Some(column) = rows.column_by_name(OPERATION) else { return Ok(None) };
    let operations = column.as_string_opt::<i32>();
    operations.map(Some).ok_or_else(|| Error::internal(format!("column {OPERATION:?} is not of strings")))
}
