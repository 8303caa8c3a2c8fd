//! Deleted keys as rows, for reads that return them: the values of a delete block in the table's columns.
//!
//! | column | value |
//! |---|---|
//! | `_hoodie_record_key`, `_hoodie_partition_path` | those of the block |
//! | `_hoodie_commit_time` | the block's instant |
//! | the only record key field | the key, if it is a string or an integer |
//! | ordering fields | the ordering value of the delete |
//!
//! All others are null. `_hoodie_operation` is set when the rows are added to the output.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::log::content::deleted::{DeletedKey, DeletedKeys};
use mortice_merge::keys::KeyColumns;

/// Converts deleted keys to rows.
#[derive(Debug, Clone)]
pub(in crate::read) struct DeletedKeyRows {
    projected: SchemaRef,
    keys: KeyColumns,
    /// The field that is the record key.
    key_field: Option<String>,
    /// Whether ordering values are exactly those of the deletes.
    is_exact: bool,
}

impl DeletedKeyRows {
    pub(in crate::read) fn new(projected: SchemaRef, keys: KeyColumns, key_fields: &[String]) -> Self {
        let key_field = match key_fields {
            [only] => Some(only.clone()),
            _ => None,
        };
        Self { projected, keys, key_field, is_exact: false }
    }

    /// Keeps ordering values as they are: null for a delete that has none. Values that their column cannot hold are
    /// errors.
    pub(in crate::read) fn exact(self, is_exact: bool) -> Self {
        Self { is_exact, ..self }
    }

    /// Returns the values of a block, one row per delete: the projected columns for which it has values.
    pub(in crate::read) fn rows_of_block(&self, deletes: &DeletedKeys, instant: Option<&str>) -> Result<RecordBatch> {
        let rows = deletes.deleted.len();
        let keys = strings(deletes, |one| one.key.as_ref())?;
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for field in self.projected.fields() {
            let column: Option<ArrayRef> = match field.name().as_str() {
                meta_columns::RECORD_KEY => Some(Arc::new(keys.clone())),
                meta_columns::PARTITION_PATH => Some(Arc::new(strings(deletes, |one| one.partition.as_ref())?)),
                meta_columns::COMMIT_TIME => Some(Arc::new(StringArray::from(vec![instant; rows]))),
                name if Some(name) == self.key_field.as_deref() => key_values(&keys, field.data_type()),
                name if self.is_exact => self.keys.exact_ordering_of_deletes(name, deletes)?,
                name => self.keys.ordering_of_deletes(name, deletes)?,
            };
            if let Some(column) = column.filter(|column| column.data_type() == field.data_type()) {
                fields.push(Arc::clone(field));
                columns.push(column);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(nullable(&Schema::new(fields))), columns, &options).map_err(failed)
    }
}

/// Returns the given rows of [`DeletedKeyRows::rows_of_block`], with all projected columns.
pub(in crate::read) fn deleted_rows(known: &RecordBatch, rows: &[u32], projected: &SchemaRef) -> Result<RecordBatch> {
    let known = take_record_batch(known, &UInt32Array::from(rows.to_vec())).map_err(failed)?;
    let columns = projected.fields().iter().map(|field| match known.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => arrow_array::new_null_array(field.data_type(), rows.len()),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(projected), columns.collect(), &options).map_err(failed)
}

/// All columns of a deleted row are nullable, independently of the table's schema.
pub(in crate::read) fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new(fields.collect::<Vec<_>>())
}

fn strings<'a>(
    deletes: &'a DeletedKeys,
    of: impl Fn(&'a DeletedKey) -> Option<&'a std::ops::Range<u32>>,
) -> Result<StringArray> {
    let text = |at: &std::ops::Range<u32>| {
        let bytes = deletes.text.get(at.start as usize..at.end as usize);
        let bytes = bytes.ok_or_else(|| Error::internal(format_args!("a deleted key at {at:?} of a shorter block")))?;
        std::str::from_utf8(bytes).map_err(|error| {
            Error::corrupt("invalid deleted key: not UTF-8").at_offset(u64::from(at.start)).caused_by(error)
        })
    };
    deletes.deleted.iter().map(|one| of(one).map(text).transpose()).collect()
}

/// Converts keys to values of the key field; `None` for a type whose strings are ambiguous.
fn key_values(keys: &StringArray, kind: &DataType) -> Option<ArrayRef> {
    let numbers = || keys.iter().map(|key| key.and_then(|key| key.parse::<i64>().ok()));
    Some(match kind {
        DataType::Utf8 => Arc::new(keys.clone()),
        DataType::Int64 => Arc::new(numbers().collect::<Int64Array>()),
        DataType::Int32 => {
            Arc::new(numbers().map(|one| one.and_then(|one| i32::try_from(one).ok())).collect::<Int32Array>())
        }
        _ => return None,
    })
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("deleted keys cannot be converted to rows").caused_by(error)
}
