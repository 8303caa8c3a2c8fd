//! Rows of one write that have the same key become one (`HoodieWriteHelper.combineOnCondition`), by the merge rules of the table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;

use crate::avro;
use crate::config::MergeSemantics;
use crate::error::{Error, Result};
use crate::names::meta_columns;
use crate::plan::OpenTable;
use crate::read::{RowsMerge, RowsMergeOptions};

/// Columns that are added while rows are combined.
const KEY: &str = "_mortice_key";
const NUMBER: &str = "_mortice_row";
const DELETE: &str = "D";

/// What rows become.
pub(super) struct Combined {
    /// A row for each key.
    pub(super) rows: RecordBatch,
    /// For each, a row that it was made of.
    pub(super) numbers: UInt32Array,
    /// Which of them delete their keys.
    pub(super) deletes: BooleanArray,
}

/// Combines rows that have the same key. `schema` has the defaults of columns.
///
/// # Errors
/// `Unsupported` for merge modes that this release does not have.
pub(super) fn combine(
    table: &OpenTable,
    schema: &avro::Schema,
    rows: &RecordBatch,
    keys: &StringArray,
) -> Result<Combined> {
    let keyed = with_keys(rows, keys)?;
    let options = RowsMergeOptions {
        record_key: vec![KEY.to_owned()],
        properties: table.config.properties.clone(),
        semantics: MergeSemantics::default(),
        schema: Some(schema.clone()),
        commit_order: Vec::new(),
        partial: false,
        emit_deletes: true,
        merger: None,
    };
    let merge = RowsMerge::new(&keyed.schema(), &keyed.schema(), options)?;
    let merged = merge.merge(&[], std::slice::from_ref(&keyed))?;
    let merged = concat_batches(&merge.schema(), &merged).map_err(|error| {
        Error::invalid_argument("the rows of one write are too large; write them in parts").caused_by(error)
    })?;
    combined_of(&merged, rows.schema())
}

fn combined_of(merged: &RecordBatch, columns: SchemaRef) -> Result<Combined> {
    let lost = |name: &str| Error::internal(format!("rows that were combined have lost the column {name:?}"));
    let numbers = merged.column_by_name(NUMBER).ok_or_else(|| lost(NUMBER))?.as_primitive::<Int64Type>();
    let numbers: Option<Vec<u32>> = numbers.iter().map(|number| u32::try_from(number?).ok()).collect();
    let numbers = numbers.ok_or_else(|| lost(NUMBER))?;
    let operations = merged.column_by_name(meta_columns::OPERATION).ok_or_else(|| lost(meta_columns::OPERATION))?;
    let operations = operations.as_string::<i32>();
    let deletes = operations.iter().map(|operation| Some(operation == Some(DELETE))).collect();
    let arrays = columns
        .fields()
        .iter()
        .map(|field| merged.column_by_name(field.name()).cloned().ok_or_else(|| lost(field.name())));
    let rows = RecordBatch::try_new(Arc::clone(&columns), arrays.collect::<Result<Vec<_>>>()?)
        .map_err(|error| Error::internal("rows that were combined").caused_by(error))?;
    Ok(Combined { rows, numbers: UInt32Array::from(numbers), deletes })
}

fn with_keys(rows: &RecordBatch, keys: &StringArray) -> Result<RecordBatch> {
    let count = i64::try_from(rows.num_rows()).map_err(|_| Error::invalid_argument("too many rows"))?;
    let mut fields: Vec<Arc<Field>> = rows.schema_ref().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(KEY, DataType::Utf8, true)));
    fields.push(Arc::new(Field::new(NUMBER, DataType::Int64, true)));
    let mut arrays: Vec<ArrayRef> = rows.columns().to_vec();
    arrays.push(Arc::new(keys.clone()));
    arrays.push(Arc::new(Int64Array::from_iter_values(0..count)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::internal("rows with their keys").caused_by(error))
}
