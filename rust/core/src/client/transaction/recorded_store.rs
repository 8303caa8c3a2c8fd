//! A store that records which data files are written: those that are deleted if the write's instant is not its own any more. Markers do not
//! say that, as a rollback by another writer deletes them, and the next execution of a plan has the same instant.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::error::Result;
use crate::storage::{
    FileSource, FileStatus, FileStore, FileVersion, FolderEntry, KnownFile, PutOutcome, RenameOutcome, RequestCounters,
    Storage, StoreUpload,
};

/// The table's root, for the data files of one write.
pub(super) struct DataStore {
    store: Arc<dyn FileStore>,
    begun: Paths,
}

type Paths = Arc<Mutex<BTreeSet<String>>>;

impl DataStore {
    pub(super) fn new(table: &Arc<dyn FileStore>) -> Self {
        let begun = Paths::default();
        Self { store: Arc::new(RecordedStore { store: Arc::clone(table), begun: Arc::clone(&begun) }), begun }
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
}

impl FileStore for RecordedStore {
    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        self.store.upload(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.store.put_if_absent(path, bytes)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.store.put(path, bytes, expected)
    }

    fn compares_versions(&self) -> bool {
        self.store.compares_versions()
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.store.get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.store.delete(path)
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        self.store.check_removable(path)
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.store.create_folder(path)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.store.remove_empty_folders(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.store.rename(from, to)
    }
}

impl Storage for RecordedStore {
    fn root(&self) -> &str {
        self.store.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.store.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.store.open(path)
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        self.store.open_known(path, file)
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        self.store.len_of(path)
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        self.store.list_recursively(folder)
    }

    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        self.store.begin(files, folders)
    }

    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    fn counted(&self, requests: &Arc<RequestCounters>) -> Option<Arc<dyn Storage>> {
        self.store.counted(requests)
    }

    fn requests_at_once(&self) -> usize {
        self.store.requests_at_once()
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        self.store.requests()
    }

    fn full_path(&self, path: &str) -> String {
        self.store.full_path(path)
    }
}
