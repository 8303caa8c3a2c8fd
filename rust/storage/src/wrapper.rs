//! A store around another one, which takes part in some of its calls.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    FileSource, FileStatus, FileStore, FileVersion, FolderEntry, KnownFile, PutOutcome, RenameOutcome, RequestCounters,
    Storage, StoreUpload,
};
use mortice_base::error::Result;
use mortice_base::time::Time;

/// A store that forwards its calls to another one. It may do more where files are changed.
pub trait StoreWrapper: Send + Sync {
    /// The other store.
    fn inner(&self) -> &Arc<dyn FileStore>;

    /// Is called for [`FileStore::time`].
    fn clock(&self) -> Arc<dyn Time> {
        self.inner().time()
    }

    /// Is called for [`FileStore::put_if_absent`].
    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.inner().put_if_absent(path, bytes)
    }

    /// Is called for [`FileStore::put`].
    fn replace(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.inner().put(path, bytes, expected)
    }

    /// Is called for [`FileStore::delete`].
    fn remove(&self, path: &str) -> Result<()> {
        self.inner().delete(path)
    }

    /// Is called for [`FileStore::rename`].
    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.inner().rename(from, to)
    }

    /// Is called for [`FileStore::upload`].
    fn start(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.inner().upload(path)
    }
}

impl<W: StoreWrapper> FileStore for W {
    fn time(&self) -> Arc<dyn Time> {
        self.clock()
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.create(path, bytes)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.replace(path, bytes, expected)
    }

    fn compares_versions(&self) -> bool {
        self.inner().compares_versions()
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.inner().get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.remove(path)
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        self.inner().check_removable(path)
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.inner().create_folder(path)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.inner().remove_empty_folders(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.move_file(from, to)
    }

    fn set_modified(&self, path: &str, modified_ms: i64) -> Result<bool> {
        self.inner().set_modified(path, modified_ms)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.start(path)
    }
}

impl<W: StoreWrapper> Storage for W {
    fn root(&self) -> &str {
        self.inner().root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.inner().list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.inner().open(path)
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        self.inner().open_known(path, file)
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        self.inner().len_of(path)
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        self.inner().list_recursively(folder)
    }

    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        self.inner().begin(files, folders)
    }

    fn is_remote(&self) -> bool {
        self.inner().is_remote()
    }

    fn counted(&self, requests: &Arc<RequestCounters>) -> Option<Arc<dyn Storage>> {
        self.inner().counted(requests)
    }

    fn requests_at_once(&self) -> usize {
        self.inner().requests_at_once()
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        self.inner().requests()
    }

    fn full_path(&self, path: &str) -> String {
        self.inner().full_path(path)
    }
}
