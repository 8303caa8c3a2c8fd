//! Concurrency of writers, from Hudi's options (`HoodieLockConfig`, `WriteConcurrencyMode`,
//! `HoodieFailedWritesCleaningPolicy`).

use std::sync::Arc;
use std::time::Duration;

use super::conflict_unit::ConflictUnit;
use super::dynamodb_lock::{DynamoDbLock, DynamoDbSettings};
use super::file_system_lock::FileSystemLock;
use super::heartbeat::HeartbeatOptions;
use super::lock::{HeldLock, LockWait, TableLock, acquire, pause};
use super::lock_fence::LockFence;
use super::lock_place::LockedTable;
use super::root_lock::RootLock;
use super::storage_lock::{LockValidity, StorageLock};
use super::unique_name::unique_name;
use super::zookeeper_lock::{ZooKeeperLock, ZooKeeperSettings};
use mortice_base::error::{Error, Result};
use mortice_base::time::Time;
use mortice_merge::config::option_names::{CLEAN_FAILED_WRITES_POLICY, WRITE_CONCURRENCY_MODE, WRITE_LOCK_PROVIDER};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};
use mortice_storage::{FileStore, StorageOptions, open_file_store, open_json_service};

/// The packages of Hudi's lock providers.
const PACKAGES: [&str; 3] = [
    "org.apache.hudi.client.transaction.lock.",
    "org.apache.hudi.aws.transaction.lock.",
    "org.apache.hudi.hive.transaction.lock.",
];

const SUPPORTED: &str = "FileSystemBasedLockProvider, StorageBasedLockProvider, DynamoDBBasedLockProvider, \
                         DynamoDBBasedImplicitPartitionKeyLockProvider, ZookeeperBasedLockProvider, \
                         ZookeeperBasedImplicitBasePathLockProvider";

/// A lock is asked for at least so often, however long Hudi's client would wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What is done about writes that were not completed (`hoodie.clean.failed.writes.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedWrites {
    /// The next write rolls them back: there is one writer.
    Eager,
    /// They are rolled back once their heartbeat has expired: others may be alive.
    Lazy,
    /// They stay.
    Never,
}

/// How writers of a table keep out of each other's way.
pub struct Concurrency {
    lock: Arc<dyn TableLock>,
    fence: Arc<LockFence>,
    time: Arc<dyn Time>,
    /// Whether the writers are configured to share the lock; each is configured to be the only one otherwise.
    is_shared: bool,
    wait: LockWait,
    /// What is done about failed writes.
    pub failed_writes: FailedWrites,
    /// Heartbeats of writes.
    pub heartbeat: HeartbeatOptions,
    /// How far the clocks of writers may differ.
    pub clock_skew: Duration,
    /// What their writes are compared by.
    pub conflict_unit: ConflictUnit,
}

impl Concurrency {
    /// By Hudi's options, for the table at the store's root.
    ///
    /// Args:
    ///     table: What locks outside of the table are named after.
    ///     storage: Opens the folder of the lock, if it is another one; its credentials are those of a lock in AWS.
    ///
    /// # Errors
    /// `Unsupported` for modes, lock providers and strategies that this release does not have, by name;
    /// `InvalidArgument` for options that contradict each other or cannot be parsed.
    pub fn resolve(
        store: &Arc<dyn FileStore>,
        table: LockedTable<'_>,
        storage: &StorageOptions,
        options: &WriteOptions,
    ) -> Result<Self> {
        let (wait, heartbeat) = (lock_wait(options)?, HeartbeatOptions::resolve(options)?);
        let clock_skew = millis(options, option_names::TIME_GENERATOR_MAX_EXPECTED_CLOCK_SKEW_MS)?;
        let policy = failed_writes(options)?;
        match options.text(WRITE_CONCURRENCY_MODE).map(str::to_ascii_lowercase).as_deref() {
            None | Some("single_writer") => {
                return Ok(Self {
                    lock: Arc::new(RootLock::new(store)),
                    fence: Arc::default(),
                    time: store.time(),
                    is_shared: false,
                    wait: RootLock::wait(wait),
                    failed_writes: policy.unwrap_or(FailedWrites::Eager),
                    heartbeat,
                    clock_skew,
                    conflict_unit: ConflictUnit::FileGroup,
                });
            }
            Some("optimistic_concurrency_control") => {}
            // Measured with Hudi 1.2.0: an upsert that is completed after `delete_partition` has replaced its file
            // group.
            Some(other @ "non_blocking_concurrency_control") => {
                let message = format!(
                    "unsupported {WRITE_CONCURRENCY_MODE}={other}: Hudi loses committed rows with it if a partition is deleted meanwhile; use \
                     optimistic_concurrency_control and hoodie.write.num.retries.on.conflict.failures"
                );
                return Err(Error::unsupported(message));
            }
            Some(other) => {
                let message = format!(
                    "unsupported {WRITE_CONCURRENCY_MODE}={other} (supported: single_writer, optimistic_concurrency_control)"
                );
                return Err(Error::unsupported(message));
            }
        }
        if policy == Some(FailedWrites::Eager) {
            let message = format!(
                "{CLEAN_FAILED_WRITES_POLICY}=EAGER with {WRITE_CONCURRENCY_MODE}=optimistic_concurrency_control: it would roll back writes that are under way; set LAZY"
            );
            return Err(Error::invalid_argument(message));
        }
        Ok(Self {
            lock: table_lock(store, table, storage, options)?,
            fence: Arc::default(),
            time: store.time(),
            is_shared: true,
            wait,
            failed_writes: policy.unwrap_or(FailedWrites::Lazy),
            heartbeat,
            clock_skew,
            conflict_unit: ConflictUnit::new(
                options.text(option_names::WRITE_LOCK_CONFLICT_RESOLUTION_STRATEGY).unwrap_or(""),
                options.word(option_names::INDEX_TYPE)?,
            )?,
        })
    }

