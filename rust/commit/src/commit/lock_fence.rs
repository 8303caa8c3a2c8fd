//! Stops a writer that has lost the table's lock before its next change.
//!
//! While a writer holds the lock, its changes of the table go through a store that looks at the lock first. A writer
//! that stalls longer than its lock is valid then ends with an error before it replaces a file that decides, or deletes
//! one that another writer may rely on. It may still stall between the look and the change: files that decide are also
//! put on conditions of their own.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::lock::{HeldLock, LockState};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::LogFileName;
use mortice_storage::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload, StoreWrapper};

const METADATA: &str = ".hoodie/metadata/";
const METADATA_TIMELINE: &str = ".hoodie/metadata/.hoodie/";
const HEARTBEATS: [&str; 2] = [".hoodie/.heartbeat/", ".hoodie/metadata/.hoodie/.heartbeat/"];

/// The lock that a writer holds, if it holds one.
#[derive(Default)]
pub struct LockFence {
    held: Mutex<Option<Arc<dyn LockState>>>,
}

impl LockFence {
    /// Looks at the lock before each change until the returned one is released.
    pub(super) fn raise(self: &Arc<Self>, held: Box<dyn HeldLock>) -> Box<dyn HeldLock> {
        let state = held.state();
        *self.held() = state.clone();
        Box::new(FencedLock { held: Some(held), state, fence: Arc::clone(self) })
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<Arc<dyn LockState>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a lock, unless another one was taken since.
    fn lower(&self, state: Option<&Arc<dyn LockState>>) {
        let mut held = self.held();
        let is_same = held.as_ref().zip(state).is_some_and(|(held, state)| Arc::ptr_eq(held, state));
        if is_same {
            *held = None;
        }
    }

    /// Makes sure that the lock, if one is held, has not expired.
    fn check_time(&self) -> Result<()> {
        let held = self.held().clone();
        held.map_or(Ok(()), |held| held.check_time())
    }

    /// Makes sure, by the lock as it is in the storage, that it is still this writer's.
    fn check(&self) -> Result<()> {
        let held = self.held().clone();
        held.map_or(Ok(()), |held| held.check())
    }
}

struct FencedLock {
    /// None once it is released.
    held: Option<Box<dyn HeldLock>>,
    state: Option<Arc<dyn LockState>>,
    fence: Arc<LockFence>,
}

impl HeldLock for FencedLock {
    fn check(&mut self) -> Result<()> {
        self.held.as_mut().map_or(Ok(()), |held| held.check())
    }

    fn state(&self) -> Option<Arc<dyn LockState>> {
        self.state.clone()
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        self.fence.lower(self.state.as_ref());
        self.held.take().map_or(Ok(()), |held| held.release())
    }
}

impl Drop for FencedLock {
    fn drop(&mut self) {
        self.fence.lower(self.state.as_ref());
    }
}

/// The store of a table that is being changed.
pub struct FencedStore {
    store: Arc<dyn FileStore>,
    fence: Arc<LockFence>,
}

impl FencedStore {
    /// A store whose changes need the lock, whenever one is held.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, fence: Arc<LockFence>) -> Self {
        Self { store, fence }
    }

    /// Heartbeats are written as long as the writer lives, also if it has lost the lock.
    fn check_time(&self, path: &str) -> Result<()> {
        if HEARTBEATS.iter().any(|folder| path.starts_with(folder)) { Ok(()) } else { self.fence.check_time() }
    }
}

impl FencedStore {
    /// Makes sure that the lock was held until a file was created, which is deleted otherwise.
    ///
    /// That is a file by which an instant of the table is requested, or the execution of a plan is begun. Others may
    /// have archived later instants, or the plan itself, and the timeline would begin with this one: readers would take
    /// the archived ones for not completed. Or it is a log with a rollback block, as of table version 6. Others may
    /// have completed the rollback, and no one would list this log in the metadata table.
    fn confirm_created(&self, path: &str) -> Result<()> {
        let confirmed = self.fence.check();
        if confirmed.as_ref().is_err_and(|error| error.kind() == ErrorKind::WriteConflict) {
            self.store.delete(path)?;
        }
        confirmed
    }
}

/// Returns true for requested and inflight files of the table's timeline.
fn is_begun(path: &str) -> bool {
    (path.ends_with(".requested") || path.ends_with(".inflight")) && !path.starts_with(METADATA)
}

/// Returns true for data files that are created under the lock.
fn is_log_of_rollback(path: &str) -> bool {
    !path.starts_with(".hoodie/") && path.rsplit('/').next().is_some_and(|name| LogFileName::parse(name).is_some())
}

