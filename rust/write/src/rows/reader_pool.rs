//! Readers of batches for threads that read at the same time.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::refused_rows::{ReadRows, RefusedRows};
use mortice_base::error::Result;
use mortice_merge::keys::RowKeys;

/// A batch that is read: its rows with their keys, in order, and those that were left out.
pub(crate) type BatchRead = (Vec<(RecordBatch, RowKeys)>, RefusedRows);

/// Readers, of which each thread takes one while it reads: what is read of a batch must not depend on the batches
/// before.
pub struct ReaderPool<R> {
    ignores_failed: bool,
    /// Those that read nothing at the moment.
    idle: Mutex<Vec<R>>,
}

impl<R: ReadRows<KeyedRows = (RecordBatch, RowKeys)>> ReaderPool<R> {
    /// A pool with a first reader, if there is one. `ignores_failed`: whether rows that cannot be written are left out.
    pub fn new(first: Option<R>, ignores_failed: bool) -> Self {
        Self { ignores_failed, idle: Mutex::new(first.into_iter().collect()) }
    }

    /// Whether rows that cannot be written are left out.
    pub fn ignores_failed(&self) -> bool {
        self.ignores_failed
    }

    /// Reads a batch, of which the first row has this number, with an idle reader or a new one.
    ///
    /// # Errors
    /// Those of `new_reader`; for rows that cannot be written, unless they are left out.
    pub fn read(
        &self,
        new_reader: impl FnOnce() -> Result<R>,
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<BatchRead> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = idle.map_or_else(new_reader, Ok)?;
        let mut refused = RefusedRows::default();
        let parts = match self.ignores_failed {
            true => refused.read_accepted(&mut reader, batch, first_row)?,
            false => vec![reader.read(batch, first_row)?],
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        Ok((parts, refused))
    }
}
