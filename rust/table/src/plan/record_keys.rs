//! The record keys of file slices, read batch by batch: there may be more of them than fit in memory.

use std::sync::Arc;

use arrow_array::StringArray;

use super::open_table::OpenTable;
use super::query_options::QueryOptions;
use crate::file_group::FileSlice;
use crate::read::{SharedReport, SplitReader};
use crate::split::Split;
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RecordKey;
use mortice_storage::Storage;

/// The record keys of the rows of file slices, merged as of the latest commit.
pub struct RecordKeyScan {
    storage: Arc<dyn Storage>,
    key: RecordKey,
    splits: Vec<Split>,
}

impl OpenTable {
    /// Plans to read the record keys of file slices.
    ///
    /// # Errors
    /// Those of [`OpenTable::stored_rows`].
    pub fn record_keys(&self, slices: &[FileSlice]) -> Result<RecordKeyScan> {
        let config = &self.config;
        let virtual_key = (!config.populate_meta_fields).then_some(config.record_key_fields.as_slice());
        let key = RecordKey::new(virtual_key)?;
        let options = QueryOptions { columns: Some(key.columns()), ..QueryOptions::default() };
        let splits = self.stored_rows(slices, &options)?.splits().to_vec();
        Ok(RecordKeyScan { storage: Arc::clone(&self.storage), key, splits })
    }

    /// Counts the rows of a file slice, merged as of the latest commit.
    ///
    /// # Errors
    /// Those of [`OpenTable::stored_rows`], and what reading the slice may fail with.
    pub fn row_count(&self, slice: &FileSlice) -> Result<u64> {
        let options = QueryOptions { columns: Some(Vec::new()), ..QueryOptions::default() };
        let mut rows = 0_u64;
        for split in self.stored_rows(std::slice::from_ref(slice), &options)?.splits() {
            let reader = SplitReader::new(split.clone(), SharedReport::default())?;
            for batch in reader.with_storage(Arc::clone(&self.storage)) {
                rows = rows.saturating_add(batch?.num_rows() as u64);
            }
        }
        Ok(rows)
    }

    /// How many file slices are read at the same time.
    #[must_use]
    pub fn slices_at_once(&self) -> usize {
        self.options.threads.unwrap_or_else(|| self.storage.requests_at_once()).max(1)
    }
}

impl RecordKeyScan {
    /// The slices, as they are read.
    #[must_use]
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Calls `each` with the keys of a slice, batch by batch. Returns the error of reading it, after which `each` may
    /// have had a part of its keys. `memory` is the limit of logs that are merged.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn read(
        &self,
        split: &Split,
        memory: u64,
        each: &mut dyn FnMut(&StringArray) -> Result<()>,
    ) -> Result<std::result::Result<(), Error>> {
        let reader = match SplitReader::new(split.clone(), SharedReport::default()) {
            Ok(reader) => reader.with_storage(Arc::clone(&self.storage)).within(memory),
            Err(error) => return Ok(Err(error)),
        };
        for batch in reader {
            match batch.and_then(|batch| self.key.keys_of(&batch)) {
                Ok(keys) => each(&keys)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }
}
