//! A small table for the tests of this folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use crate::WriteInput;
use crate::write::write;
use mortice_commit::commit::{NewTable, create_table};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::{ReadOptions, TableType, TableVersion};
use mortice_storage::{LocalStorage, StorageOptions};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::WriteOperation;

/// Key, city, fare, ordering value.
pub(crate) type Row = (&'static str, &'static str, f64, i64);

/// A merge-on-read table of `id`, `city` (its partition), `fare` and `ts`, by which rows are ordered.
pub(crate) struct TestTable {
    folder: tempfile::TempDir,
    properties: Vec<(String, String)>,
}

impl TestTable {
    pub(crate) fn new() -> Self {
        let table = Self { folder: tempfile::tempdir().unwrap(), properties: Vec::new() };
        let columns = Schema::new(vec![
            Field::new("id", DataType::Utf8, true),
            Field::new("city", DataType::Utf8, true),
            Field::new("fare", DataType::Float64, true),
            Field::new("ts", DataType::Int64, true),
        ]);
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(9).unwrap(),
            table_type: TableType::MergeOnRead,
            record_key: names(&["id"]),
            partition_by: names(&["city"]),
            ordering: names(&["ts"]),
            properties: BTreeMap::new(),
        };
        create_table(&LocalStorage::new(&table.uri(), true), &new, &columns).unwrap();
        table
    }

    /// The same, as if it had other properties.
    pub(crate) fn with_properties(properties: &[(&str, &str)]) -> Self {
        let table = Self::new();
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { properties: properties.collect(), ..table }
    }

    pub(crate) fn uri(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    fn location(&self) -> TableLocation {
        TableLocation::new(&self.uri(), &StorageOptions::new())
    }

    pub(crate) fn open(&self) -> Arc<OpenTable> {
        let path = self.folder.path().join(".hoodie/hoodie.properties");
        let mut text = std::fs::read_to_string(&path).unwrap();
        for (name, value) in &self.properties {
            text = text
                .lines()
                .filter(|line| !line.starts_with(&format!("{name}=")))
                .fold(String::new(), |text, line| text + line + "\n");
            text.push_str(&format!("{name}={value}\n"));
        }
        std::fs::write(&path, text).unwrap();
        self.location().open_table(ReadOptions::default()).unwrap()
    }

    pub(crate) fn upsert(&self, rows: &[Row]) {
        self.write(WriteOperation::Upsert, rows);
    }

    pub(crate) fn write(&self, operation: WriteOperation, rows: &[Row]) {
        let rows = batch(rows);
        let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
        let options = options(&[]);
        let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &options, validator: None };
        write(&self.location(), operation, input).unwrap();
    }

    /// The rows of a snapshot, sorted.
    pub(crate) fn rows(&self) -> Vec<(String, String, f64, i64)> {
        let columns = Some(names(&["id", "city", "fare", "ts"]));
        let query = QueryOptions { columns, ..QueryOptions::default() };
        let scan = self.open().snapshot(&query, None, SnapshotRows::Merged).unwrap();
        let mut rows = Vec::new();
        for found in scan.stream() {
            let found = found.unwrap();
            let text = |at: usize| found.column(at).as_any().downcast_ref::<StringArray>().unwrap().clone();
            let (ids, cities) = (text(0), text(1));
            let fares = found.column(2).as_any().downcast_ref::<Float64Array>().unwrap().clone();
            let times = found.column(3).as_any().downcast_ref::<Int64Array>().unwrap().clone();
            rows.extend((0..found.num_rows()).map(|row| {
                (ids.value(row).to_owned(), cities.value(row).to_owned(), fares.value(row), times.value(row))
            }));
        }
        rows.sort_by(|one, two| one.partial_cmp(two).unwrap());
        rows
    }
}

pub(crate) fn batch(rows: &[Row]) -> RecordBatch {
    let columns = [
        ("id", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))) as ArrayRef),
        ("city", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)))),
        ("fare", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2)))),
        ("ts", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.3)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn options(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
