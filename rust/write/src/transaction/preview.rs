//! The table as a write would leave it: its storage, with the completed file of the instant besides.

use std::sync::Arc;

use bytes::Bytes;

use super::Transaction;
use mortice_base::error::Result;
use mortice_base::names::CompletionTime;
use mortice_merge::config::ReadOptions;
use mortice_storage::{FileSource, FileStatus, FileStore, FolderEntry, KnownFile, MemoryFile, Storage};
use mortice_table::plan::OpenTable;

impl Transaction {
    /// The table with this write completed, which is not. Files are listed from storage: the metadata table does not have the write yet.
    pub(super) fn preview(&self, completion: &CompletionTime, content: &Bytes) -> Result<OpenTable> {
        let (folder, name) = self.files.completed_file(&self.instant, self.action, completion);
        let storage: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(self.target.store());
        let storage = Arc::new(PreviewStorage { storage, folder, name, content: content.clone() });
        let options = ReadOptions { metadata: false, ..ReadOptions::default() };
        OpenTable::at(storage, self.target.uri(), self.target.location().storage_options(), options)
    }
}

/// A storage with one more file.
struct PreviewStorage {
    storage: Arc<dyn Storage>,
    folder: String,
    name: String,
    content: Bytes,
}

impl PreviewStorage {
    fn is_added(&self, path: &str) -> bool {
        path.strip_prefix(&self.folder).and_then(|rest| rest.strip_prefix('/')) == Some(&self.name)
    }
}

impl Storage for PreviewStorage {
    fn root(&self) -> &str {
        self.storage.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let found = self.storage.list(folder)?;
        if folder.trim_end_matches('/') != self.folder {
            return Ok(found);
        }
        let mut entries = found.unwrap_or_default();
        let len = self.content.len() as u64;
        entries.push(FolderEntry::File(FileStatus { name: self.name.clone(), len, modified_ms: 0, etag: None }));
        entries.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(Some(entries))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        match self.is_added(path) {
            true => Ok(Arc::new(MemoryFile::new(path, self.content.clone()))),
            false => self.storage.open(path),
        }
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        match self.is_added(path) {
            true => self.open(path),
            false => self.storage.open_known(path, file),
        }
    }

    fn is_remote(&self) -> bool {
        self.storage.is_remote()
    }

    fn requests_at_once(&self) -> usize {
        self.storage.requests_at_once()
    }
}
