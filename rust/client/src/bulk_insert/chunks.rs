//! The input of a bulk insert in parts of so many rows.

use arrow_array::RecordBatch;

use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_merge::spill::row_bytes;
use mortice_storage::check_cancelled;

/// Rows that one thread prepares at a time, as long as they are small.
pub(super) const CHUNK_ROWS: usize = 1 << 14;
/// Bytes that one thread prepares at a time.
const CHUNK_BYTES: usize = 16 << 20;

/// As how many rows some rows count that wait: large ones as several.
pub(super) fn waiting_rows(rows: usize, bytes: usize) -> usize {
    rows.max(bytes / (CHUNK_BYTES / CHUNK_ROWS))
}

/// Batches in parts of at most [`CHUNK_ROWS`] and [`CHUNK_BYTES`], with the number of the first row.
pub(super) struct Chunks<'a> {
    batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    /// Rows so far.
    rows: &'a mut u64,
    /// The rest of the batch.
    current: Option<RecordBatch>,
}

impl<'a> Chunks<'a> {
    /// Reads batches. Their rows are added to `rows`.
    pub(super) fn new(batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>, rows: &'a mut u64) -> Self {
        Self { batches, rows, current: None }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<(RecordBatch, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = check_cancelled() {
            return Some(Err(error));
        }
        let batch = match self.current.take() {
            Some(batch) => batch,
            None => match self.batches.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            },
        };
        let of_row = row_bytes(&batch) / batch.num_rows().max(1);
        let limit = BatchLimit::with_rows(CHUNK_ROWS).with_bytes(CHUNK_BYTES);
        let len = batch.num_rows().min(limit.rows_of(of_row));
        if len < batch.num_rows() {
            self.current = Some(batch.slice(len, batch.num_rows() - len));
        }
        let first = *self.rows;
        *self.rows = first.saturating_add(len as u64);
        Some(Ok((batch.slice(0, len), first)))
    }
}
