//! Records that are in memory as batches of one schema, fetched without decoding.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::input::{FetchedRows, RecordFetcher, RowRef};
use crate::spill::most_row_bytes;
use mortice_base::error::{Error, Result};

/// Batches of records: [`RowRef::source`] is the ordinal of the batch, [`RowRef::at`] the row in it.
pub struct RecordBatches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl RecordBatches {
    /// All `batches` have the schema.
    #[must_use]
    pub const fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// Bytes of the largest row, about; none that is much larger.
    #[must_use]
    pub fn most_row_bytes(&self) -> usize {
        self.batches.iter().map(most_row_bytes).max().unwrap_or_default()
    }
}

impl RecordFetcher for RecordBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn fetch(&mut self, rows: &[RowRef]) -> Result<FetchedRows> {
        let mut sources: Vec<u32> = rows.iter().map(|row| row.source).collect();
        sources.sort_unstable();
        sources.dedup();
        let unknown = |source: u32| Error::internal(format_args!("no batch {source} among the records in memory"));
        let batch = |source: &u32| self.batches.get(*source as usize).cloned().ok_or_else(|| unknown(*source));
        let batches = sources.iter().map(batch).collect::<Result<Vec<_>>>()?;
        let pick = |row: &RowRef| {
            let batch = sources.binary_search(&row.source).map_err(|_| unknown(row.source))?;
            Ok((batch, row.at as usize))
        };
        Ok(FetchedRows { batches, picks: rows.iter().map(pick).collect::<Result<_>>()? })
    }
}
