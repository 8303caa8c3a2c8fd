//! Rows that another engine has joined, as the columns of one batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;

use super::joined_rows::{DELETES_COLUMN, JoinedRows};
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};

/// What the names of columns of the given row begin with.
pub const GIVEN_PREFIX: &str = "given:";
/// What the names of columns of the stored row begin with.
pub const STORED_PREFIX: &str = "stored:";
/// The column that is true in rows that match a stored one.
pub const MATCHED_COLUMN: &str = "_mortice_matched";

impl JoinedRows {
    /// Reads rows with [`MATCHED_COLUMN`], and among the columns of the given row, if it has it, [`DELETES_COLUMN`].
    ///
    /// # Errors
    /// `InvalidArgument` for marks that are no booleans.
    pub fn from_columns(rows: &RecordBatch) -> Result<Self> {
        let given = side(rows, GIVEN_PREFIX)?;
        let is_matched = marks(rows, MATCHED_COLUMN)?;
        let missing = || Error::invalid_argument(format!("joined rows have no column {MATCHED_COLUMN:?}"));
        let none = || BooleanArray::from(BooleanBuffer::new_unset(rows.num_rows()));
        Ok(Self {
            is_matched: is_matched.ok_or_else(missing)?,
            is_deleted: marks(&given, DELETES_COLUMN)?.unwrap_or_else(none),
            stored: side(rows, STORED_PREFIX)?,
            given,
        })
    }
}

/// The columns whose names begin with a prefix, without it.
pub(super) fn side(rows: &RecordBatch, prefix: &str) -> Result<RecordBatch> {
    let (schema, columns) = (rows.schema(), rows.columns());
    let own = schema.fields().iter().zip(columns).filter_map(|(field, column)| {
        let name = field.name().strip_prefix(prefix)?;
        Some((Arc::new(field.as_ref().clone().with_name(name).with_nullable(true)), Arc::clone(column)))
    });
    let (fields, columns) = own.unzip();
    batch_of(fields, columns, rows.num_rows())
}

/// A column of marks, false where it is null; none if there is no such column.
fn marks(rows: &RecordBatch, name: &str) -> Result<Option<BooleanArray>> {
    let Some(column) = rows.column_by_name(name) else { return Ok(None) };
    let unfit = || Error::invalid_argument(format!("column {name:?} of joined rows must be boolean"));
    let flags = column.as_boolean_opt().ok_or_else(unfit)?;
    Ok(Some(flags.iter().map(|flag| Some(flag.unwrap_or(false))).collect()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn columns_belong_to_the_side_that_their_names_begin_with() {
        let numbers = |value: i64| Arc::new(Int64Array::from(vec![value, value])) as ArrayRef;
        let flags = |flags: [Option<bool>; 2]| Arc::new(BooleanArray::from(flags.to_vec())) as ArrayRef;
        let given = format!("{GIVEN_PREFIX}{DELETES_COLUMN}");
        let rows = RecordBatch::try_from_iter_with_nullable([
            ("given:a", numbers(1), true),
            ("stored:a", numbers(2), true),
            ("stored:given:b", numbers(3), true),
            (given.as_str(), flags([Some(true), None]), true),
            (MATCHED_COLUMN, flags([None, Some(true)]), true),
        ]);
        let rows = JoinedRows::from_columns(&rows.unwrap()).unwrap();
        assert_eq!(rows.given.column_by_name("a").unwrap(), &numbers(1));
        assert_eq!(rows.stored.column_by_name("a").unwrap(), &numbers(2));
        assert_eq!(rows.stored.column_by_name("given:b").unwrap(), &numbers(3));
        assert_eq!(rows.is_matched, BooleanArray::from(vec![false, true]));
        assert_eq!(rows.is_deleted, BooleanArray::from(vec![true, false]));
    }

    #[test]
    fn marks_are_booleans() {
        let numbers = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let without = RecordBatch::try_from_iter([("given:a", numbers())]).unwrap();
        assert!(JoinedRows::from_columns(&without).unwrap_err().text().contains("no column"));
        let other = RecordBatch::try_from_iter([(MATCHED_COLUMN, numbers())]).unwrap();
        assert!(JoinedRows::from_columns(&other).unwrap_err().text().contains("must be boolean"));
    }
}
