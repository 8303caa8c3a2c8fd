//! A user's batches, in the table's types and with their keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;

use super::conform::conformed;
use super::delete_marks::DeleteMarks;
use super::operations::check_operations;
use super::refused_rows::{ReadRows, RefusedRows};
use super::required::check_required;
use super::row_source::RowSource;
use super::schema::DELETES_KEY;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::avro_parquet::{ListStructure, ParquetColumns};
use mortice_merge::keys::{RowKeyReader, RowKeys};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_storage::check_cancelled;

/// Rows with all columns, and their keys.
pub(crate) struct FullRows<'a> {
    source: RowSource<'a>,
    keys: RowKeyReader,
    /// Whether rows that have keys in their meta columns keep them.
    keeps_keys: bool,
    /// Says what the files' schema does not take, if that is to be found before files are written.
    stored: Option<ParquetColumns>,
}

impl<'a> FullRows<'a> {
    /// Prepares reading. Keys that are generated have the instant and the number of the task.
    pub(crate) fn new(
        source: RowSource<'a>,
        (instant, task): (&RequestedTime, u32),
        ignores_failed: bool,
    ) -> Result<Self> {
        let RowSource { table, schema, options, .. } = source;
        let keys = RowKeyReader::new(&table.config, &schema.types, options)?.with_instant(instant, task);
        let stored = || ParquetColumns::new(&schema.columns, ListStructure::ThreeLevels);
        Ok(Self { source, keys, keeps_keys: false, stored: ignores_failed.then(stored).transpose()? })
    }

    /// The same, for an upsert: queried rows of a table without key fields are those of the keys in their meta columns. New keys would
    /// make duplicates of them. Hudi updates them, too.
    pub(crate) fn keeping_keys(self) -> Self {
        Self { keeps_keys: self.keys.generates_keys(), ..self }
    }

    fn keys_of(&self, given: &RecordBatch, rows: &RecordBatch, first_row: u64) -> Result<RowKeys> {
        let stored = RowKeyReader::of_meta_columns(given.schema_ref()).filter(|_| self.keeps_keys);
        let Some(stored) = stored else { return self.keys.read(rows, first_row) };
        let keys = stored.read(given, first_row)?;
        let partitions = self.keys.read_partitions(rows, first_row)?;
        match keys.partitions.iter().zip(&partitions).position(|(own, new)| own != new) {
            None => Ok(keys),
            Some(row) => Err(Error::invalid_argument(format!(
                "row {}: {:?} is {:?}, but the partition columns say {:?}; a table without key fields does not move rows: delete the row and insert it",
                first_row.saturating_add(row as u64),
                meta_columns::PARTITION_PATH,
                keys.partitions.value(row),
                partitions.value(row)
            ))),
        }
    }
}

impl ReadRows for FullRows<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let rows = conformed(batch, &self.source.schema.types, first_row)?;
        check_required_columns(&self.source, batch, &rows, first_row)?;
        self.source.check_ordering(&rows, first_row)?;
        check_operations(&rows, first_row)?;
        if let Some(stored) = &mut self.stored {
            stored.convert(&rows)?;
        }
        let keys = self.keys_of(batch, &rows, first_row)?;
        Ok((rows, keys))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.source.key_of_row(row)
    }
}

/// Checks required columns. Rows that delete their keys may have null anywhere; they are looked for only if there is a null.
fn check_required_columns(
    source: &RowSource<'_>,
    given: &RecordBatch,
    rows: &RecordBatch,
    first_row: u64,
) -> Result<()> {
    let columns = &source.schema.columns;
    if check_required(rows, columns, first_row, &|_| false).is_ok() {
        return Ok(());
    }
    let marks = DeleteMarks::new(source)?.of_rows(rows)?;
    let given = given.column_by_name(DELETES_KEY).and_then(|column| column.as_boolean_opt());
    let is_set = |flags: &BooleanArray, row: usize| flags.is_valid(row) && flags.value(row);
    let is_delete = |row: usize| is_set(&marks, row) || given.is_some_and(|given| is_set(given, row));
    check_required(rows, columns, first_row, &is_delete)
}

/// Keys of rows that have no more columns than it takes.
pub(crate) struct KeysAlone<'a>(pub(crate) RowSource<'a>);

impl ReadRows for KeysAlone<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let (rows, reader) = self.0.keys_to_delete(batch, first_row)?;
        Ok((batch.project(&[]).map_err(too_large)?, reader.read(&rows, first_row)?))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.0.key_of_row(row)
    }
}

/// Reads batches one after the other, of which the first row has this number. `types` are the columns of what is read.
pub(crate) fn read_all<R: ReadRows<KeyedRows = (RecordBatch, RowKeys)>>(
    reader: &mut R,
    types: &SchemaRef,
    batches: &RowBatches,
    (ignores_failed, mut first_row): (bool, u64),
    refused: &mut RefusedRows,
) -> Result<(RowBatches, RowKeys)> {
    let mut rows = RowBatchesBuilder::new(Arc::clone(types), batches.memory().clone());
    let mut keys: Vec<RowKeys> = Vec::new();
    for batch in batches.batches() {
        check_cancelled()?;
        let parts = match ignores_failed {
            true => refused.read_accepted(reader, batch, first_row)?,
            false => vec![reader.read(batch, first_row)?],
        };
        for (part, keys_of_part) in parts {
            rows.push_of(part, batch)?;
            keys.push(keys_of_part);
        }
        first_row = first_row.saturating_add(batch.num_rows() as u64);
    }
    let column = |of: fn(&RowKeys) -> &StringArray| {
        joined(&keys.iter().map(|keys| Arc::new(of(keys).clone()) as ArrayRef).collect::<Vec<_>>())
    };
    let keys = RowKeys { record_keys: column(|keys| &keys.record_keys)?, partitions: column(|keys| &keys.partitions)? };
    Ok((rows.finish(), keys))
}

/// One column of several.
pub(crate) fn joined(arrays: &[ArrayRef]) -> Result<StringArray> {
    if arrays.is_empty() {
        return Ok(StringArray::from(Vec::<&str>::new()));
    }
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let all = concat(&arrays).map_err(too_large)?;
    all.as_any().downcast_ref::<StringArray>().cloned().ok_or_else(|| Error::internal("keys are no strings"))
}

pub(crate) fn too_large(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_argument("the keys of one write are too large; write its rows in parts").caused_by(error)
}
