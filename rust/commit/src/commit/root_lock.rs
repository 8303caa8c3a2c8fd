//! The lock of writers that are not configured to share one: on local disks they keep out of each other's way all the
//! same.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::lock::{HeldLock, LockState, LockWait, TableLock};
use mortice_base::error::{Error, Result};
use mortice_storage::{FileStore, RootLock as StoreLock};

const PAUSE: Duration = Duration::from_millis(2);

thread_local! {
    /// The tables whose lock this thread has: what a validator calls would wait for it in vain.
    static HELD: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

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
            StoreLock::Held(lock) => Some(Box::new(HeldRoot::new(self.store.root(), lock))),
            StoreLock::Busy if HELD.with_borrow(|held| held.contains(self.store.root())) => {
                let message = "this table is being committed to: what is called meanwhile, as a validator is, must not write to it";
                return Err(Error::invalid_argument(message).in_file(self.store.root()));
            }
            StoreLock::Busy => None,
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

/// The root, and its lock; none on storage that has none.
struct HeldRoot(Option<(String, Box<dyn Send>)>);

impl HeldRoot {
    fn new(root: &str, lock: Box<dyn Send>) -> Self {
        HELD.with_borrow_mut(|held| held.insert(root.to_owned()));
        Self(Some((root.to_owned(), lock)))
    }
}

impl HeldLock for HeldRoot {
    fn check(&mut self) -> Result<()> {
        // It cannot be lost.
        Ok(())
    }

    fn state(&self) -> Option<Arc<dyn LockState>> {
        None
    }

    fn release(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Drop for HeldRoot {
    fn drop(&mut self) {
        let Some((root, lock)) = self.0.take() else { return };
        drop(lock);
        // The set is gone where its thread ends.
        let _ = HELD.try_with(|held| held.borrow_mut().remove(&root));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::acquire;
    use super::*;
    use mortice_base::time::SimulatedTime;
    use mortice_storage::LocalStorage;
    use mortice_storage::failing_store::FailingStore;

    #[test]
    fn a_writer_waits_for_another_one_on_a_local_disk() {
        let folder = tempfile::tempdir().unwrap();
        let time = SimulatedTime::default();
        let local = || LocalStorage::new(&folder.path().to_string_lossy(), true);
        let store: Arc<dyn FileStore> = Arc::new(local());
        let (one, other) = (RootLock::new(&store), RootLock::new(&store));
        let wait = RootLock::wait(LockWait { limit: Duration::from_millis(20), pause: Duration::from_secs(1) });
        let held = acquire(&one, wait, &time).unwrap();
        let clock = time.clone();
        let elsewhere =
            std::thread::spawn(move || acquire(&RootLock::new(&store), wait, &clock).err().unwrap().to_string());
        let refused = elsewhere.join().unwrap();
        assert!(refused.contains("another writer") && !refused.contains("remove"), "{refused}");
        let refused = acquire(&other, wait, &time).err().unwrap().to_string();
        assert!(refused.contains("must not write"), "{refused}");
        // Storage without such locks.
        let remote: Arc<dyn FileStore> = Arc::new(FailingStore::new(local(), usize::MAX, false).remote());
        acquire(&RootLock::new(&remote), wait, &time).unwrap().release().unwrap();
        held.release().unwrap();
        acquire(&other, wait, &time).unwrap().release().unwrap();
    }
}
