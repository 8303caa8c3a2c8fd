//! The lock of `StorageBasedLockProvider` (Hudi 1.0.2 and later): an object that says until when it is valid and whose
//! it is, written under conditions.
//!
//! | the object | the lock is |
//! |---|---|
//! | absent, `expired`, or `validUntil` + 500 ms is past | free |
//! | otherwise | held by `owner` |
//!
//! The holder renews it every 30 seconds, on a thread of its own, and releases it by writing `expired`. A write that
//! lost its condition means that another writer has the lock, unless the object is still the holder's: then the answer
//! to its last write was lost.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::lock::{HeldLock, LockState, TableLock};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::{Repetition, Time};
use mortice_merge::config::option_names::{
    WRITE_LOCK_STORAGE_RENEW_INTERVAL_SECS, WRITE_LOCK_STORAGE_VALIDITY_TIMEOUT_SECS,
};
use mortice_storage::{FileStore, FileVersion, PutOutcome};

const PATH: &str = ".hoodie/.locks/table_lock.json";
const CLOCK_DRIFT: Duration = Duration::from_millis(500);

/// The content of the object. Members that other releases add are not kept: the object is the holder's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LockFile {
    expired: bool,
    valid_until: u64,
    owner: String,
}

impl LockFile {
    fn is_free(&self, now: Duration) -> bool {
        self.expired || now > Duration::from_millis(self.valid_until).saturating_add(CLOCK_DRIFT)
    }
}

/// How long a lock is valid, and how often it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockValidity {
    /// `hoodie.write.lock.storage.validity.timeout.secs`.
    pub validity: Duration,
    /// `hoodie.write.lock.storage.renew.interval.secs`.
    pub renewal: Duration,
}

impl LockValidity {
    /// A lock that is valid so long, and renewed so often.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the options, for one that is not renewed at least three times while it is valid.
    pub fn new(validity: Duration, renewal: Duration) -> Result<Self> {
        if renewal.is_zero() || validity < renewal.saturating_mul(3) {
            return Err(Error::invalid_argument(format!(
                "a lock that is valid for {} s and renewed every {} s: {WRITE_LOCK_STORAGE_VALIDITY_TIMEOUT_SECS} must be at least 3 times {WRITE_LOCK_STORAGE_RENEW_INTERVAL_SECS}",
                validity.as_secs(),
                renewal.as_secs()
            )));
        }
        Ok(Self { validity, renewal })
    }
}

/// The lock object of a table.
pub struct StorageLock {
    store: Arc<dyn FileStore>,
    owner: String,
    validity: LockValidity,
    time: Arc<dyn Time>,
}

impl StorageLock {
    /// The lock of the table at `store`; `owner` is unique to the writer.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, owner: &str, validity: LockValidity) -> Self {
        Self { time: store.time(), store, owner: owner.to_owned(), validity }
    }

    /// The version of the object, if it is this writer's.
    fn own_version(&self) -> Result<Option<FileVersion>> {
        let (bytes, version) = match self.store.get(PATH) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found: Option<LockFile> = serde_json::from_slice(&bytes).ok();
        let is_own = found.is_some_and(|found| !found.expired && found.owner == self.owner);
        Ok(is_own.then_some(version))
    }

    /// Replaces the object, which had this version when it was written last. If the answer to a write since was lost it
    /// has another one and is still this writer's.
    fn replace(&self, version: &FileVersion, content: &Bytes) -> Result<PutOutcome> {
        let put = self.store.put(PATH, content, Some(version))?;
        match put {
            PutOutcome::Refused => match self.own_version()? {
                Some(version) => self.store.put(PATH, content, Some(&version)),
                None => Ok(PutOutcome::Refused),
            },
            PutOutcome::Written(_) => Ok(put),
        }
    }

    fn content(&self, expired: bool) -> Result<(Bytes, Duration)> {
        let until = self.time.since_epoch().saturating_add(self.validity.validity);
        let valid_until =
            u64::try_from(until.as_millis()).map_err(|_| Error::internal("a time is past the year 500,000,000"))?;
        let file = LockFile { expired, valid_until, owner: self.owner.clone() };
        let json = serde_json::to_vec(&file).map_err(|error| Error::internal("a lock as JSON").caused_by(error))?;
        Ok((Bytes::from(json), until))
    }
}

