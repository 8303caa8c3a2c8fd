//! The records of a commit for one file group, brought to the columns of the file.
//!
//! Meta columns but the record key are null: rows get theirs when they are written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::filter::{filter, filter_record_batch};

use crate::write::meta_columns::check_keys;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::spill::{RowBatchesBuilder, RowMemory};

/// A batch of records.
pub(super) enum Incoming {
    /// Rows that are merged; their delete marks count.
    Rows(RecordBatch),
    /// Keys that are deleted, regardless of stored values.
    Deletes(StringArray),
}

/// Records in commit order. Rows that take too much memory are in files.
pub(super) struct IncomingRecords {
    types: SchemaRef,
    rows: RowBatchesBuilder,
    /// For each batch of keys that are deleted, how many batches of rows come before it.
    deletes: Vec<(usize, StringArray)>,
    row_batches: usize,
}

impl IncomingRecords {
    /// None yet. `types` are the columns of the file.
    pub(super) fn new(types: SchemaRef, memory: RowMemory) -> Self {
        let rows = RowBatchesBuilder::new(SchemaRef::clone(&types), memory);
        Self { types, rows, deletes: Vec::new(), row_batches: 0 }
    }

    /// Adds rows, with one record key each. Rows that `deletes` is true for delete their keys; they come after the
    /// other rows, and no column of theirs is read.
    pub(super) fn add(&mut self, rows: &RecordBatch, keys: &StringArray, deletes: Option<&BooleanArray>) -> Result<()> {
        check_keys(rows, keys)?;
        let Some(deletes) = deletes else {
            return self.push(rows, keys);
        };
        if deletes.len() != rows.num_rows() || deletes.null_count() > 0 {
            let message = format!("{} delete marks for {} rows", deletes.len() - deletes.null_count(), rows.num_rows());
            return Err(Error::internal(message));
        }
        let deleted = deletes.true_count();
        if deleted < rows.num_rows() {
            let kept = BooleanArray::new(!deletes.values(), None);
            let kept_keys = selected(keys, &kept)?;
            let rows = filter_record_batch(rows, &kept).map_err(not_selected)?;
            self.push(&rows, &kept_keys)?;
        }
        if deleted > 0 {
            self.deletes.push((self.row_batches, selected(keys, deletes)?));
        }
        Ok(())
    }

    /// Adds keys that are deleted.
    pub(super) fn add_deletes(&mut self, keys: &StringArray) -> Result<()> {
        let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
        check_keys(
            &RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
                .map_err(not_selected)?,
            keys,
        )?;
        self.deletes.push((self.row_batches, keys.clone()));
        Ok(())
    }

    fn push(&mut self, rows: &RecordBatch, keys: &StringArray) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        // The rows that were given stay where they are, in memory or in a file.
        self.rows.push_of(self.completed(rows, keys)?, rows)?;
        self.row_batches += 1;
        Ok(())
    }

    /// The batches, in the order in which they were added.
    pub(super) fn into_batches(self) -> Vec<Incoming> {
        let mut batches = Vec::with_capacity(self.row_batches.saturating_add(self.deletes.len()));
        let mut deletes = self.deletes.into_iter().peekable();
        for (at, rows) in self.rows.finish().batches().iter().enumerate() {
            while let Some((_, keys)) = deletes.next_if(|(before, _)| *before <= at) {
                batches.push(Incoming::Deletes(keys));
            }
            batches.push(Incoming::Rows(rows.clone()));
        }
        batches.extend(deletes.map(|(_, keys)| Incoming::Deletes(keys)));
        batches
    }

    /// All columns of the file.
    fn completed(&self, rows: &RecordBatch, keys: &StringArray) -> Result<RecordBatch> {
        let column = |field: &FieldRef| -> Result<ArrayRef> {
            let name = field.name().as_str();
            if name == meta_columns::RECORD_KEY {
                return Ok(Arc::new(keys.clone()));
            }
            if meta_columns::ALL.contains(&name) {
                return Ok(new_null_array(field.data_type(), rows.num_rows()));
            }
            let missing = || {
                let message = format!("column {name:?} is missing: rows that are merged have all columns of the table");
                Error::invalid_argument(message)
            };
            as_type(rows.column_by_name(name).ok_or_else(missing)?, field)
        };
        let columns = self.types.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        batch(&self.types, columns, rows.num_rows())
    }
}

fn selected(keys: &StringArray, wanted: &BooleanArray) -> Result<StringArray> {
    let keys = filter(keys, wanted).map_err(not_selected)?;
    keys.as_string_opt::<i32>().cloned().ok_or_else(|| Error::internal("record keys are no strings any more"))
}

fn not_selected(error: ArrowError) -> Error {
    Error::internal(format!("records and deletes were not separated: {error}"))
}

/// The columns of rows that are merged: any may be null here, as meta columns are before rows are written. The writer
/// checks the rows that remain.
pub(super) fn nullable(types: &Schema) -> SchemaRef {
    let fields = types.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// Base rows with these columns, in their order.
pub(super) fn in_types(rows: &RecordBatch, types: &SchemaRef) -> Result<RecordBatch> {
    let column = |field: &FieldRef| {
        let missing = || Error::internal(format!("rows of a base file were read without column {:?}", field.name()));
        as_type(rows.column_by_name(field.name()).ok_or_else(missing)?, field)
    };
    let columns = types.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    batch(types, columns, rows.num_rows())
}

/// A column in the type of a field, if that holds every value of it unchanged.
fn as_type(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let (from, to) = (column.data_type(), field.data_type());
    if from == to {
        return Ok(Arc::clone(column));
    }
    let unfit = || Error::invalid_argument(format!("column {:?} is {from} and cannot be stored as {to}", field.name()));
    if !is_held(from, to) {
        return Err(unfit());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|error| unfit().caused_by(error))
}

/// Returns true if values of one type are values of the other: only the layout differs, or the numbers are shorter.
fn is_held(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Dictionary(_, values), _) => is_held(values, to),
        (DataType::Null, _)
        | (DataType::LargeUtf8 | DataType::Utf8View, DataType::Utf8)
        | (DataType::LargeBinary | DataType::BinaryView, DataType::Binary)
        | (DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16, DataType::Int32 | DataType::Int64)
        | (DataType::Int32 | DataType::UInt32, DataType::Int64)
        | (DataType::Float32, DataType::Float64) => true,
        _ => is_alike(from, to),
    }
}

/// Returns true if the types differ at most in names of list items, and in which nested values may be null.
fn is_alike(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::List(from), DataType::List(to)) | (DataType::Map(from, _), DataType::Map(to, _)) => {
            is_alike(from.data_type(), to.data_type())
        }
        (DataType::Struct(from), DataType::Struct(to)) => {
            let mut pairs = from.iter().zip(to);
            let same = |(from, to): (&FieldRef, &FieldRef)| {
                from.name() == to.name() && is_alike(from.data_type(), to.data_type())
            };
            from.len() == to.len() && pairs.all(same)
        }
        _ => from == to,
    }
}

fn batch(types: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(types), columns, &options).map_err(|error: ArrowError| {
        Error::invalid_argument("records do not fit the columns of their base file").caused_by(error)
    })
}
