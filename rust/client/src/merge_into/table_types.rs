//! Rows in the types of the table's columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema};

use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_write::rows::{Rules, ValuePlace};

/// The columns of a batch that a table has, in the types of the table; the others as they are.
///
/// A value is taken over only if the table's type holds it unchanged. A null is taken over also where the table's
/// column is not nullable: the write refuses it, if it writes it. `fills` says whether missing fields of structs are
/// null.
pub(super) fn columns_of_table(batch: &RecordBatch, columns: &Schema, fills: bool) -> Result<RecordBatch> {
    let rules = Rules { fills, can_evolve: false };
    let given = batch.schema();
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut arrays = Vec::with_capacity(batch.num_columns());
    for (field, array) in given.fields().iter().zip(batch.columns()) {
        match columns.fields().find(field.name()) {
            None => {
                fields.push(Arc::clone(field));
                arrays.push(Arc::clone(array));
            }
            Some((_, target)) => {
                arrays.push(rules.conform(array, target, ValuePlace::column(field.name(), 0))?);
                fields.push(Arc::new(target.as_ref().clone().with_nullable(true)));
            }
        }
    }
    batch_of(fields, arrays, batch.num_rows())
}

/// The columns of a table without meta columns.
pub(crate) fn own_columns(columns: &Schema) -> impl Iterator<Item = &FieldRef> {
    columns.fields().iter().filter(|field| !meta_columns::ALL.contains(&field.name().as_str()))
}

/// A batch of columns, of which there may be none.
pub(super) fn batch_of(fields: Vec<FieldRef>, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Error::internal("converted columns are no batch").caused_by(error))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array, StructArray};
    use arrow_schema::{DataType, Field, Fields};

    use super::*;

    fn one(name: &str, array: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([(name, array)]).unwrap()
    }

    fn converted(array: ArrayRef, to: DataType) -> Result<ArrayRef> {
        let columns = Schema::new(vec![Field::new("c", to, false)]);
        columns_of_table(&one("c", array), &columns, false).map(|batch| Arc::clone(batch.column(0)))
    }

    #[test]
    fn wider_numbers_are_taken_over_by_value() {
        let longs = |value: i64| Arc::new(Int64Array::from(vec![Some(value), None])) as ArrayRef;
        let doubles = |value: f64| Arc::new(Float64Array::from(vec![Some(value), None])) as ArrayRef;
        for (array, to) in [
            (longs(7), DataType::Int32),
            (longs(7), DataType::Float64),
            (doubles(7.0), DataType::Int32),
            (doubles(0.5), DataType::Float32),
            (doubles(f64::NAN), DataType::Float32),
        ] {
            assert_eq!(converted(array, to.clone()).unwrap().data_type(), &to);
        }
        for (array, to) in [
            (longs(1 << 40), DataType::Int32),
            (longs((1 << 53) + 1), DataType::Float64),
            (longs(i64::MAX), DataType::Float64),
            (longs(2), DataType::Boolean),
            (longs(2), DataType::Utf8),
            (doubles(1.5), DataType::Int32),
            (doubles(1e300), DataType::Float32),
            (doubles(0.1), DataType::Float32),
            (doubles(1.25), DataType::Decimal128(10, 2)),
        ] {
            let error = converted(array, to).unwrap_err();
            assert!(
                error.kind() == mortice_base::ErrorKind::InvalidArgument && error.to_string().contains("\"c\""),
                "{error}"
            );
        }
    }

    #[test]
    fn structs_have_the_fields_of_the_table() {
        let fields =
            |names: &[&str]| names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Fields>();
        let given = |names: &[&str]| {
            let children = names.iter().map(|_| Arc::new(Int64Array::from(vec![1])) as ArrayRef).collect();
            Arc::new(StructArray::new(fields(names), children, None)) as ArrayRef
        };
        let stored = DataType::Struct(fields(&["x", "y"]));
        assert!(converted(given(&["y", "x"]), stored.clone()).is_ok());
        assert!(converted(given(&["x", "y", "z"]), stored.clone()).unwrap_err().to_string().contains("\"z\""));
        assert!(converted(given(&["x"]), stored.clone()).unwrap_err().to_string().contains("\"y\""));
        let columns = Schema::new(vec![Field::new("c", stored, true)]);
        assert!(columns_of_table(&one("c", given(&["x"])), &columns, true).is_ok());
    }
}