    /// Returns true if other writers may be writing to the table at the same time.
    #[must_use]
    pub fn has_several_writers(&self) -> bool {
        self.is_shared
    }

    /// Returns true if writes have heartbeats.
    #[must_use]
    pub fn has_heartbeats(&self) -> bool {
        self.has_several_writers() || self.failed_writes == FailedWrites::Lazy
    }

    /// Takes the lock. A writer that is configured to be the only one takes that of the table's folder, on local disks.
    ///
    /// # Errors
    /// As for [`acquire`].
    pub fn lock(&self) -> Result<Box<dyn HeldLock>> {
        acquire(&*self.lock, self.wait, &*self.time).map(|held| self.fence.raise(held))
    }

    /// What the table's store looks at before each change, while the lock is held.
    #[must_use]
    pub fn fence(&self) -> &Arc<LockFence> {
        &self.fence
    }

    /// Releases a lock once the clocks of all writers are past the times that were generated under it.
    ///
    /// # Errors
    /// `Interrupted` by a signal, after which the lock is released as well; those of the storage.
    pub fn release(&self, lock: Option<Box<dyn HeldLock>>) -> Result<()> {
        let Some(lock) = lock else { return Ok(()) };
        // Writers on one machine have one clock.
        let waited = if self.has_several_writers() { pause(&*self.time, self.clock_skew) } else { Ok(()) };
        waited.and(lock.release())
    }

    /// Does something under the table's lock, and releases it, also if that fails: a rollback before may have put times
    /// on the timeline.
    ///
    /// # Errors
    /// As for [`Self::lock`]; that of `work`, or else of [`Self::release`].
    pub fn locked<T>(&self, work: impl FnOnce(&mut Box<dyn HeldLock>) -> Result<T>) -> Result<T> {
        let mut lock = self.lock()?;
        let done = work(&mut lock);
        let released = self.release(Some(lock));
        done.and_then(|done| released.map(|()| done))
    }
}

