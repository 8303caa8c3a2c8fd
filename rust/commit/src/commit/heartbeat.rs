//! Heartbeats: files whose modification time says that a writer is alive (`HoodieHeartbeatClient`).
//!
//! | state of `.hoodie/.heartbeat/<t>` | the write `t` is |
//! |---|---|
//! | modified less than interval × tolerable misses ago | alive |
//! | older, or there is no such file | dead: others roll it back |
//!
//! With several writers nobody rolls a pending write back while it is alive (`LAZY`). The writer rewrites the file on a thread of its
//! own, and gives the write up if it could not do so in time, since others may have rolled it back by then.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{WriteOptions, option_names};
use mortice_storage::{FileStore, FolderEntry};

const FOLDER: &str = ".hoodie/.heartbeat";

/// How often a heartbeat is written, and when it counts as stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatOptions {
    /// `hoodie.client.heartbeat.interval_in_ms`.
    pub interval: Duration,
    /// `hoodie.client.heartbeat.tolerable.misses`.
    pub tolerable_misses: u32,
}

impl HeartbeatOptions {
    /// Parses Hudi's options.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option.
    pub fn from_options(options: &WriteOptions) -> Result<Self> {
        let interval = Duration::from_millis(options.integer(option_names::CLIENT_HEARTBEAT_INTERVAL_IN_MS)?);
        let misses: u64 = options.integer(option_names::CLIENT_HEARTBEAT_TOLERABLE_MISSES)?;
        // More of them is as good as never.
        Ok(Self { interval, tolerable_misses: u32::try_from(misses).unwrap_or(u32::MAX) })
    }

    /// The age at which a heartbeat counts as stopped.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.interval.saturating_mul(self.tolerable_misses)
    }
}

/// The heartbeat of one write, rewritten until this is dropped.
pub struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    store: Arc<dyn FileStore>,
    path: String,
    options: HeartbeatOptions,
    state: Mutex<Beats>,
    ended: Condvar,
}

struct Beats {
    last: Instant,
    is_ended: bool,
}

impl Heartbeat {
    /// Writes the heartbeat of an instant of the table at the store's root, and goes on to do so.
    ///
    /// # Errors
    /// Those of the store; `Io` if no thread can be started.
    pub fn start(store: Arc<dyn FileStore>, instant: &RequestedTime, options: HeartbeatOptions) -> Result<Self> {
        let path = format!("{FOLDER}/{instant}");
        let begun = Instant::now();
        store.put(&path, &Bytes::new(), None)?;
        let state = Mutex::new(Beats { last: begun, is_ended: false });
        let shared = Arc::new(Shared { store, path, options, state, ended: Condvar::new() });
        let beating = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("mortice-heartbeat".to_owned())
            .spawn(move || beating.beat_until_ended())
            .map_err(|error| Error::io("could not start the thread of the heartbeat", error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Makes sure that no other writer takes this one for dead.
    ///
    /// # Errors
    /// `WriteConflict` if the heartbeat could not be written in time.
    pub fn check(&self) -> Result<()> {
        self.shared.check()
    }

    /// A view of the heartbeat, for what writes the files of the instant. It does not keep the heartbeat alive.
    #[must_use]
    pub fn watch(&self) -> HeartbeatWatch {
        HeartbeatWatch(Arc::clone(&self.shared))
    }

    /// Ends the heartbeat and leaves its file.
    ///
    /// # Errors
    /// `Internal` if the thread panicked.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.shared.state().is_ended = true;
        self.shared.ended.notify_all();
        thread.join().map_err(|_| Error::internal("the thread of a heartbeat panicked"))
    }
}

/// A view of a [`Heartbeat`].
#[derive(Clone)]
pub struct HeartbeatWatch(Arc<Shared>);

impl HeartbeatWatch {
    /// As [`Heartbeat::check`].
    ///
    /// # Errors
    /// As for that.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Beats> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<()> {
        let age = self.state().last.elapsed();
        if age < self.options.limit() {
            return Ok(());
        }
        let message = format!(
            "the heartbeat of this write could not be written for {} s: other writers take it for dead and may have rolled it back; \
             write again, or raise hoodie.client.heartbeat.interval_in_ms",
            age.as_secs()
        );
        Err(Error::new(ErrorKind::WriteConflict, message).in_file(self.store.full_path(&self.path)))
    }

    fn beat_until_ended(&self) {
        let mut state = self.state();
        while !state.is_ended {
            state = self.ended.wait_timeout(state, self.options.interval).unwrap_or_else(PoisonError::into_inner).0;
            if state.is_ended {
                return;
            }
            // The store may take long: `check` must not wait for it.
            drop(state);
            let begun = Instant::now();
            let written = self.store.put(&self.path, &Bytes::new(), None);
            state = self.state();
            // After a deadline that was missed another writer may have rolled this one back already: the next heartbeat is too late.
            if written.is_ok() && state.last.elapsed() < self.options.limit() {
                state.last = begun;
            }
        }
    }
}

/// Deletes the heartbeat of an instant, which must have ended.
///
/// # Errors
/// Those of the store.
pub fn delete_heartbeat(store: &dyn FileStore, instant: &RequestedTime) -> Result<()> {
    store.delete(&format!("{FOLDER}/{instant}"))
}

/// The heartbeats of a table, as they were when they were listed.
#[derive(Debug, Default)]
pub struct Heartbeats {
    ages: BTreeMap<RequestedTime, Duration>,
}

impl Heartbeats {
    /// Lists the heartbeats of the table at the store's root.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list(store: &dyn FileStore) -> Result<Self> {
        Self::list_below(store, "")
    }

