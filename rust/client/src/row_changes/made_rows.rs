//! Rows to write: as `write_changes` takes them.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::assignments::NewColumns;
use super::sides::UNFIT;
use crate::merge_into::{DELETES_COLUMN, STORED_PREFIX, UPDATES_COLUMN, own_columns};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_table::plan::OpenTable;

/// The meta columns of stored rows that a write of changes needs.
pub(super) const KEYS: [&str; 2] = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH];

/// The columns of a table without meta columns, any of them nullable.
pub(super) fn table_columns(table: &OpenTable) -> Result<SchemaRef> {
    let (_, types) = table.schema_at(None)?;
    let fields = own_columns(&types).map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    Ok(Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>())))
}

/// Makes the rows to write.
#[derive(Debug)]
pub(super) struct MadeRows {
    /// The columns of the rows.
    pub(super) schema: SchemaRef,
    columns: SchemaRef,
    /// The ordering columns that updates change.
    ordering: Vec<String>,
}

impl MadeRows {
    /// Of a table with these columns. `updated` are the columns that updates change.
    pub(super) fn new(table: &OpenTable, columns: &SchemaRef, updated: &[String]) -> Self {
        let ordering = table.config.ordering_fields.iter().filter(|name| updated.contains(name));
        Self::with_ordering(columns, ordering.cloned().collect())
    }

    fn with_ordering(columns: &SchemaRef, ordering: Vec<String>) -> Self {
        let of = |name: &str, kind: DataType| Arc::new(Field::new(name, kind, true));
        let marks = [DELETES_COLUMN, UPDATES_COLUMN].map(|name| of(name, DataType::Boolean));
        let keys = KEYS.map(|name| of(name, DataType::Utf8));
        let stored = ordering.iter().filter_map(|name| columns.fields().find(name));
        let stored =
            stored.map(|(_, field)| of(&format!("{STORED_PREFIX}{}", field.name()), field.data_type().clone()));
        let fields = columns.fields().iter().cloned().chain(marks).chain(keys).chain(stored);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()));
        Self { schema, columns: Arc::clone(columns), ordering }
    }

    /// Stored rows with other values in some columns.
    pub(super) fn updates(&self, stored: &RecordBatch, values: &NewColumns) -> Result<RecordBatch> {
        self.of_stored(stored, values, false)
    }

    /// Stored rows, to be deleted.
    pub(super) fn deletes(&self, stored: &RecordBatch) -> Result<RecordBatch> {
        self.of_stored(stored, &NewColumns::default(), true)
    }

    /// New rows, null in columns that have no values.
    pub(super) fn inserts(&self, rows: usize, values: &NewColumns) -> Result<RecordBatch> {
        let value = |field: &FieldRef| match values.get(field.name()) {
            Some(values) => Arc::clone(values),
            None => new_null_array(field.data_type(), rows),
        };
        self.batch(self.schema.fields().iter().map(value).collect(), rows)
    }

    fn of_stored(&self, stored: &RecordBatch, values: &NewColumns, deletes: bool) -> Result<RecordBatch> {
        let rows = stored.num_rows();
        let read = |name: &str| {
            let missing = || Error::internal(format!("stored rows of a change without column {name:?}"));
            stored.column_by_name(name).cloned().ok_or_else(missing)
        };
        let mark = |is_set: bool| {
            let marks = if is_set { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
            Arc::new(BooleanArray::from(marks)) as ArrayRef
        };
        let own = self.columns.fields().iter().map(|field| match values.get(field.name()) {
            Some(values) => Ok(Arc::clone(values)),
            None => read(field.name()),
        });
        let marks = [mark(deletes), mark(!deletes)].map(Ok);
        let kept = KEYS.into_iter().chain(self.ordering.iter().map(String::as_str)).map(read);
        self.batch(own.chain(marks).chain(kept).collect::<Result<_>>()?, rows)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::internal_by(UNFIT))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::super::sides::{TARGET, alone};
    use super::super::testing::{assigned, batch, marks_of, stored};
    use super::*;

    #[test]
    fn rows_have_marks_and_what_was_stored() {
        let rows = stored(&[("a", "x", 1.0, 5), ("b", "x", 2.0, 6)]);
        let columns = batch(&[]).schema();
        let made = MadeRows::with_ordering(&columns, vec!["ts".into()]);
        let values = assigned(&[("ts", "ts + 10")]).made(&alone(TARGET, rows.clone())).unwrap();
        let updates = made.updates(&rows, &values).unwrap();
        let longs = |rows: &RecordBatch, name: &str| {
            rows.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
        };
        assert_eq!((longs(&updates, "ts"), longs(&updates, &format!("{STORED_PREFIX}ts"))), (vec![15, 16], vec![5, 6]));
        assert_eq!(marks_of(&updates), [(false, true), (false, true)]);
        assert_eq!(marks_of(&made.deletes(&rows).unwrap()), [(true, false), (true, false)]);
        let inserts = made.inserts(2, &values).unwrap();
        assert_eq!(longs(&inserts, "ts"), [15, 16]);
        assert_eq!(inserts.column_by_name("id").unwrap().null_count(), 2);
        assert_eq!(inserts.column_by_name(KEYS[0]).unwrap().null_count(), 2);
        let lacking = rows.project(&[0, 1]).unwrap();
        assert!(made.deletes(&lacking).is_err());
    }
}