impl TableLock for StorageLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        let (content, until) = self.content(false)?;
        let put = match self.store.get(PATH) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.store.put_if_absent(PATH, &content),
            Err(error) => return Err(error),
            Ok((bytes, version)) => {
                let found: LockFile = serde_json::from_slice(&bytes).map_err(|error| {
                    Error::invalid_table("the lock of the table cannot be read: remove it if no writer is running")
                        .caused_by(error)
                        .in_file(self.location())
                })?;
                if !found.is_free(self.time.since_epoch()) {
                    return Ok(None);
                }
                self.store.put(PATH, &content, Some(&version))
            }
        };
        let version = match put {
            Ok(PutOutcome::Refused) => return Ok(None),
            Ok(PutOutcome::Written(version)) => version,
            // The answer may have been lost: nobody would have the lock until its time is up.
            Err(error) => match self.store.get(PATH) {
                Ok((found, version)) if found == content => version,
                _ => return Err(error),
            },
        };
        let (store, time) = (Arc::clone(&self.store), Arc::clone(&self.time));
        let lock = Self { store, owner: self.owner.clone(), validity: self.validity, time };
        Ok(Some(Box::new(HeldStorageLock::new(lock, version, until)?)))
    }

    fn location(&self) -> String {
        self.store.full_path(PATH)
    }
}

/// What the holder and its renewals share.
struct Shared {
    lock: StorageLock,
    state: Mutex<State>,
    /// When the lock ends, in milliseconds since the epoch; 0 if it is lost. To be read while a renewal takes long.
    until: AtomicU64,
}

struct State {
    version: FileVersion,
    until: Duration,
    is_lost: bool,
}

struct HeldStorageLock {
    shared: Arc<Shared>,
    renewals: Option<Repetition>,
}

impl HeldStorageLock {
    fn new(lock: StorageLock, version: FileVersion, until: Duration) -> Result<Self> {
        let state = Mutex::new(State { version, until, is_lost: false });
        let until = AtomicU64::new(millis(until));
        let shared = Arc::new(Shared { lock, state, until });
        let (renewing, time) = (Arc::clone(&shared), &shared.lock.time);
        let renewals = time
            .repeat("mortice-lock", shared.lock.validity.renewal, Box::new(move || renewing.renew()))
            .map_err(|error| Error::io("could not start the thread that renews the lock", error))?;
        Ok(Self { shared, renewals: Some(renewals) })
    }

