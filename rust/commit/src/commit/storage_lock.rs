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

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::lock::{HeldLock, TableLock};
use super::renewed_lock::{Lease, Moment, Renewal, hold};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
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

    fn content(&self, expired: bool) -> Result<Bytes> {
        let until = self.time.since_epoch().saturating_add(self.validity.validity);
        let valid_until =
            u64::try_from(until.as_millis()).map_err(|_| Error::internal("a time is past the year 500,000,000"))?;
        let file = LockFile { expired, valid_until, owner: self.owner.clone() };
        let json = serde_json::to_vec(&file).map_err(|error| Error::internal("a lock as JSON").caused_by(error))?;
        Ok(Bytes::from(json))
    }
}

impl TableLock for StorageLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        let begun = Moment::now(&*self.time);
        let content = self.content(false)?;
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
        let renewal = Renewal {
            time: Arc::clone(&time),
            interval: self.validity.renewal,
            location: self.location(),
            option: WRITE_LOCK_STORAGE_VALIDITY_TIMEOUT_SECS.name(),
        };
        let lock = Self { store, owner: self.owner.clone(), validity: self.validity, time };
        hold(ObjectLease { lock, version }, begun, self.validity.validity, renewal).map(Some)
    }

    fn location(&self) -> String {
        self.store.full_path(PATH)
    }
}

/// The object, as this writer has written it last.
struct ObjectLease {
    lock: StorageLock,
    version: FileVersion,
}

impl Lease for ObjectLease {
    fn renew(&mut self) -> Result<Option<Duration>> {
        let content = self.lock.content(false)?;
        match self.lock.replace(&self.version, &content)? {
            PutOutcome::Written(version) => {
                self.version = version;
                Ok(Some(self.lock.validity.validity))
            }
            PutOutcome::Refused => Ok(None),
        }
    }

    fn is_own(&mut self) -> Result<bool> {
        Ok(self.lock.own_version()?.is_some())
    }

    fn give_back(&mut self) -> Result<()> {
        let content = self.lock.content(true)?;
        self.lock.replace(&self.version, &content).map(drop)
    }
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