    /// Lists the heartbeats of the table at `root`, a folder of the store: the metadata table's. The store's root is `""`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_below(store: &dyn FileStore, root: &str) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let folder = if root.is_empty() { FOLDER.to_owned() } else { format!("{root}/{FOLDER}") };
        let entries = store.list(&folder)?.unwrap_or_default();
        let age = |modified_ms: i64| match u64::try_from(modified_ms) {
            // A store that reports no times: the writer is taken to be alive.
            Ok(0) | Err(_) => Duration::ZERO,
            Ok(modified) => now.saturating_sub(Duration::from_millis(modified)),
        };
        let ages = entries.iter().filter_map(|entry| match entry {
            FolderEntry::File(status) => Some((RequestedTime::parse(&status.name)?, age(status.modified_ms))),
            FolderEntry::Folder(_) => None,
        });
        Ok(Self { ages: ages.collect() })
    }

    /// Returns true if a write is not alive: its heartbeat has stopped, or there is none.
    #[must_use]
    pub fn is_expired(&self, instant: &RequestedTime, options: HeartbeatOptions) -> bool {
        self.ages.get(instant).is_none_or(|age| *age > options.limit())
    }

    /// The instants that have a heartbeat, alive or not.
    pub fn instants(&self) -> impl Iterator<Item = &RequestedTime> {
        self.ages.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    fn store(folder: &tempfile::TempDir) -> Arc<dyn FileStore> {
        Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true))
    }

    fn modified(folder: &tempfile::TempDir) -> SystemTime {
        std::fs::metadata(folder.path().join(".hoodie/.heartbeat/1")).unwrap().modified().unwrap()
    }

    #[test]
    fn a_heartbeat_is_rewritten_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let options = HeartbeatOptions { interval: Duration::from_millis(10), tolerable_misses: 1000 };
        let heartbeat = Heartbeat::start(store(&folder), &"1".into(), options).unwrap();
        let first = modified(&folder);
        while modified(&folder) == first {
            std::thread::sleep(Duration::from_millis(5));
        }
        heartbeat.check().unwrap();
        let found = Heartbeats::list(&*store(&folder)).unwrap();
        assert!(!found.is_expired(&"1".into(), options) && found.is_expired(&"2".into(), options));
        heartbeat.stop().unwrap();
        let last = modified(&folder);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(modified(&folder), last);
        std::fs::write(folder.path().join(".hoodie/.heartbeat/.1.crc"), b"crc").unwrap();
        delete_heartbeat(&*store(&folder), &"1".into()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(".hoodie/.heartbeat")).unwrap().count(), 0);
    }

    #[test]
    fn old_heartbeats_have_expired() {
        let folder = tempfile::tempdir().unwrap();
        let options = HeartbeatOptions::from_options(&WriteOptions::default()).unwrap();
        Heartbeat::start(store(&folder), &"1".into(), options).unwrap().stop().unwrap();
        let file = std::fs::File::options().write(true).open(folder.path().join(".hoodie/.heartbeat/1")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(119)).unwrap();
        assert!(!Heartbeats::list(&*store(&folder)).unwrap().is_expired(&"1".into(), options));
        file.set_modified(SystemTime::now() - Duration::from_secs(121)).unwrap();
        assert!(Heartbeats::list(&*store(&folder)).unwrap().is_expired(&"1".into(), options));
    }

    #[test]
    fn a_heartbeat_after_a_missed_deadline_is_too_late() {
        let folder = tempfile::tempdir().unwrap();
        let options = HeartbeatOptions { interval: Duration::from_millis(10), tolerable_misses: 100 };
        let heartbeat = Heartbeat::start(store(&folder), &"1".into(), options).unwrap();
        // The process was stopped, and goes on.
        heartbeat.shared.state().last = Instant::now().checked_sub(options.limit()).unwrap();
        let first = modified(&folder);
        while modified(&folder) == first {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The thread has put the file, and takes note of that.
        std::thread::sleep(Duration::from_millis(50));
        assert!(heartbeat.check().is_err());
    }

    #[test]
    fn a_writer_finds_out_that_it_is_taken_for_dead() {
        let folder = tempfile::tempdir().unwrap();
        let options = HeartbeatOptions { interval: Duration::from_secs(60), tolerable_misses: 0 };
        let heartbeat = Heartbeat::start(store(&folder), &"1".into(), options).unwrap();
        let error = heartbeat.check().unwrap_err();
        assert!(error.to_string().contains("rolled it back"), "{error}");
    }
}
