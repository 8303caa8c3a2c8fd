//! A user's batches, in the table's types and with their keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};

use super::conform::conformed;
use super::prepare::{Preparation, joined, too_large};
use super::refused_rows::{ReadRows, RefusedRows};
use crate::avro_parquet::{ListStructure, ParquetColumns};
use crate::error::Result;
use crate::keys::{RowKeyReader, RowKeys};
use crate::names::RequestedTime;

/// Rows with all columns, and their keys.
pub(super) struct FullRows<'a> {
    preparation: &'a Preparation<'a>,
    keys: RowKeyReader,
    /// Says what the files' schema does not take, if that is to be found before files are written.
    stored: Option<ParquetColumns>,
}

impl<'a> FullRows<'a> {
    /// Prepares reading. Keys that are generated have the instant and the number of the task.
    pub(super) fn new(
        preparation: &'a Preparation<'a>,
        (instant, task): (&RequestedTime, u32),
        ignores_failed: bool,
    ) -> Result<Self> {
        let Preparation { table, schema, options, .. } = preparation;
        let keys = RowKeyReader::new(&table.config, &schema.types, options)?.with_instant(instant, task);
        let stored = || ParquetColumns::new(&schema.columns, ListStructure::ThreeLevels);
        Ok(Self { preparation, keys, stored: ignores_failed.then(stored).transpose()? })
    }
}

impl ReadRows for FullRows<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let rows = conformed(batch, &self.preparation.schema.types, first_row)?;
        self.preparation.check_ordering(&rows, first_row)?;
        if let Some(stored) = &mut self.stored {
            stored.convert(&rows)?;
        }
        let keys = self.keys.read(&rows, first_row)?;
        Ok((rows, keys))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.preparation.key_of_row(row)
    }
}

/// Keys of rows that have no more columns than it takes.
pub(super) struct KeysAlone<'a>(pub(super) &'a Preparation<'a>);

impl ReadRows for KeysAlone<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let Preparation { table, options, key_is_global, .. } = self.0;
        let reader = RowKeyReader::for_deletes(&table.config, &batch.schema(), options, *key_is_global)?;
        Ok((batch.project(&[]).map_err(too_large)?, reader.read(batch, first_row)?))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.0.key_of_row(row)
    }
}

/// Reads batches one after the other.
pub(super) fn read_all<R: ReadRows<KeyedRows = (RecordBatch, RowKeys)>>(
    reader: &mut R,
    batches: &[RecordBatch],
    ignores_failed: bool,
    refused: &mut RefusedRows,
) -> Result<(Vec<RecordBatch>, RowKeys)> {
    let mut parts = Vec::with_capacity(batches.len());
    let mut first_row = 0_u64;
    for batch in batches {
        match ignores_failed {
            true => parts.extend(refused.read_accepted(reader, batch, first_row)?),
            false => parts.push(reader.read(batch, first_row)?),
        }
        first_row = first_row.saturating_add(batch.num_rows() as u64);
    }
    let (rows, keys): (Vec<RecordBatch>, Vec<RowKeys>) = parts.into_iter().unzip();
    let column = |of: fn(&RowKeys) -> &StringArray| {
        joined(&keys.iter().map(|keys| Arc::new(of(keys).clone()) as ArrayRef).collect::<Vec<_>>())
    };
    let keys = RowKeys { record_keys: column(|keys| &keys.record_keys)?, partitions: column(|keys| &keys.partitions)? };
    Ok((rows, keys))
}
