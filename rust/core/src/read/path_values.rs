//! Partition values as they stand in the path. An incremental query of Hudi 1.x takes text of partition columns from there and
//! does not decode it, so that a table with URL-encoded partition paths gives `north%2Feast` where a snapshot gives the row's own
//! `north/east` (`HoodieIncrementalFileIndex`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Schema};

use crate::error::{Error, Result};

/// The path's fragment for a value that is null or empty.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The values of one partition; none null.
#[derive(Debug, Default)]
pub(super) struct PathValues(Vec<(String, Option<String>)>);

impl PathValues {
    /// Of the partition at a path, where `fields` are the table's partition columns in order. None where the path does not have
    /// a fragment for each.
    pub(super) fn of(fields: &[String], partition: &str) -> Self {
        let fragments: Vec<&str> = partition.split('/').collect();
        if fragments.len() != fields.len() {
            return Self::default();
        }
        let value = |(field, fragment): (&String, &str)| {
            let value =
                fragment.strip_prefix(field.as_str()).and_then(|rest| rest.strip_prefix('=')).unwrap_or(fragment);
            (field.clone(), (value != NULL).then(|| value.to_owned()))
        };
        Self(fields.iter().zip(fragments).map(value).collect())
    }

    /// Rows of that partition with these values in their text columns.
    pub(super) fn put_into(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let schema: &Schema = rows.schema_ref();
        let texts = |name: &str| {
            schema.fields().find(name).filter(|(_, field)| *field.data_type() == DataType::Utf8).map(|(at, _)| at)
        };
        let found: Vec<_> = self.0.iter().filter_map(|(name, value)| Some((texts(name)?, value))).collect();
        if found.is_empty() {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        for (at, value) in found {
            let Some(column) = columns.get_mut(at) else { continue };
            let same: StringArray = std::iter::repeat_n(value.as_deref(), column.len()).collect();
            *column = Arc::new(same) as ArrayRef;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(rows.schema(), columns, &options)
            .map_err(|error| Error::invalid_table("partition values that do not fit the table").caused_by(error))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int32Array;
    use arrow_array::cast::AsArray;

    use super::*;

    fn put(fields: &[&str], partition: &str) -> Vec<Option<String>> {
        let fields: Vec<String> = fields.iter().map(|name| (*name).to_owned()).collect();
        let rows = RecordBatch::try_from_iter_with_nullable([
            ("area", Arc::new(StringArray::from(vec!["a/b"; 2])) as ArrayRef, true),
            ("day", Arc::new(Int32Array::from(vec![1; 2])) as ArrayRef, true),
        ])
        .unwrap();
        let put = PathValues::of(&fields, partition).put_into(rows.clone()).unwrap();
        assert_eq!((put.column(1), put.num_rows()), (rows.column(1), 2));
        put.column(0).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn text_is_what_the_path_says() {
        let twice = |text: &str| vec![Some(text.to_owned()); 2];
        for partition in ["area=a%2Fb/day=1", "a%2Fb/1"] {
            assert_eq!(put(&["area", "day"], partition), twice("a%2Fb"));
        }
        assert_eq!(put(&["area", "day"], "area=__HIVE_DEFAULT_PARTITION__/day=1"), [None, None]);
        // Not a fragment for each column; another table's column; no partition at all.
        for (fields, partition) in [(&["area"][..], "a/b"), (&["other"], "x"), (&[], "")] {
            assert_eq!(put(fields, partition), twice("a/b"), "{partition}");
        }
    }
}
