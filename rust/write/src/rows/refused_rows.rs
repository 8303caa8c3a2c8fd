//! Rows that cannot be written, separated from the others (`hoodie.write.ignore.failed`).

use arrow_array::RecordBatch;

use crate::write::{RowError, write_accepted};
use mortice_base::error::Result;

/// Rows whose errors are kept; more are counted.
const MOST_KEPT: usize = 10_000;

/// Rows that are left out of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusedRows {
    /// The first of them, with what is wrong.
    pub errors: Vec<RowError>,
    /// How many there are.
    pub total: u64,
}

/// Reads batches of a user's rows.
pub trait ReadRows {
    /// What is read.
    type KeyedRows;

    /// Reads rows, of which the first has this number. `InvalidArgument` if one of them cannot be written; then none is
    /// read.
    fn read(&mut self, rows: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows>;

    /// The record key of a single row that was refused, if it has one.
    fn record_key(&self, row: &RecordBatch) -> Option<String>;
}

impl RefusedRows {
    /// Reads a batch but for the rows that are refused. What is wrong with its columns, and so with all rows, is an
    /// error.
    pub(crate) fn read_accepted<R: ReadRows>(
        &mut self,
        reader: &mut R,
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<Vec<R::KeyedRows>> {
        reader.read(&batch.slice(0, 0), first_row)?;
        let mut accepted = Vec::new();
        let mut refused: Vec<(usize, String)> = Vec::new();
        let mut read = |start: usize, len: usize| {
            let rows = reader.read(&batch.slice(start, len), first_row.saturating_add(start as u64))?;
            accepted.push(rows);
            Ok(())
        };
        write_accepted(batch.num_rows(), &mut read, &mut |row, error| refused.push((row, error.to_string())))?;
        for (row, message) in refused {
            self.add(reader.record_key(&batch.slice(row, 1)), first_row.saturating_add(row as u64), &message);
        }
        Ok(accepted)
    }

    /// Adds those of another thread.
    pub fn append(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        let left = MOST_KEPT.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(left));
    }

    fn add(&mut self, record_key: Option<String>, row: u64, message: &str) {
        self.total = self.total.saturating_add(1);
        if self.errors.len() < MOST_KEPT {
            // It was refused as the only row of a batch.
            let message = message.replacen("row 0,", &format!("row {row},"), 1);
            self.errors.push(RowError { record_key, message });
        }
    }
}
