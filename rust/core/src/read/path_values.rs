//! Partition columns whose values are taken from the path ([`PathColumns`]), as the columns' types:
//!
//! | the path | value |
//! |---|---|
//! | tells it | decoded, or as it stands: `north%2Feast` where a snapshot gives `north/east` |
//! | has another text than a date's or a time's in its place | null, as Spark's cast gives |
//! | does not tell it, or has a text that is no value of another type | the row's own; an error where rows have none |

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{ArrowError, DataType, Schema};

use crate::base_file;
use crate::error::{Error, Result};
use crate::keys::partition_path;
use crate::split::{PathColumns, Query};

/// The values of one partition.
#[derive(Debug, Default)]
pub(super) struct PathValues {
    values: Vec<(String, Option<String>)>,
    /// Whether rows have none of their own.
    alone: bool,
}

impl PathValues {
    /// Of a query, in the partition at a path. [`crate::Kind::Unsupported`] where rows do not hold the values and the path does not
    /// tell them.
    pub(super) fn of(query: &Query, partition: &str) -> Result<Self> {
        let PathColumns { in_path, taken, as_they_stand, alone, .. } = &query.path_columns;
        if taken.is_empty() {
            return Ok(Self::default());
        }
        let values = match partition_path::values(in_path, partition, !as_they_stand) {
            Some(values) => in_path.iter().cloned().zip(values).filter(|(name, _)| taken.contains(name)).collect(),
            None if *alone => return Err(untold(in_path, partition)),
            None => Vec::new(),
        };
        Ok(Self { values, alone: *alone })
    }

    /// Rows of that partition with these values in their columns.
    pub(super) fn put_into(&self, rows: RecordBatch) -> Result<RecordBatch> {
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
            let Some(column) = columns.get_mut(at) else { continue };
            *column = match base_file::repeated(value, column.data_type(), column.len()) {
                Ok(repeated) => repeated,
                Err(error) if self.alone => return Err(misfit(name, value, column, error)),
                Err(_) if is_moment(column.data_type()) => new_null_array(column.data_type(), column.len()),
                Err(_) => continue,
            };
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(rows.schema(), columns, &options)
            .map_err(|error| Error::invalid_table("partition values that do not fit the table").caused_by(error))
    }
}

fn is_moment(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Timestamp(..))
}

fn untold(columns: &[String], partition: &str) -> Error {
    Error::unsupported(format!(
        "the partition {partition:?}, whose files do not hold its columns ({}) and whose path does not tell their values",
        columns.join(", ")
    ))
}

fn misfit(name: &str, value: Option<&str>, column: &ArrayRef, error: ArrowError) -> Error {
    let value = value.unwrap_or("null");
    let message = format!("the path's value {value:?} is none of column {name:?}, of type {}", column.data_type());
    Error::invalid_table(message).caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Date32Type, Int32Type};
    use std::sync::Arc;

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

    fn put(values: &[(&str, Option<&str>)], alone: bool) -> Result<RecordBatch> {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
        PathValues { values: values.collect(), alone }.put_into(rows())
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