fn table_lock(
    store: &Arc<dyn FileStore>,
    table: LockedTable<'_>,
    storage: &StorageOptions,
    options: &WriteOptions,
) -> Result<Arc<dyn TableLock>> {
    let Some(class) = options.text(WRITE_LOCK_PROVIDER) else {
        return Err(Error::invalid_argument(format!(
            "{WRITE_CONCURRENCY_MODE}=optimistic_concurrency_control needs {WRITE_LOCK_PROVIDER}: {SUPPORTED}; the same as all other writers of the table"
        )));
    };
    match PACKAGES.iter().find_map(|package| class.strip_prefix(package)).unwrap_or(class) {
        "FileSystemBasedLockProvider" => {
            let minutes: u64 = options.integer(option_names::WRITE_LOCK_FILESYSTEM_EXPIRE)?;
            let expiry = (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)));
            match options.text(option_names::WRITE_LOCK_FILESYSTEM_PATH) {
                None => Ok(Arc::new(FileSystemLock::new(Arc::clone(store), ".hoodie", expiry))),
                Some(path) => {
                    let lock = FileSystemLock::new(open_file_store(path, storage)?, "", expiry);
                    Ok(Arc::new(lock.in_time(store.time())))
                }
            }
        }
        "StorageBasedLockProvider" => {
            let seconds = |name| options.integer(name).map(Duration::from_secs);
            let validity = LockValidity::new(
                seconds(option_names::WRITE_LOCK_STORAGE_VALIDITY_TIMEOUT_SECS)?,
                seconds(option_names::WRITE_LOCK_STORAGE_RENEW_INTERVAL_SECS)?,
            )?;
            Ok(Arc::new(StorageLock::new(Arc::clone(store), &unique_name(), validity)))
        }
        "DynamoDBBasedLockProvider" => {
            let key = options.text(option_names::WRITE_LOCK_DYNAMODB_PARTITION_KEY).unwrap_or(table.name);
            dynamodb_lock(store, table, storage, options, key.to_owned())
        }
        "DynamoDBBasedImplicitPartitionKeyLockProvider" => {
            dynamodb_lock(store, table, storage, options, table.hashed_uri())
        }
        "ZookeeperBasedLockProvider" => {
            Ok(Arc::new(ZooKeeperLock::new(ZooKeeperSettings::explicit(options, table)?, store.time())))
        }
        "ZookeeperBasedImplicitBasePathLockProvider" => {
            Ok(Arc::new(ZooKeeperLock::new(ZooKeeperSettings::implicit(options, table)?, store.time())))
        }
        "HiveMetastoreBasedLockProvider" => Err(Error::unsupported(format!(
            "unsupported {WRITE_LOCK_PROVIDER}={class}: a lock of Hive's metastore needs its Thrift client; use one of {SUPPORTED}, in all \
             writers of the table"
        ))),
        "InProcessLockProvider" => Err(Error::invalid_argument(format!(
            "{WRITE_LOCK_PROVIDER}=InProcessLockProvider protects one process only: with {WRITE_CONCURRENCY_MODE}=optimistic_concurrency_control use \
             one of {SUPPORTED}"
        ))),
        _ => Err(Error::unsupported(format!("unsupported {WRITE_LOCK_PROVIDER}={class} (supported: {SUPPORTED})"))),
    }
}

fn dynamodb_lock(
    store: &Arc<dyn FileStore>,
    table: LockedTable<'_>,
    storage: &StorageOptions,
    options: &WriteOptions,
    key: String,
) -> Result<Arc<dyn TableLock>> {
    let settings = DynamoDbSettings::resolve(options, key)?;
    let service = open_json_service(table.uri, storage, DynamoDbSettings::address(options))?;
    Ok(Arc::new(DynamoDbLock::new(service, settings, store.time())))
}

pub(super) fn lock_wait(options: &WriteOptions) -> Result<LockWait> {
    let once = millis(options, option_names::WRITE_LOCK_WAIT_TIME_MS)?;
    let pause = millis(options, option_names::WRITE_LOCK_WAIT_TIME_MS_BETWEEN_RETRY)?;
    // Hudi's client tries 50 times by default, for about an hour; here that has to be asked for.
    let tries = options.integer::<u64>(option_names::WRITE_LOCK_CLIENT_NUM_RETRIES)?.saturating_add(1);
    let between = millis(options, option_names::WRITE_LOCK_CLIENT_WAIT_TIME_MS_BETWEEN_RETRY)?;
    // More of them is as good as without end.
    let tries = u32::try_from(tries).unwrap_or(u32::MAX);
    let retries = once.saturating_add(between).saturating_mul(tries.saturating_sub(1));
    Ok(LockWait { limit: once.saturating_add(retries), pause: pause.clamp(Duration::from_millis(1), LONGEST_PAUSE) })
}

fn failed_writes(options: &WriteOptions) -> Result<Option<FailedWrites>> {
    let Some(given) = options.given_text(CLEAN_FAILED_WRITES_POLICY) else { return Ok(None) };
    match given.trim().to_ascii_uppercase().as_str() {
        "EAGER" => Ok(Some(FailedWrites::Eager)),
        "LAZY" => Ok(Some(FailedWrites::Lazy)),
        "NEVER" => Ok(Some(FailedWrites::Never)),
        other => Err(Error::invalid_argument(format!(
            "option {CLEAN_FAILED_WRITES_POLICY} must be EAGER, LAZY or NEVER, got {other:?}"
        ))),
    }
}