impl StoreWrapper for FencedStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.check_time(path)?;
        let put = self.store.put_if_absent(path, bytes)?;
        if matches!(put, PutOutcome::Written(_)) && (is_begun(path) || is_log_of_rollback(path)) {
            self.confirm_created(path)?;
        }
        Ok(put)
    }

    /// What is replaced decides: properties, definitions of indexes, the archive.
    fn replace(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.check_time(path)?;
        if expected.is_some() || !self.store.compares_versions() {
            self.fence.check()?;
        }
        self.store.put(path, bytes, expected)
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.check_time(to)?;
        self.store.rename(from, to)
    }

    /// Files of a metadata table that is built again have the names of those before.
    fn remove(&self, path: &str) -> Result<()> {
        self.check_time(path)?;
        if path.starts_with(METADATA) && !path.starts_with(METADATA_TIMELINE) {
            self.fence.check()?;
        }
        self.store.delete(path)
    }

    fn start(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let upload = self.store.upload(path)?;
        Ok(Box::new(FencedUpload { upload, fence: Arc::clone(&self.fence) }))
    }
}

/// A large file, such as one of the metadata table, which is written under the lock.
struct FencedUpload {
    upload: Box<dyn StoreUpload>,
    fence: Arc<LockFence>,
}

impl StoreUpload for FencedUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.upload.write(bytes)
    }

    /// It may replace a file of its name.
    fn finish(self: Box<Self>) -> Result<FileVersion> {
        self.fence.check()?;
        self.upload.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use mortice_base::error::Error;
    use mortice_storage::{LocalStorage, Storage};

    /// A lock that another writer takes over, and whose time is up.
    #[derive(Clone, Default)]
    struct LostLock(Arc<[AtomicBool; 2]>);

    fn lost(is_lost: &AtomicBool) -> Result<()> {
        let lost = || Error::new(ErrorKind::WriteConflict, "lost");
        if is_lost.load(Ordering::Relaxed) { Err(lost()) } else { Ok(()) }
    }

    impl LockState for LostLock {
        fn check_time(&self) -> Result<()> {
            lost(&self.0[0])
        }

        fn check(&self) -> Result<()> {
            lost(&self.0[1])
        }
    }

    impl HeldLock for LostLock {
        fn check(&mut self) -> Result<()> {
            LockState::check(self)
        }

        fn state(&self) -> Option<Arc<dyn LockState>> {
            Some(Arc::new(self.clone()))
        }

        fn release(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_changed_under_a_lock_that_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let local = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let fence = Arc::new(LockFence::default());
        let store = FencedStore::new(Arc::clone(&local) as _, Arc::clone(&fence));
        let (x, lock) = (Bytes::from_static(b"x"), LostLock::default());
        store.put("a", &x, None).unwrap();
        let version = || store.get("a").unwrap().1;
        let held = fence.raise(Box::new(lock.clone()));
        store.put("a", &x, Some(&version())).unwrap();
        let is_refused = |done: Result<()>| done.is_err_and(|error| error.kind() == ErrorKind::WriteConflict);
        // Another writer whose clock is ahead has taken it over.
        lock.0[1].store(true, Ordering::Relaxed);
        assert!(is_refused(store.put("a", &x, Some(&version())).map(drop)));
        assert!(is_refused(store.upload("c").unwrap().finish().map(drop)));
        assert!(is_refused(store.delete(".hoodie/metadata/files/f.hfile")));
        store.put_if_absent("b", &x).unwrap();
        assert!(is_refused(store.put_if_absent(".hoodie/timeline/1.commit.requested", &x).map(drop)));
        assert!(is_refused(store.put_if_absent("p/.f-0_20240101000000000.log.2_1-0-1", &x).map(drop)));
        lock.0[0].store(true, Ordering::Relaxed);
        assert!(is_refused(store.put("a", &x, None).map(drop)));
        assert!(is_refused(store.put_if_absent("c", &x).map(drop)));
        assert!(is_refused(store.rename("a", "c").map(drop)));
        assert!(is_refused(store.delete("a")));
        assert!(is_refused(store.upload("c").unwrap().finish().map(drop)));
        store.put(".hoodie/.heartbeat/1", &x, None).unwrap();
        let names: Vec<String> = local.list_recursively("").unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        // Another lock was taken: releasing the first one does not forget it.
        let other = LostLock::default();
        other.0[0].store(true, Ordering::Relaxed);
        let next = fence.raise(Box::new(other));
        held.release().unwrap();
        assert!(is_refused(store.delete("a")));
        drop(next);
        store.delete("a").unwrap();
    }
}