    /// Ends the renewing, and gives the lock back if it is still held.
    fn end(&mut self) -> Result<()> {
        let Some(renewals) = self.renewals.take() else { return Ok(()) };
        if renewals.end().is_err() {
            return Err(Error::internal("the thread that renews a lock panicked"));
        }
        let state = self.shared.state();
        if state.is_lost {
            return Ok(());
        }
        let (content, _) = self.shared.lock.content(true)?;
        self.shared.lock.replace(&state.version, &content).map(|_| ())
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the lock, and says whether it is to be renewed again. A storage that does not answer is tried again
    /// later: the lock is valid until its time is up.
    fn renew(&self) -> ControlFlow<()> {
        let mut state = self.state();
        let Ok((content, until)) = self.lock.content(false) else { return ControlFlow::Continue(()) };
        match self.lock.replace(&state.version, &content) {
            Ok(PutOutcome::Written(version)) => {
                (state.version, state.until) = (version, until);
                self.until.store(millis(until), Ordering::Relaxed);
            }
            Ok(PutOutcome::Refused) => {
                state.is_lost = true;
                self.until.store(0, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            Err(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn lost(&self) -> Error {
        let message = "the lock of the table was lost to another writer, or could not be renewed in time; write again, or raise \
                       hoodie.write.lock.storage.validity.timeout.secs";
        Error::new(ErrorKind::WriteConflict, message).in_file(self.lock.location())
    }
}

impl LockState for Shared {
    fn check_time(&self) -> Result<()> {
        if millis(self.lock.time.since_epoch()) < self.until.load(Ordering::Relaxed) {
            Ok(())
        } else {
            Err(self.lost())
        }
    }

    fn check(&self) -> Result<()> {
        // Renewals wait meanwhile.
        let state = self.state();
        // A writer whose clock is ahead has taken it over earlier than this one's clock says.
        if !state.is_lost && self.lock.time.since_epoch() < state.until && self.lock.own_version()?.is_some() {
            return Ok(());
        }
        Err(self.lost())
    }
}

impl HeldLock for HeldStorageLock {
    fn check(&mut self) -> Result<()> {
        self.shared.check()
    }

    fn state(&self) -> Option<Arc<dyn LockState>> {
        Some(Arc::clone(&self.shared) as _)
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

impl Drop for HeldStorageLock {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::time::SimulatedTime;
    use mortice_storage::LocalStorage;

    fn lock(folder: &tempfile::TempDir, owner: &str, validity: LockValidity) -> StorageLock {
        lock_in(&SimulatedTime::default(), folder, owner, validity)
    }

    fn lock_in(time: &SimulatedTime, folder: &tempfile::TempDir, owner: &str, validity: LockValidity) -> StorageLock {
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true).in_time(Arc::new(time.clone()));
        StorageLock::new(Arc::new(store), owner, validity)
    }

    fn usual() -> LockValidity {
        LockValidity::new(Duration::from_secs(300), Duration::from_secs(30)).unwrap()
    }

    fn short() -> LockValidity {
        LockValidity { validity: Duration::from_millis(1500), renewal: Duration::from_millis(50) }
    }

    fn file(folder: &tempfile::TempDir) -> LockFile {
        serde_json::from_slice(&std::fs::read(folder.path().join(PATH)).unwrap()).unwrap()
    }

    #[test]
    fn one_writer_holds_it_and_gives_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (lock(&folder, "a", usual()), lock(&folder, "b", usual()));
        let mut held = one.try_acquire().unwrap().unwrap();
        assert!(held.check().is_ok() && other.try_acquire().unwrap().is_none());
        assert_eq!((file(&folder).owner.as_str(), file(&folder).expired), ("a", false));
        held.release().unwrap();
        assert!(file(&folder).expired);
        drop(other.try_acquire().unwrap().unwrap());
        assert_eq!((file(&folder).owner.as_str(), file(&folder).expired), ("b", true));
    }

    #[test]
    fn a_writer_whose_clock_is_behind_by_half_a_second_still_has_it() {
        let lock = |expired, valid_until| LockFile { expired, valid_until, owner: "a".to_owned() };
        let is_free_at = |lock: &LockFile, millis| lock.is_free(Duration::from_millis(millis));
        let held = lock(false, 10_000);
        assert!(!is_free_at(&held, 0) && !is_free_at(&held, 10_000) && !is_free_at(&held, 10_500));
        assert!(is_free_at(&held, 10_501) && is_free_at(&held, u64::MAX));
        assert!(is_free_at(&lock(true, 10_000), 0) && !is_free_at(&lock(false, u64::MAX), u64::MAX));
    }

    #[test]
    fn it_is_renewed_for_as_long_as_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let time = SimulatedTime::default();
        let mut held = lock_in(&time, &folder, "a", short()).try_acquire().unwrap().unwrap();
        let first = file(&folder).valid_until;
        time.advance(Duration::from_millis(2000));
        assert!(lock_in(&time, &folder, "b", short()).try_acquire().unwrap().is_none());
        assert!(held.check().is_ok());
        assert_eq!(file(&folder).valid_until, first + 2000);
    }

    #[test]
    fn a_lock_of_a_dead_writer_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let past = LockFile { expired: false, valid_until: 1, owner: "dead".to_owned() };
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        storage.put(PATH, &serde_json::to_vec(&past).unwrap().into(), None).unwrap();
        assert!(lock(&folder, "b", usual()).try_acquire().unwrap().is_some());
    }

    #[test]
    fn a_holder_that_lost_the_lock_finds_out() {
        let folder = tempfile::tempdir().unwrap();
        let time = SimulatedTime::default();
        let mut held = lock_in(&time, &folder, "a", short()).try_acquire().unwrap().unwrap();
        let other = LockFile { expired: false, valid_until: u64::MAX, owner: "b".to_owned() };
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        storage.put(PATH, &serde_json::to_vec(&other).unwrap().into(), None).unwrap();
        let state = held.state().unwrap();
        state.check_time().unwrap();
        time.advance(short().renewal);
        assert!(state.check_time().unwrap_err().to_string().contains("lost"));
        assert!(held.check().unwrap_err().to_string().contains("lost"));
        held.release().unwrap();
        assert_eq!(file(&folder), other);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        storage.put(PATH, &Bytes::from_static(b"{}"), None).unwrap();
        let error = lock(&folder, "a", short()).try_acquire().err().unwrap();
        assert!(error.to_string().contains("remove it"), "{error}");
    }
}
