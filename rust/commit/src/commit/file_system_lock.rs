//! The lock of `FileSystemBasedLockProvider`: a file that is created by the writer that holds the lock (measured on
//! 1.2.0).
//!
//! Hudi's file is empty or says whose it is, and Hudi deletes it without looking. Here it names its writer, since a
//! store whose answer was lost is asked what the file holds: two writers that put the same content would both have the
//! lock. So the holder can also find out that another writer took the lock over, where an expiry is set.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::lock::{HeldLock, LockState, TableLock};
use super::unique_name::unique_name;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
use mortice_storage::{FileStore, FolderEntry, PutOutcome};

const NAME: &str = "lock";

/// The lock file in a folder.
pub struct FileSystemLock {
    store: Arc<dyn FileStore>,
    folder: String,
    expiry: Option<Duration>,
    time: Arc<dyn Time>,
}

impl FileSystemLock {
    /// The lock of `folder` (`hoodie.write.lock.filesystem.path`, or else `.hoodie`), relative to the store. A lock
    /// file that is older than `expiry` (`hoodie.write.lock.filesystem.expire`) is taken over; without an expiry never.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, folder: &str, expiry: Option<Duration>) -> Self {
        Self { time: store.time(), store, folder: folder.to_owned(), expiry }
    }

    /// The same lock by another time than that of its store: the one of the table's.
    #[must_use]
    pub fn in_time(self, time: Arc<dyn Time>) -> Self {
        Self { time, ..self }
    }

    fn path(&self) -> String {
        if self.folder.is_empty() { NAME.to_owned() } else { format!("{}/{NAME}", self.folder) }
    }

    /// Deletes the lock file if it has expired.
    fn remove_expired(&self) -> Result<()> {
        let Some(expiry) = self.expiry else { return Ok(()) };
        let entries = self.store.list(&self.folder)?.unwrap_or_default();
        let modified = entries.iter().find_map(|entry| match entry {
            FolderEntry::File(status) if status.name == NAME => Some(status.modified_ms),
            _ => None,
        });
        let now = self.time.since_epoch();
        let is_expired = |modified: i64| {
            let modified = Duration::from_millis(u64::try_from(modified).unwrap_or_default());
            now.saturating_sub(modified) > expiry
        };
        match modified {
            Some(modified) if modified > 0 && is_expired(modified) => self.store.delete(&self.path()),
            _ => Ok(()),
        }
    }
}

impl TableLock for FileSystemLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        self.remove_expired()?;
        let (time, taken) = (Arc::clone(&self.time), self.time.monotonic());
        let content = Bytes::from(format!("{{\"owner\":\"{}\"}}\n", unique_name()));
        match self.store.put_if_absent(&self.path(), &content) {
            Ok(PutOutcome::Refused) => return Ok(None),
            Ok(PutOutcome::Written(_)) => {}
            // Without an expiry a lock whose answer was lost would stay for ever.
            Err(_) if self.store.get(&self.path()).is_ok_and(|(found, _)| found == content) => {}
            Err(error) => return Err(error),
        }
        let store = Arc::clone(&self.store);
        let file = Arc::new(OwnLockFile { store, path: self.path(), content, expiry: self.expiry, time, taken });
        Ok(Some(Box::new(HeldFileLock { file, is_released: false })))
    }

    fn location(&self) -> String {
        self.store.full_path(&self.path())
    }
}

/// The lock file of a holder.
struct OwnLockFile {
    store: Arc<dyn FileStore>,
    path: String,
    content: Bytes,
    expiry: Option<Duration>,
    time: Arc<dyn Time>,
    taken: Duration,
}

impl OwnLockFile {
    /// Returns an error once the lock may have expired.
    fn check_age(&self) -> Result<()> {
        match self.expiry {
            Some(expiry) if self.time.since(self.taken) >= expiry => {
                let message = format!(
                    "the lock of the table was held for longer than it is valid ({} s): another writer may have it; write less at \
                     once, or raise hoodie.write.lock.filesystem.expire",
                    expiry.as_secs()
                );
                Err(Error::new(ErrorKind::WriteConflict, message).in_file(self.store.full_path(&self.path)))
            }
            _ => Ok(()),
        }
    }