fn millis(options: &WriteOptions, name: WriteOption<option_names::Integer>) -> Result<Duration> {
    options.integer(name).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: &str = option_names::WRITE_CONCURRENCY_MODE.name();
    const PROVIDER: &str = option_names::WRITE_LOCK_PROVIDER.name();
    const POLICY: &str = option_names::CLEAN_FAILED_WRITES_POLICY.name();
    const LOCK_PATH: &str = option_names::WRITE_LOCK_FILESYSTEM_PATH.name();
    use mortice_base::ErrorKind;
    use mortice_base::time::SimulatedTime;
    use mortice_storage::LocalStorage;

    fn concurrency(options: &[(&str, &str)]) -> Result<Concurrency> {
        let time = Arc::new(SimulatedTime::default());
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new("/nowhere", true).in_time(time));
        let options = WriteOptions::resolve(options.iter().copied())?;
        let table = LockedTable { name: "trips", uri: "/nowhere" };
        Concurrency::resolve(&store, table, &StorageOptions::new(), &options)
    }

    #[test]
    fn one_writer_needs_no_lock() {
        for options in [&[][..], &[(MODE, "SINGLE_WRITER"), (PROVIDER, "InProcessLockProvider")]] {
            let single = concurrency(options).unwrap();
            assert!(!single.has_several_writers() && !single.has_heartbeats());
            single.lock().unwrap().release().unwrap();
            assert_eq!(single.failed_writes, FailedWrites::Eager);
        }
        assert!(concurrency(&[("hoodie.cleaner.policy.failed.writes", "LAZY")]).unwrap().has_heartbeats());
    }

    #[test]
    fn several_writers_share_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_string_lossy().into_owned();
        let provider = format!("{}FileSystemBasedLockProvider", PACKAGES[0]);
        let options = [
            (MODE, "optimistic_concurrency_control"),
            (PROVIDER, provider.as_str()),
            (LOCK_PATH, path.as_str()),
            ("hoodie.write.lock.wait_time_ms", "20"),
        ];
        let (one, other) = (concurrency(&options).unwrap(), concurrency(&options).unwrap());
        assert_eq!((one.failed_writes, one.has_heartbeats()), (FailedWrites::Lazy, true));
        let held = one.lock().unwrap();
        assert!(folder.path().join("lock").exists());
        assert!(other.lock().err().unwrap().to_string().contains("another writer"));
        held.release().unwrap();
        other.lock().unwrap().release().unwrap();
    }

    #[test]
    fn waits_are_as_long_as_asked() {
        let wait = |pairs: &[(&str, &str)]| {
            let options = WriteOptions::resolve(pairs.iter().copied()).unwrap();
            lock_wait(&options).unwrap()
        };
        assert_eq!(wait(&[]), LockWait { limit: Duration::from_secs(60), pause: Duration::from_secs(1) });
        let asked = [("hoodie.write.lock.wait_time_ms", "1000"), ("hoodie.write.lock.client.num_retries", "2")];
        assert_eq!(wait(&asked).limit, Duration::from_secs(13));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        let occ = (MODE, "optimistic_concurrency_control");
        let file = (PROVIDER, "FileSystemBasedLockProvider");
        for (options, kind, word) in [
            (&[(MODE, "NON_BLOCKING_CONCURRENCY_CONTROL")][..], ErrorKind::Unsupported, "retries.on.conflict"),
            (&[occ], ErrorKind::InvalidArgument, PROVIDER),
            (&[occ, (PROVIDER, "InProcessLockProvider")], ErrorKind::InvalidArgument, "one process"),
            (&[occ, (PROVIDER, "a.b.ZookeeperBasedLockProvider")], ErrorKind::Unsupported, "Zookeeper"),
            (&[occ, (PROVIDER, "HiveMetastoreBasedLockProvider")], ErrorKind::Unsupported, "Thrift"),
            (&[occ, (PROVIDER, "ZookeeperBasedLockProvider")], ErrorKind::InvalidArgument, "zookeeper.base_path"),
            (&[occ, file, (POLICY, "EAGER")], ErrorKind::InvalidArgument, "LAZY"),
            (
                &[occ, file, ("hoodie.write.lock.conflict.resolution.strategy", "x.PreferWriter")],
                ErrorKind::Unsupported,
                "x.PreferWriter",
            ),
            (&[(POLICY, "sometimes")], ErrorKind::InvalidArgument, "sometimes"),
            (&[("hoodie.client.heartbeat.interval_in_ms", "x")], ErrorKind::InvalidArgument, "interval_in_ms"),
            (
                &[
                    occ,
                    (PROVIDER, "StorageBasedLockProvider"),
                    ("hoodie.write.lock.storage.validity.timeout.secs", "31"),
                ],
                ErrorKind::InvalidArgument,
                "3 times",
            ),
        ] {
            let error = concurrency(options).err().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
