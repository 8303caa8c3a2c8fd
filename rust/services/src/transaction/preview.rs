//! The table as a write would leave it: its storage, with the completed file of the instant besides.

use std::sync::Arc;

use bytes::Bytes;

use super::Transaction;
use mortice_base::error::Result;
use mortice_base::names::CompletionTime;
use mortice_merge::config::ReadOptions;
use mortice_storage::{FileStore, OverlaidFolder, Storage};
use mortice_table::plan::OpenTable;

impl Transaction {
    /// The table with this write completed, which is not. Files are listed from storage: the metadata table does not
    /// have the write yet.
    pub(super) fn preview(&self, completion: &CompletionTime, content: &Bytes) -> Result<OpenTable> {
        let (folder, name) = self.files.completed_file(&self.instant, self.action, completion);
        let storage: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(self.target.store());
        let storage = Arc::new(OverlaidFolder::new(storage, folder).with_file(name, content.clone()));
        let options = ReadOptions { metadata: false, ..ReadOptions::default() };
        OpenTable::at(storage, self.target.uri(), self.target.location().storage_options(), options)
    }
}
