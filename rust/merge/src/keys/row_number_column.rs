//! The optional last column of a batch of base rows, with row numbers. It is present if some rows of the file are
//! omitted.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The row number column. No column of a table has its type: Avro has no unsigned numbers.
const COLUMN: &str = "_mortice_row_number";

/// Returns the columns followed by the row number column.
pub fn with_row_numbers(columns: &Schema) -> SchemaRef {
    let number = Arc::new(Field::new(COLUMN, DataType::UInt64, false));
    Arc::new(Schema::new(columns.fields().iter().cloned().chain([number]).collect::<Vec<_>>()))
}

/// Returns the columns to read from the file if `wanted` ends with row numbers; `None` if it does not.
pub fn without_row_numbers(wanted: &Schema) -> Option<SchemaRef> {
    let (last, columns) = wanted.fields().split_last()?;
    is_row_number(last).then(|| Arc::new(Schema::new(columns.to_vec())))
}

/// Returns the row numbers of a batch that ends with them.
pub(super) fn row_numbers_of(batch: &RecordBatch) -> Option<&UInt64Array> {
    let last = batch.schema_ref().fields().last().filter(|field| is_row_number(field))?;
    batch.column_by_name(last.name())?.as_primitive_opt::<UInt64Type>()
}

fn is_row_number(field: &Field) -> bool {
    field.name() == COLUMN && *field.data_type() == DataType::UInt64
}
