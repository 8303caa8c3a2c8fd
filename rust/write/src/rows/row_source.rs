//! What the rows of a write are read for: the table, the columns, and the keys that rows have by them.

use arrow_array::{Array, RecordBatch};

use super::conform::conformed_fields;
use super::options::RowOptions;
use super::schema::WriteSchema;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::MergeMode;
use mortice_merge::keys::{FieldPath, KeyOptions, RowKeyReader};
use mortice_table::plan::OpenTable;

/// What rows are read for.
#[derive(Clone, Copy)]
pub struct RowSource<'a> {
    /// The table that they are for.
    pub table: &'a OpenTable,
    /// The columns that are written.
    pub schema: &'a WriteSchema,
    /// How keys are made.
    pub keys: &'a KeyOptions,
    /// How rows are read and combined.
    pub options: &'a RowOptions,
    /// Whether a key is unique in the table, not in a partition.
    pub key_is_global: bool,
}

impl RowSource<'_> {
    /// A row without an ordering value cannot be merged by event time; Hudi fails on it when the table is read.
    pub(crate) fn check_ordering(&self, rows: &RecordBatch, first_row: u64) -> Result<()> {
        if self.table.merge.mode != MergeMode::EventTime {
            return Ok(());
        }
        for name in &self.table.merge.ordering_fields {
            let path = FieldPath::new(name);
            // Rows of a partial update may lack it: the stored value stays.
            let Some(column) = rows.column_by_name(path.column()) else { continue };
            let values = path.values(column)?;
            let null = if values.null_count() == 0 { None } else { (0..values.len()).find(|row| values.is_null(*row)) };
            if let Some(row) = null {
                return Err(Error::invalid_argument(format!(
                    "row {}, column {name:?}: the ordering value is null; rows of this table are ordered by it",
                    first_row.saturating_add(row as u64)
                )));
            }
        }
        Ok(())
    }

    /// The columns of rows to delete that keys are made of, in the table's types, and what makes keys of them: a key
    /// has the text that the table's type gives a value.
    ///
    /// # Errors
    /// `InvalidArgument` for missing columns and for values that the table's types do not hold.
    pub fn keys_to_delete(&self, batch: &RecordBatch, first_row: u64) -> Result<(RecordBatch, RowKeyReader)> {
        let config = &self.table.config;
        let fields = config.record_key_fields.iter().chain(&config.partition_fields).map(String::as_str);
        let fields: Vec<&str> = fields.chain([meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH]).collect();
        let rows = conformed_fields(batch, &self.schema.types, &fields, first_row)?;
        let reader = RowKeyReader::for_deletes(config, rows.schema_ref(), self.keys, self.key_is_global)?;
        Ok((rows, reader))
    }

    /// The record key of a row that may have any columns, if it has one.
    pub(crate) fn key_of_row(&self, row: &RecordBatch) -> Option<String> {
        let (rows, reader) = self.keys_to_delete(row, 0).ok()?;
        let keys = reader.read(&rows, 0).ok()?;
        (keys.record_keys.len() == 1).then(|| keys.record_keys.value(0).to_owned())
    }
}
