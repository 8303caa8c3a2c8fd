//! Partition columns whose values are taken from the path:
//!
//! | where | columns | value |
//! |---|---|---|
//! | files that do not hold them (`hoodie.datasource.write.drop.partition.columns`) | all | decoded, as the column's type |
//! | a bootstrapped table, some of whose files do not hold them (`HoodieBaseRelation`) | all | the same, where the path tells it |
//! | an incremental query of Hudi 1.x of encoded paths (`HoodieIncrementalFileIndex`) | of text | as it stands: `north%2Feast` where a snapshot gives the row's own `north/east` |

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Schema};

use crate::base_file;
use crate::error::{Error, Result};
use crate::names::partition_path;
use crate::plan::Query;

/// The values of one partition.
#[derive(Debug, Default)]
pub(super) struct PathValues {
    values: Vec<(String, Option<String>)>,
    /// Whether they are put into columns of any type, or of text alone.
    any_type: bool,
}

impl PathValues {
    /// Of a query, in the partition at a path. [`crate::Kind::Unsupported`] where rows do not hold the values and the path does not
    /// tell them.
    pub(super) fn of(query: &Query, partition: &str) -> Result<Self> {
        let columns = query.path_columns.as_slice();
        if columns.is_empty() {
            return Ok(Self::default());
        }
        let values = match partition_path::values(columns, partition, !query.path_as_it_stands) {
            Some(values) => columns.iter().cloned().zip(values).collect(),
            None if query.path_alone => return Err(untold(columns, partition)),
            None => Vec::new(),
        };
        Ok(Self { values, any_type: query.path_alone || query.path_first })
    }

    /// Rows of that partition with these values in their columns.
    pub(super) fn put_into(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let schema: &Schema = rows.schema_ref();
        let place = |name: &str| {
            let found = schema.fields().find(name);
            found.filter(|(_, field)| self.any_type || *field.data_type() == DataType::Utf8).map(|(at, _)| at)
        };
        let found: Vec<_> =
            self.values.iter().filter_map(|(name, value)| Some((place(name)?, name, value.as_deref()))).collect();
        if found.is_empty() {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        for (at, name, value) in found {
            let Some(column) = columns.get_mut(at) else { continue };
            let repeated = base_file::repeated(value, column.data_type(), column.len());
            *column = repeated.map_err(|error| misfit(name, value, column, error))?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(rows.schema(), columns, &options)
            .map_err(|error| Error::invalid_table("partition values that do not fit the table").caused_by(error))
    }
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

    fn of(values: &[(&str, Option<&str>)], any_type: bool) -> PathValues {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
        PathValues { values: values.collect(), any_type }
    }

    fn put(values: &[(&str, Option<&str>)]) -> Vec<Option<String>> {
        let put = of(values, false).put_into(rows()).unwrap();
        assert_eq!((put.column(1), put.num_rows()), (rows().column(1), 2));
        put.column(0).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn text_is_what_the_path_says() {
        let twice = |text: &str| vec![Some(text.to_owned()); 2];
        assert_eq!(put(&[("area", Some("a%2Fb")), ("day", Some("7"))]), twice("a%2Fb"));
        assert_eq!(put(&[("area", None)]), [None, None]);
        assert_eq!(put(&[("other", Some("x"))]), twice("a/b"));
    }

    #[test]
    fn values_become_those_of_the_columns_type() {
        let values = [("day", Some("-7")), ("date", Some("2024-02-29")), ("area", None)];
        let put = of(&values, true).put_into(rows()).unwrap();
        assert_eq!(put.column(0).null_count(), 2);
        assert_eq!(put.column(1).as_primitive::<Int32Type>().values(), &[-7, -7]);
        assert_eq!(put.column(2).as_primitive::<Date32Type>().values(), &[19_782, 19_782]);
        let error = of(&[("day", Some("x"))], true).put_into(rows()).unwrap_err();
        assert!(error.to_string().contains("\"day\""), "{error}");
    }
}
