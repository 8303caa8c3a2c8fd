//! A store that records which data files are written: those that are deleted if the write's instant is not its own any
//! more. Markers do not say that, as a rollback by another writer deletes them, and the next execution of a plan has
//! the same instant. No file is begun once other writers take this one for dead.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use mortice_base::error::Result;
use mortice_commit::commit::HeartbeatWatch;
use mortice_storage::{FileStore, StoreUpload, StoreWrapper};

/// The table's root, for the data files of one write.
pub(super) struct DataStore {
    store: Arc<dyn FileStore>,
    begun: Paths,
}

type Paths = Arc<Mutex<BTreeSet<String>>>;

impl DataStore {
    pub(super) fn new(table: &Arc<dyn FileStore>, heartbeat: Option<HeartbeatWatch>) -> Self {
        let begun = Paths::default();
        let store = RecordedStore { store: Arc::clone(table), begun: Arc::clone(&begun), heartbeat };
        Self { store: Arc::new(store), begun }
    }

    /// The store to write them to.
    pub(super) fn store(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    /// The data files that were begun, by their paths from the table.
    pub(super) fn begun(&self) -> BTreeSet<String> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct RecordedStore {
    store: Arc<dyn FileStore>,
    begun: Paths,
    heartbeat: Option<HeartbeatWatch>,
}

impl StoreWrapper for RecordedStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    fn start(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.heartbeat.as_ref().map_or(Ok(()), HeartbeatWatch::check)?;
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        self.store.upload(path)
    }
}
