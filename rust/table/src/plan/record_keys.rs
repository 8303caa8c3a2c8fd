//! The record keys of some file groups.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::open_table::OpenTable;
use super::query_kind::SnapshotRows;
use super::query_options::QueryOptions;
use crate::file_group::FileSlice;
use crate::read::{SharedReport, SplitReader};
use crate::split::Split;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_storage::parallel;

impl OpenTable {
    /// The file slices that are wanted, with their record keys, merged as of the latest commit, in batches of one
    /// column.
    ///
    /// # Errors
    /// Those of [`OpenTable::snapshot`], and what reading the slices may fail with.
    pub fn record_keys(&self, is_wanted: impl Fn(&FileSlice) -> bool) -> Result<Vec<(FileSlice, Vec<RecordBatch>)>> {
        let columns = Some(vec![meta_columns::RECORD_KEY.to_owned()]);
        let options = QueryOptions { columns, ..QueryOptions::default() };
        let scan = self.snapshot(&options, None, SnapshotRows::Merged)?;
        let splits: Vec<Split> = scan.splits.into_iter().filter(|split| is_wanted(&split.slice)).collect();
        let threads = self.options.threads.unwrap_or_else(|| self.storage.requests_at_once());
        let read = |split: &Split| {
            let reader = SplitReader::new(split.clone(), SharedReport::default())?;
            let batches = reader.with_storage(Arc::clone(&self.storage)).collect::<Result<Vec<_>>>()?;
            Ok((split.slice.clone(), batches))
        };
        parallel::map(&splits, threads, read)
    }
}
