//! Partition columns whose values come from the path ([`PathColumns`]), converted to the columns' types:
//!
//! | path | value |
//! |---|---|
//! | has the value | decoded, or as in the path: `north%2Feast` where a snapshot returns `north/east` |
//! | has an invalid date or time | null, like Spark's cast |
//! | does not have the value, or one that is invalid for another type | that of the row; an error if rows have none |
//!
//! A column whose value comes from the path is constant in the partition (`constant_columns`). Only the other columns
//! are read from the files, and then replaced in the rows that need it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::split::{PathColumns, Query};
use mortice_base::error::{Error, Result};
use mortice_formats::base_file;
use mortice_merge::keys::partition_path;

/// The values of one partition.
#[derive(Debug, Default)]
pub(in crate::read) struct PathValues {
    values: Vec<(String, Option<String>)>,
    /// Whether rows have no values of these columns.
    alone: bool,
}

impl PathValues {
    /// Returns the values of a query in the partition at a path. [`mortice_base::ErrorKind::Unsupported`] if neither
    /// rows nor the path have the values.
    pub(in crate::read) fn from_path(query: &Query, partition: &str) -> Result<Self> {
        let PathColumns { in_path, taken, as_they_stand, alone, .. } = &query.path_columns;
        if taken.is_empty() {
            return Ok(Self::default());
        }
        let values = match partition_path::values(in_path, partition, !as_they_stand) {
            Some(values) => in_path.iter().cloned().zip(values).filter(|(name, _)| taken.contains(name)).collect(),
            None if *alone => return Err(missing_values(in_path, partition)),
            None => Vec::new(),
        };
        Ok(Self { values, alone: *alone })
    }

    /// Removes the values that all rows of the partition have in columns of the table, and returns them as one row. The
    /// remaining ones apply to rows that are read with the values of the files.
    pub(in crate::read) fn take_constants(&mut self, table: &Schema) -> Result<RecordBatch> {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        let alone = self.alone;
        self.values.retain(|(name, value)| {
            let found = table
                .fields()
                .find(name)
                .and_then(|(_, field)| Some((field, constant(value.as_deref(), field, alone)?)));
            let Some((field, column)) = found else { return true };
            fields.push(Arc::clone(field));
            columns.push(column);
            false
        });
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(unfit)
    }

    /// Returns true if values that are left replace values of rows in some of the columns.
    pub(in crate::read) fn replace_any(&self, columns: &Schema) -> bool {
        self.values.iter().any(|(name, _)| columns.fields().find(name).is_some())
    }

    /// Returns rows of that partition with these values in their columns.
    pub(in crate::read) fn put_into(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let schema: &Schema = rows.schema_ref();
        let found: Vec<_> = self
            .values
            .iter()
            .filter_map(|(name, value)| {
                let (at, field) = schema.fields().find(name)?;
                (value.is_some() || field.is_nullable()).then_some((at, name, value.as_deref()))
            })
            .collect();
        if found.is_empty() {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        for (at, name, value) in found {
            let lost = || Error::internal(format_args!("rows have no column {at} for the partition value of {name:?}"));
            let column = columns.get_mut(at).ok_or_else(lost)?;
            *column = match base_file::repeated(value, column.data_type(), column.len()) {
                Ok(repeated) => repeated,
                Err(error) if self.alone => return Err(misfit(name, value, column, error)),
                Err(_) if is_moment(column.data_type()) => new_null_array(column.data_type(), column.len()),
                Err(_) => continue,
            };
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(rows.schema(), columns, &options).map_err(unfit)
    }
}

/// Returns one row with the value of a column; `None` if rows may have different values, or if their absence is an
/// error.
fn constant(value: Option<&str>, field: &Field, alone: bool) -> Option<ArrayRef> {
    if value.is_none() && !field.is_nullable() {
        return None;
    }
    match base_file::repeated(value, field.data_type(), 1) {
        Ok(column) => Some(column),
        Err(_) if alone => None,
        Err(_) => (is_moment(field.data_type()) && field.is_nullable()).then(|| new_null_array(field.data_type(), 1)),
    }
}

fn unfit(error: ArrowError) -> Error {
    Error::invalid_table("partition values do not fit the table").caused_by(error)
}

fn is_moment(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Timestamp(..))
}

fn missing_values(columns: &[String], partition: &str) -> Error {
    Error::unsupported(format!(
        "the values of the partition columns ({}) are neither in the files of the partition {partition:?} nor in its path",
        columns.join(", ")
    ))
}

fn misfit(name: &str, value: Option<&str>, column: &ArrayRef, error: ArrowError) -> Error {
    let value = value.unwrap_or("null");
    let message =
        format!("the value {value:?} in the path is not a value of column {name:?}, of type {}", column.data_type());
    Error::invalid_table(message).caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Date32Type, Int32Type};

