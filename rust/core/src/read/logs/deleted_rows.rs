//! Deleted keys as rows, for reads that deliver them: what a delete block tells of a key, in the table's columns.
//!
//! | column | value |
//! |---|---|
//! | `_hoodie_record_key`, `_hoodie_partition_path` | as the block has them |
//! | `_hoodie_commit_time` | the block's instant |
//! | the one record key field | the key, where it is text or a whole number |
//! | ordering fields | what the delete was ordered by |
//!
//! All others are null. `_hoodie_operation` is set when the rows are woven in.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use crate::error::{Error, Result};
use crate::keys::KeyColumns;
use crate::log::content::deleted::{Deleted, Deletes};
use crate::names::meta_columns;

/// Makes rows of deleted keys.
#[derive(Debug, Clone)]
pub(in crate::read) struct DeletedKeys {
    carried: SchemaRef,
    keys: KeyColumns,
    /// The field that is the record key.
    key_field: Option<String>,
}

impl DeletedKeys {
    pub(in crate::read) fn new(carried: SchemaRef, keys: KeyColumns, key_fields: &[String]) -> Self {
        let key_field = match key_fields {
            [only] => Some(only.clone()),
            _ => None,
        };
        Self { carried, keys, key_field }
    }

    /// What a block tells, one row a delete: the carried columns that it tells anything of.
    pub(in crate::read) fn of_block(&self, deletes: &Deletes, instant: Option<&str>) -> Result<RecordBatch> {
        let rows = deletes.deleted.len();
        let keys = texts(deletes, |one| one.key.as_ref())?;
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for field in self.carried.fields() {
            let column: Option<ArrayRef> = match field.name().as_str() {
                meta_columns::RECORD_KEY => Some(Arc::new(keys.clone())),
                meta_columns::PARTITION_PATH => Some(Arc::new(texts(deletes, |one| one.partition.as_ref())?)),
                meta_columns::COMMIT_TIME => Some(Arc::new(StringArray::from(vec![instant; rows]))),
                name if Some(name) == self.key_field.as_deref() => key_values(&keys, field.data_type()),
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

/// The given rows of [`DeletedKeys::of_block`], with all carried columns.
pub(in crate::read) fn deleted_rows(known: &RecordBatch, rows: &[u32], carried: &SchemaRef) -> Result<RecordBatch> {
    let known = take_record_batch(known, &UInt32Array::from(rows.to_vec())).map_err(failed)?;
    let columns = carried.fields().iter().map(|field| match known.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => arrow_array::new_null_array(field.data_type(), rows.len()),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(carried), columns.collect(), &options).map_err(failed)
}

/// Any column of a deleted row may be null, whatever the table says.
pub(in crate::read) fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new(fields.collect::<Vec<_>>())
}

fn texts<'a>(
    deletes: &'a Deletes,
    of: impl Fn(&'a Deleted) -> Option<&'a std::ops::Range<u32>>,
) -> Result<StringArray> {
    let text = |at: &std::ops::Range<u32>| {
        let bytes = deletes.text.get(at.start as usize..at.end as usize);
        let bytes = bytes.ok_or_else(|| Error::internal(format_args!("a deleted key at {at:?} of a shorter block")))?;
        std::str::from_utf8(bytes).map_err(|error| {
            Error::corrupt("a deleted key that is not UTF-8").at_offset(u64::from(at.start)).caused_by(error)
        })
    };
    deletes.deleted.iter().map(|one| of(one).map(text).transpose()).collect()
}

/// Keys as values of the field that they are made of; none of a type whose text is not sure.
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
    Error::invalid_table("deleted keys could not be made rows").caused_by(error)
}
