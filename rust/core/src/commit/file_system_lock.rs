//! The lock of `FileSystemBasedLockProvider`: a file that is created by the writer that holds the lock (measured on 1.2.0).
//!
//! The file is empty, as Hudi's is: it does not say whose it is, and Hudi deletes it without looking. So a lock is only as good as
//! the clocks where an expiry is set: a writer that works for longer than that may find the lock taken by another.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::lock::{HeldLock, TableLock};
use crate::error::{Error, Kind, Result};
use crate::storage::{Entry, FileStore, Put};

const NAME: &str = "lock";

/// The lock file in a folder.
pub struct FileSystemLock {
    store: Arc<dyn FileStore>,
    folder: String,
    expiry: Option<Duration>,
}

impl FileSystemLock {
    /// The lock of `folder` (`hoodie.write.lock.filesystem.path`, or else `.hoodie`), relative to the store. A lock file that is older
    /// than `expiry` (`hoodie.write.lock.filesystem.expire`) is taken over; without an expiry never.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, folder: &str, expiry: Option<Duration>) -> Self {
        Self { store, folder: folder.to_owned(), expiry }
    }

    fn path(&self) -> String {
        if self.folder.is_empty() { NAME.to_owned() } else { format!("{}/{NAME}", self.folder) }
    }

    /// Deletes the lock file if it has expired.
    fn remove_expired(&self) -> Result<()> {
        let Some(expiry) = self.expiry else { return Ok(()) };
        let entries = self.store.list(&self.folder)?.unwrap_or_default();
        let modified = entries.iter().find_map(|entry| match entry {
            Entry::File(status) if status.name == NAME => Some(status.modified_ms),
            _ => None,
        });
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
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
        let held = |taken| HeldFileLock {
            store: Arc::clone(&self.store),
            path: self.path(),
            expiry: self.expiry,
            taken,
            is_released: false,
        };
        match self.store.put_if_absent(&self.path(), &Bytes::new())? {
            Put::Written(_) => Ok(Some(Box::new(held(Instant::now())))),
            Put::Refused => Ok(None),
        }
    }

    fn location(&self) -> String {
        self.store.full_path(&self.path())
    }
}

struct HeldFileLock {
    store: Arc<dyn FileStore>,
    path: String,
    expiry: Option<Duration>,
    taken: Instant,
    is_released: bool,
}

impl HeldLock for HeldFileLock {
    fn check(&mut self) -> Result<()> {
        match self.expiry {
            Some(expiry) if self.taken.elapsed() >= expiry => {
                let message = format!(
                    "the lock of the table was held for longer than it is valid ({} s): another writer may have it; write less at \
                     once, or raise hoodie.write.lock.filesystem.expire",
                    expiry.as_secs()
                );
                Err(Error::new(Kind::Io, message).in_file(self.store.full_path(&self.path)))
            }
            _ => Ok(()),
        }
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        self.is_released = true;
        // An expired lock may be another writer's by now.
        if self.check().is_ok() { self.store.delete(&self.path) } else { Ok(()) }
    }
}

impl Drop for HeldFileLock {
    fn drop(&mut self) {
        if !self.is_released && self.check().is_ok() {
            let _ = self.store.delete(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::lock::{LockWait, acquire};
    use crate::storage::LocalPlace;

    fn lock(folder: &tempfile::TempDir, expiry: Option<Duration>) -> FileSystemLock {
        let store = Arc::new(LocalPlace::new(&folder.path().to_string_lossy(), true));
        FileSystemLock::new(store, ".hoodie", expiry)
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
        assert_eq!(std::fs::read(lock_file(&folder)).unwrap(), b"");
        held.release().unwrap();
        drop(other.try_acquire().unwrap().unwrap());
        assert!(!lock_file(&folder).exists());
    }

    #[test]
    fn writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let wait = LockWait { limit: Duration::from_secs(60), pause: Duration::from_millis(1) };
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let held = acquire(&lock(&folder, None), wait).unwrap();
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
        let error = acquire(&lock(&folder, None), wait).err().unwrap();
        assert!(error.to_string().contains(".hoodie/lock") && error.to_string().contains("another writer"), "{error}");
    }

    #[test]
    fn an_expired_lock_is_taken_over_and_its_holder_finds_out() {
        let folder = tempfile::tempdir().unwrap();
        let expiry = Some(Duration::from_secs(60));
        let mut held = lock(&folder, Some(Duration::ZERO)).try_acquire().unwrap().unwrap();
        assert!(lock(&folder, expiry).try_acquire().unwrap().is_none());
        let file = std::fs::File::options().write(true).open(lock_file(&folder)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
        let taken = lock(&folder, expiry).try_acquire().unwrap().unwrap();
        assert_eq!(held.check().unwrap_err().kind(), Kind::Io);
        held.release().unwrap();
        assert!(lock_file(&folder).exists(), "the lock of the other writer");
        drop(taken);
    }
}