    use arrow_array::{Date32Array, Int32Array, StringArray};

    use super::*;

    fn rows() -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("area", Arc::new(StringArray::from(vec!["a/b"; 2])) as ArrayRef, true),
            ("day", Arc::new(Int32Array::from(vec![1; 2])) as ArrayRef, true),
            ("date", Arc::new(Date32Array::from(vec![1; 2])) as ArrayRef, true),
        ])
        .unwrap()
    }

    fn path_values(values: &[(&str, Option<&str>)], alone: bool) -> PathValues {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
        PathValues { values: values.collect(), alone }
    }

    fn put(values: &[(&str, Option<&str>)], alone: bool) -> Result<RecordBatch> {
        path_values(values, alone).put_into(rows())
    }

    #[test]
    fn constants_are_the_values_that_rows_would_get() {
        let values = [("day", Some("-7")), ("date", Some("2024-02-29")), ("area", None), ("other", Some("x"))];
        for alone in [false, true] {
            let constants = path_values(&values, alone).take_constants(rows().schema_ref()).unwrap();
            let names: Vec<_> = constants.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
            assert_eq!(names, ["day", "date", "area"]);
            let put = put(&values, alone).unwrap();
            for (field, column) in constants.schema_ref().fields().iter().zip(constants.columns()) {
                assert_eq!(column, &put.column_by_name(field.name()).unwrap().slice(0, 1), "{}", field.name());
            }
        }
    }

    #[test]
    fn rows_keep_what_is_no_constant() {
        let schema = Schema::new(vec![
            Field::new("area", DataType::Utf8, false),
            Field::new("day", DataType::Int32, true),
            Field::new("date", DataType::Date32, false),
        ]);
        let given = [("area", None), ("day", Some("x")), ("date", Some("yesterday"))];
        let mut values = path_values(&given, false);
        assert_eq!(values.take_constants(&schema).unwrap().num_columns(), 0);
        assert_eq!(values.put_into(rows()).unwrap(), put(&given, false).unwrap());
        let dates = path_values(&given, false).take_constants(rows().schema_ref()).unwrap();
        assert_eq!(dates.column_by_name("date").map(|column| column.null_count()), Some(1));
        let alone = path_values(&given[1..], true).take_constants(rows().schema_ref()).unwrap();
        assert_eq!(alone.num_columns(), 0, "the error is that of `put_into`");
    }

    #[test]
    fn values_become_those_of_the_columns_type() {
        let values = [("day", Some("-7")), ("date", Some("2024-02-29")), ("area", Some("a%2Fb")), ("other", None)];
        let put = put(&values, true).unwrap();
        assert_eq!(put.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a%2Fb"); 2]);
        assert_eq!(put.column(1).as_primitive::<Int32Type>().values(), &[-7, -7]);
        assert_eq!(put.column(2).as_primitive::<Date32Type>().values(), &[19_782, 19_782]);
    }

    #[test]
    fn null_is_a_value() {
        let put = put(&[("day", None), ("area", None)], false).unwrap();
        assert_eq!((put.column(0).null_count(), put.column(1).null_count(), put.column(2).null_count()), (2, 2, 0));
    }

    #[test]
    fn a_text_that_is_no_value_of_the_column() {
        let values = [("day", Some("x")), ("date", Some("yesterday"))];
        let rows_have_their_own = put(&values, false).unwrap();
        assert_eq!(rows_have_their_own.column(1), rows().column(1));
        assert_eq!(rows_have_their_own.column(2).null_count(), 2);
        let error = put(&values, true).unwrap_err();
        assert!(error.to_string().contains("\"day\""), "{error}");
    }
}
