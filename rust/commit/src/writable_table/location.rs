//! Where a table is.

use std::sync::{Arc, Mutex, PoisonError};

use crate::commit::TimelineWriter;
use mortice_base::error::Result;
use mortice_base::progress::Progress;
use mortice_merge::config::{ReadOptions, TableConfig};
use mortice_storage::{FileStore, Storage, StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;

/// The base path of a table, with the options of its storage, or with a storage that is open.
#[derive(Clone)]
pub struct TableLocation {
    uri: String,
    storage_options: StorageOptions,
    store: Option<Arc<dyn FileStore>>,
    progress: Progress,
    seen: Option<Arc<OpenTable>>,
    /// Of the location and all its copies.
    left: Arc<Mutex<Option<Arc<OpenTable>>>>,
}

impl TableLocation {
    /// The table at a path or URI.
    #[must_use]
    pub fn new(uri: &str, storage_options: &StorageOptions) -> Self {
        Self {
            uri: uri.to_owned(),
            storage_options: storage_options.clone(),
            store: None,
            progress: Progress::default(),
            seen: None,
            left: Arc::default(),
        }
    }

    /// The table at the root of a store that is open. It is read and written through the store; `uri` is for messages,
    /// and for processes that do not have the store.
    #[must_use]
    pub fn in_store(store: Arc<dyn FileStore>, uri: &str) -> Self {
        let storage_options = StorageOptions::new();
        let (progress, left) = (Progress::default(), Arc::default());
        Self { uri: uri.to_owned(), storage_options, store: Some(store), progress, seen: None, left }
    }

    /// The same, with what gets the progress of the services on the table.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// What gets the progress of the services on the table.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The same, of a table that was opened before. A write or service that begins does not open it again unless there
    /// have been other instants since, which a listing says.
    #[must_use]
    pub fn with_seen_table(self, table: Arc<OpenTable>) -> Self {
        Self { seen: Some(table), ..self }
    }

    /// The table as the last write or service has left it that got this location and succeeded, so that it need not be
    /// opened again to be seen. None if it has to be: there was none yet, or it has changed what it has not read.
    #[must_use]
    pub fn left_table(&self) -> Option<Arc<OpenTable>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_left_table(&self, table: Option<Arc<OpenTable>>) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// The base path.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The options of the storage.
    #[must_use]
    pub fn storage_options(&self) -> &StorageOptions {
        &self.storage_options
    }

    /// The storage, for writing.
    ///
    /// # Errors
    /// As for [`open_file_store`].
    pub fn open_store(&self) -> Result<Arc<dyn FileStore>> {
        match &self.store {
            Some(store) => Ok(Arc::clone(store)),
            None => open_file_store(&self.uri, &self.storage_options),
        }
    }

    /// The table as it is now: the one that was opened before, if neither its properties nor its instants are others.
    /// Two requests say so, fewer than opening it takes.
    ///
    /// # Errors
    /// As for [`Self::open_table`].
    pub fn open_timeline(&self, options: ReadOptions) -> Result<Arc<OpenTable>> {
        let Some(seen) = &self.seen else { return self.open_table(options) };
        let is_as_seen = || -> Result<bool> {
            let store = self.open_store()?;
            // Properties are changed without an instant, too.
            let is_same = TableConfig::load(&*store)? == seen.config;
            Ok(is_same && !TimelineWriter::new(store, &seen.config).has_other_instants(&seen.timeline)?)
        };
        match is_as_seen() {
            Ok(true) => seen.with_read_options(options).map(Arc::new),
            // What is wrong is found where the table is opened.
            Ok(false) | Err(_) => self.open_table(options),
        }
    }

    /// The table as it is now.
    ///
    /// # Errors
    /// As for [`OpenTable::open`].
    pub fn open_table(&self, options: ReadOptions) -> Result<Arc<OpenTable>> {
        let opened = match &self.store {
            Some(store) => {
                let storage: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(store);
                OpenTable::at(storage, &self.uri, &self.storage_options, options)
            }
            None => OpenTable::open(&self.uri, &self.storage_options, options),
        };
        opened.map(Arc::new)
    }
}
