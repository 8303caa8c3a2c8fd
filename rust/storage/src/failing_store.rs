//! For tests: a store that stops working at one of its changes, as the process or the disk may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::{
    FileSource, FileStore, FileVersion, FolderEntry, LocalStorage, PutOutcome, RenameOutcome, RootLock, Storage,
    StoreUpload,
};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;

/// A store whose changes fail from one of them on.
pub struct FailingStore {
    inner: LocalStorage,
    failure: InjectedFailure,
    is_remote: bool,
}

#[derive(Clone)]
struct InjectedFailure {
    changes: Arc<AtomicUsize>,
    limit: usize,
    is_lost: bool,
}

impl InjectedFailure {
    fn change<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        if number < self.limit {
            return change();
        }
        if number == self.limit && self.is_lost {
            change()?;
        }
        Err(Error::new(ErrorKind::Unreachable, format!("change {number} failed")))
    }
}

impl FailingStore {
    /// The first `limit` changes succeed. With `is_lost`, the next one takes place none the less: its answer is lost.
    pub fn new(inner: LocalStorage, limit: usize, is_lost: bool) -> Self {
        Self { inner, failure: InjectedFailure { changes: Arc::default(), limit, is_lost }, is_remote: false }
    }

    /// The same, over a network.
    pub fn remote(self) -> Self {
        Self { is_remote: true, ..self }
    }

    /// Changes that were asked for.
    pub fn changes(&self) -> usize {
        self.failure.changes.load(Ordering::SeqCst)
    }
}

impl Storage for FailingStore {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.inner.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.inner.open(path)
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }
}

impl FileStore for FailingStore {
    fn time(&self) -> Arc<dyn Time> {
        self.inner.time()
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.failure.change(|| self.inner.put_if_absent(path, bytes))
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.failure.change(|| self.inner.put(path, bytes, expected))
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.inner.get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.failure.change(|| self.inner.delete(path))
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        self.inner.check_removable(path)
    }

    fn try_lock_root(&self) -> Result<RootLock> {
        if self.is_remote { Ok(RootLock::Unsupported) } else { self.inner.try_lock_root() }
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.failure.change(|| self.inner.create_folder(path))
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.failure.change(|| self.inner.remove_empty_folders(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.failure.change(|| self.inner.rename(from, to))
    }

    fn set_modified(&self, path: &str, modified_ms: i64) -> Result<bool> {
        self.failure.change(|| self.inner.set_modified(path, modified_ms))
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        Ok(Box::new(FailingUpload { inner: self.inner.upload(path)?, failure: self.failure.clone() }))
    }
}

struct FailingUpload {
    inner: Box<dyn StoreUpload>,
    failure: InjectedFailure,
}

impl StoreUpload for FailingUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.inner.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<FileVersion> {
        let Self { inner, failure } = *self;
        failure.change(|| inner.finish())
    }
}
