//! Columns with one value in all rows of a file slice. They are not decoded: rows are read without them, and the values
//! are inserted into the batches that are returned. The merge reads the values that it needs from the files
//! (`projection`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;

use crate::split::Query;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::Filter;

/// The input of the read of a slice with constant columns.
pub(in crate::read) struct RowQuery {
    /// The columns to read: those of the query without the constant ones.
    pub(in crate::read) columns: Vec<String>,
    /// The part of the filter that is evaluated on rows.
    pub(in crate::read) filter: Filter,
}

impl RowQuery {
    /// Returns the columns and the filter of the query: every column is read.
    pub(in crate::read) fn whole(query: &Query) -> Self {
        Self { columns: query.columns.clone(), filter: query.filter.clone() }
    }

    /// Returns the query without the columns of `constants`, a batch of one row. `None` if no row of the slice passes
    /// the filter.
    pub(in crate::read) fn new(query: &Query, constants: &RecordBatch) -> Result<Option<Self>> {
        let Some(filter) = query.filter.with_constants(constants)? else { return Ok(None) };
        let is_read = |name: &&String| constants.schema_ref().fields().find(name).is_none();
        Ok(Some(Self { columns: query.columns.iter().filter(is_read).cloned().collect(), filter }))
    }
}

/// Inserts constant columns into batches.
#[derive(Debug)]
pub(in crate::read) struct ConstantColumns {
    output: SchemaRef,
    /// The repeated value of each output column; `None` for columns that are read.
    values: Vec<Option<ArrayRef>>,
}

impl ConstantColumns {
    /// `constants` has one row. `output` is the schema of the batches with the constant columns.
    pub(in crate::read) fn new(constants: &RecordBatch, output: SchemaRef) -> Self {
        let value = |name: &String| constants.column_by_name(name).cloned();
        let values = output.fields().iter().map(|field| value(field.name())).collect();
        Self { output, values }
    }

    /// Returns a batch of the other output columns, in their order, with the constant columns inserted.
    pub(in crate::read) fn insert_into(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        if self.values.iter().all(Option::is_none) {
            return Ok(rows);
        }
        let count = rows.num_rows();
        let mut read = rows.columns().iter();
        let mut columns = Vec::with_capacity(self.values.len());
        for value in &mut self.values {
            columns.push(match value {
                Some(value) => repeated(value, count)?,
                None => {
                    let column = read.next().ok_or_else(|| Error::internal("an output column was not read"))?;
                    Arc::clone(column)
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(Arc::clone(&self.output), columns, &options)
            .map_err(|error| Error::invalid_table("partition values do not fit the table").caused_by(error))
    }
}

/// Returns the value of all rows of `value`, repeated `count` times. Batches share the longest array that was made.
fn repeated(value: &mut ArrayRef, count: usize) -> Result<ArrayRef> {
    if value.len() < count {
        let first = UInt32Array::from(vec![0; count]);
        *value = take(value, &first, None)
            .map_err(|error| Error::internal("a partition value could not be repeated").caused_by(error))?;
    }
    Ok(value.slice(0, count))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn constants() -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("area", Arc::new(StringArray::from(vec!["north"])) as ArrayRef, true),
            ("day", Arc::new(Int32Array::from(vec![None])) as ArrayRef, true),
        ])
        .unwrap()
    }

    fn output(names: &[&str]) -> SchemaRef {
        let kind = |name| if name == "area" { DataType::Utf8 } else { DataType::Int32 };
        Arc::new(Schema::new(names.iter().map(|name| Field::new(*name, kind(*name), true)).collect::<Vec<_>>()))
    }

    #[test]
    fn columns_keep_the_order_of_the_output() {
        let mut columns = ConstantColumns::new(&constants(), output(&["a", "area", "b", "day"]));
        for count in [2_usize, 5, 3, 0] {
            let ints = |from: i32| Arc::new((from..).take(count).collect::<Int32Array>()) as ArrayRef;
            let rows = RecordBatch::try_new(output(&["a", "b"]), vec![ints(1), ints(7)]).unwrap();
            let batch = columns.insert_into(rows).unwrap();
            assert_eq!(batch.schema(), output(&["a", "area", "b", "day"]));
            assert_eq!(batch.column(0), &ints(1));
            assert_eq!(batch.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), vec![Some("north"); count]);
            assert_eq!(batch.column(2), &ints(7));
            assert_eq!(batch.column(3).null_count(), count);
        }
    }

    #[test]
    fn rows_without_columns_keep_their_count() {
        let mut columns = ConstantColumns::new(&constants(), output(&["area"]));
        let options = RecordBatchOptions::new().with_row_count(Some(4));
        let rows = RecordBatch::try_new_with_options(output(&[]), vec![], &options).unwrap();
        assert_eq!(columns.insert_into(rows).unwrap().num_rows(), 4);
    }

    #[test]
    fn a_column_that_was_not_read_is_an_error() {
        let mut columns = ConstantColumns::new(&constants(), output(&["area", "a"]));
        let rows = RecordBatch::new_empty(output(&[]));
        assert_eq!(columns.insert_into(rows).unwrap_err().kind(), mortice_base::ErrorKind::Internal);
    }
}
