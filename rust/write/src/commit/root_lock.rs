//! The lock of writers that are not configured to share one: on local disks they keep out of each other's way all the same.

use std::sync::Arc;
use std::time::Duration;

use super::lock::{HeldLock, LockWait, TableLock};
use mortice_base::error::Result;
use mortice_storage::{FileStore, RootLock as StoreLock};

const PAUSE: Duration = Duration::from_millis(2);

/// The advisory lock of a table's folder. On storage that has none everybody gets it.
pub(super) struct RootLock {
    store: Arc<dyn FileStore>,
}

impl RootLock {
    pub(super) fn new(store: &Arc<dyn FileStore>) -> Self {
        Self { store: Arc::clone(store) }
    }

    /// How long to wait for it: asking costs next to nothing.
    pub(super) fn wait(limit: LockWait) -> LockWait {
        LockWait { pause: PAUSE, ..limit }
    }
}

impl TableLock for RootLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        Ok(match self.store.try_lock_root()? {
            StoreLock::Held(held) => Some(Box::new(HeldRoot(Some(held)))),
            StoreLock::Taken => None,
            StoreLock::Unsupported => Some(Box::new(HeldRoot(None))),
        })
    }

    fn location(&self) -> String {
        self.store.root().to_owned()
    }

    fn is_file(&self) -> bool {
        false
    }
}

struct HeldRoot(Option<Box<dyn Send>>);

impl HeldLock for HeldRoot {
    fn check(&mut self) -> Result<()> {
        // It cannot be lost.
        Ok(())
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        drop(self.0.take());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::acquire;
    use super::*;
    use mortice_storage::LocalStorage;
    use mortice_storage::failing_store::FailingStore;

    #[test]
    fn a_writer_waits_for_another_one_on_a_local_disk() {
        let folder = tempfile::tempdir().unwrap();
        let local = || LocalStorage::new(&folder.path().to_string_lossy(), true);
        let store: Arc<dyn FileStore> = Arc::new(local());
        let (one, other) = (RootLock::new(&store), RootLock::new(&store));
        let wait = RootLock::wait(LockWait { limit: Duration::from_millis(20), pause: Duration::from_secs(1) });
        let held = acquire(&one, wait).unwrap();
        let refused = acquire(&other, wait).err().unwrap().to_string();
        assert!(refused.contains("another writer") && !refused.contains("remove"), "{refused}");
        // Storage without such locks.
        let remote: Arc<dyn FileStore> = Arc::new(FailingStore::new(local(), usize::MAX, false).remote());
        acquire(&RootLock::new(&remote), wait).unwrap().release().unwrap();
        held.release().unwrap();
        acquire(&other, wait).unwrap().release().unwrap();
    }
}
