//! The records of a commit for one file group, brought to the columns of the file.
//!
//! Meta columns but the record key are null: rows get theirs when they are written.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, Field, FieldRef, SchemaRef};
use arrow_select::filter::filter_record_batch;

use crate::error::{Error, Result};
use crate::names::meta_columns;
use crate::write::meta_columns::check_keys;

/// What is done with the rows of a batch of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// They are merged; their delete marks count.
    Data,
    /// Their keys are deleted, whatever is stored.
    Delete,
}

/// Records in commit order.
pub(super) struct IncomingRecords {
    types: SchemaRef,
    batches: Vec<(RecordKind, RecordBatch)>,
}

impl IncomingRecords {
    /// None yet. `types` are the columns of the file.
    pub(super) const fn new(types: SchemaRef) -> Self {
        Self { types, batches: Vec::new() }
    }

    /// Adds rows, with one record key each. Rows that `deletes` is true for delete their keys; they come after the other rows.
    ///
    /// # Errors
    /// `InvalidArgument` for keys that are null, empty, or not one for each row; for columns that do not fit those of the file.
    pub(super) fn add(&mut self, rows: &RecordBatch, keys: &StringArray, deletes: Option<&BooleanArray>) -> Result<()> {
        check_keys(rows, keys)?;
        if let Some(deletes) = deletes
            && (deletes.len() != rows.num_rows() || deletes.null_count() > 0)
        {
            let message = format!("{} delete marks for {} rows", deletes.len() - deletes.null_count(), rows.num_rows());
            return Err(Error::internal(message));
        }
        let deleted = deletes.map_or(0, BooleanArray::true_count);
        if deleted < rows.num_rows() {
            self.batches
                .push((RecordKind::Data, selected(self.completed(rows, keys, RecordKind::Data)?, deletes, false)?));
        }
        if deleted > 0 {
            let rows = self.completed(rows, keys, RecordKind::Delete)?;
            self.batches.push((RecordKind::Delete, selected(rows, deletes, true)?));
        }
        Ok(())
    }

    /// The batches, in the order in which they were added.
    pub(super) fn into_batches(self) -> Vec<(RecordKind, RecordBatch)> {
        self.batches
    }

    /// All columns of the file. Of deletes the key alone is read, so that they may lack any column.
    fn completed(&self, rows: &RecordBatch, keys: &StringArray, kind: RecordKind) -> Result<RecordBatch> {
        let column = |field: &FieldRef| -> Result<ArrayRef> {
            let name = field.name().as_str();
            match rows.column_by_name(name) {
                _ if name == meta_columns::RECORD_KEY => Ok(Arc::new(keys.clone())),
                Some(column) if !meta_columns::ALL.contains(&name) => as_type(column, field),
                None if kind == RecordKind::Data && !meta_columns::ALL.contains(&name) => Err(Error::invalid_argument(
                    format!("column {name:?} is missing: rows that are merged have all columns of the table"),
                )),
                _ => Ok(new_null_array(field.data_type(), rows.num_rows())),
            }
        };
        let columns = self.types.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        batch(&self.types, columns, rows.num_rows())
    }
}

/// The rows whose delete mark is `deleted`.
fn selected(rows: RecordBatch, deletes: Option<&BooleanArray>, deleted: bool) -> Result<RecordBatch> {
    let Some(deletes) = deletes else { return Ok(rows) };
    let wanted = BooleanArray::new(if deleted { deletes.values().clone() } else { !deletes.values() }, None);
    filter_record_batch(&rows, &wanted).map_err(|error| Error::internal(format!("records were not separated: {error}")))
}

/// The columns that all rows of a merge have: any may be null here, as in the row of a delete. The writer checks the rows that remain.
pub(super) fn nullable(types: &arrow_schema::Schema) -> SchemaRef {
    let fields = types.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<Field>>()))
}

/// Base rows with these columns, in their order.
///
/// # Errors
/// `Internal` for a missing column.
pub(super) fn in_types(rows: &RecordBatch, types: &SchemaRef) -> Result<RecordBatch> {
    let column = |field: &FieldRef| {
        let missing = || Error::internal(format!("rows of a base file were read without column {:?}", field.name()));
        as_type(rows.column_by_name(field.name()).ok_or_else(missing)?, field)
    };
    let columns = types.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    batch(types, columns, rows.num_rows())
}

/// A column in the type of a field. Values that do not fit are an error, not null.
fn as_type(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, field.data_type(), &options).map_err(|error| {
        let (name, from, to) = (field.name(), column.data_type(), field.data_type());
        Error::invalid_argument(format!("column {name:?} is {from} and cannot be stored as {to}")).caused_by(error)
    })
}

fn batch(types: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(types), columns, &options).map_err(|error: ArrowError| {
        Error::invalid_argument("records do not fit the columns of their base file").caused_by(error)
    })
}