    fn is_own(&self) -> Result<bool> {
        match self.store.get(&self.path) {
            Ok((found, _)) => Ok(found == self.content),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl LockState for OwnLockFile {
    fn check_time(&self) -> Result<()> {
        self.check_age()
    }

    fn check(&self) -> Result<()> {
        self.check_age()?;
        if self.is_own()? {
            return Ok(());
        }
        let message = "the lock of the table was taken over or removed while it was held: another writer may have it";
        Err(Error::new(ErrorKind::WriteConflict, message).in_file(self.store.full_path(&self.path)))
    }
}

struct HeldFileLock {
    file: Arc<OwnLockFile>,
    is_released: bool,
}

impl HeldFileLock {
    /// Deletes the file, unless it is another writer's by now.
    fn delete(&mut self) -> Result<()> {
        self.is_released = true;
        let file = &self.file;
        if file.check_age().is_ok() && file.is_own()? { file.store.delete(&file.path) } else { Ok(()) }
    }
}

impl HeldLock for HeldFileLock {
    fn check(&mut self) -> Result<()> {
        self.file.check()
    }

    fn state(&self) -> Option<Arc<dyn LockState>> {
        Some(Arc::clone(&self.file) as _)
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        self.delete()
    }
}

impl Drop for HeldFileLock {
    fn drop(&mut self) {
        if !self.is_released {
            let _ = self.delete();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::lock::{LockWait, acquire};
    use mortice_base::time::SimulatedTime;
    use mortice_storage::LocalStorage;

    fn lock(folder: &tempfile::TempDir, expiry: Option<Duration>) -> FileSystemLock {
        lock_in(&SimulatedTime::default(), folder, expiry)
    }

    fn lock_in(time: &SimulatedTime, folder: &tempfile::TempDir, expiry: Option<Duration>) -> FileSystemLock {
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true).in_time(Arc::new(time.clone()));
        FileSystemLock::new(Arc::new(store), ".hoodie", expiry)
    }

    fn lock_file(folder: &tempfile::TempDir) -> std::path::PathBuf {
        folder.path().join(".hoodie/lock")
    }

    #[test]
    fn one_writer_holds_it_and_gives_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (lock(&folder, None), lock(&folder, None));
        let mut held = one.try_acquire().unwrap().unwrap();
        assert!(other.try_acquire().unwrap().is_none() && held.check().is_ok());
        assert!(std::fs::read_to_string(lock_file(&folder)).unwrap().contains("\"owner\":\"mortice-"));
        held.release().unwrap();
        drop(other.try_acquire().unwrap().unwrap());
        assert!(!lock_file(&folder).exists());
    }

    #[test]
    fn a_lock_that_was_removed_is_not_held_and_that_of_another_is_not_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = lock(&folder, None).try_acquire().unwrap().unwrap();
        std::fs::remove_file(lock_file(&folder)).unwrap();
        assert!(held.check().unwrap_err().to_string().contains("removed"));
        std::fs::write(lock_file(&folder), b"").unwrap();
        assert!(held.check().is_err());
        held.release().unwrap();
        assert!(lock_file(&folder).exists(), "the lock of the other writer");
    }

    #[test]
    fn writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        // However often the others ask meanwhile.
        let wait = LockWait { limit: Duration::MAX, pause: Duration::from_millis(1) };
        let time = SimulatedTime::default();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let held = acquire(&lock_in(&time, &folder, None), wait, &time).unwrap();
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        held.release().unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn waiting_ends_with_an_error_that_names_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let _held = lock(&folder, None).try_acquire().unwrap().unwrap();
        let wait = LockWait { limit: Duration::from_millis(20), pause: Duration::from_millis(5) };
        let error = acquire(&lock(&folder, None), wait, &SimulatedTime::default()).err().unwrap();
        assert!(error.to_string().contains(".hoodie/lock") && error.to_string().contains("another writer"), "{error}");
    }

    #[test]
    fn an_expired_lock_is_taken_over_and_its_holder_finds_out() {
        let folder = tempfile::tempdir().unwrap();
        let (time, expiry) = (SimulatedTime::default(), Some(Duration::from_secs(60)));
        let mut held = lock_in(&time, &folder, expiry).try_acquire().unwrap().unwrap();
        let file = std::fs::File::options().write(true).open(lock_file(&folder)).unwrap();
        file.set_modified(time.file_time()).unwrap();
        time.advance(Duration::from_secs(59));
        held.check().unwrap();
        assert!(lock_in(&time, &folder, expiry).try_acquire().unwrap().is_none());
        time.advance(Duration::from_secs(2));
        let taken = lock_in(&time, &folder, expiry).try_acquire().unwrap().unwrap();
        assert_eq!(held.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        held.release().unwrap();
        assert!(lock_file(&folder).exists(), "the lock of the other writer");
        drop(taken);
    }
}
