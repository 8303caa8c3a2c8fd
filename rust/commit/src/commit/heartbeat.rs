//! Heartbeats: files whose modification time says that a writer is alive (`HoodieHeartbeatClient`).
//!
//! | state of `.hoodie/.heartbeat/<t>` | the write `t` is |
//! |---|---|
//! | modified less than interval × tolerable misses ago | alive |
//! | older, or there is no such file | dead: others roll it back |
//!
//! With several writers nobody rolls a pending write back while it is alive (`LAZY`). The writer rewrites the file on a
//! thread of its own, and gives the write up if it could not do so in time, since others may have rolled it back by
//! then.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_base::time::{Repetition, Time};
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
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let interval = Duration::from_millis(options.integer(option_names::CLIENT_HEARTBEAT_INTERVAL_IN_MS)?);
        let misses: u64 = options.integer(option_names::CLIENT_HEARTBEAT_TOLERABLE_MISSES)?;
        // More of them is as good as never.
        Ok(Self { interval, tolerable_misses: u32::try_from(misses).unwrap_or(u32::MAX) })
    }

    /// Those of a writer without options.
    ///
    /// # Errors
    /// As for [`Self::resolve`].
    pub fn without_options() -> Result<Self> {
        Self::resolve(&WriteOptions::default())
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
    beats: Option<Repetition>,
}

struct Shared {
    store: Arc<dyn FileStore>,
    path: String,
    options: HeartbeatOptions,
    time: Arc<dyn Time>,
    /// When the last heartbeat began that was written.
    last: Mutex<Duration>,
}

impl Heartbeat {
    /// Writes the heartbeat of an instant of the table at the store's root, and goes on to do so.
    ///
    /// # Errors
    /// Those of the store; `Io` if no thread can be started.
    pub fn start(store: Arc<dyn FileStore>, instant: &RequestedTime, options: HeartbeatOptions) -> Result<Self> {
        let path = format!("{FOLDER}/{instant}");
        let time = store.time();
        let last = Mutex::new(time.monotonic());
        store.put(&path, &Bytes::new(), None)?;
        let shared = Arc::new(Shared { store, path, options, time, last });
        let beating = Arc::clone(&shared);
        let beat = Box::new(move || {
            beating.beat();
            ControlFlow::Continue(())
        });
        let beats = shared
            .time
            .repeat("mortice-heartbeat", options.interval, beat)
            .map_err(|error| Error::io("could not start the thread of the heartbeat", error))?;
        Ok(Self { shared, beats: Some(beats) })
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
        let Some(beats) = self.beats.take() else { return Ok(()) };
        beats.end().map_err(|_| Error::internal("the thread of a heartbeat panicked"))
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
    /// How long ago the last heartbeat began.
    fn age(&self) -> Duration {
        self.time.since(*self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn check(&self) -> Result<()> {
        let age = self.age();
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

    fn beat(&self) {
        let begun = self.time.monotonic();
        // The store may take long: `check` must not wait for it.
        let written = self.store.put(&self.path, &Bytes::new(), None);
        // After a deadline that was missed another writer may have rolled this one back already: the next heartbeat is
        // too late.
        if written.is_ok() && self.age() < self.options.limit() {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = begun;
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

    /// Lists the heartbeats of the table at `root`, a folder of the store: the metadata table's. The store's root is
    /// `""`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_below(store: &dyn FileStore, root: &str) -> Result<Self> {
        let now = store.time().since_epoch();
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
    use mortice_base::time::SimulatedTime;
    use mortice_storage::LocalStorage;

    fn store(folder: &tempfile::TempDir, time: &SimulatedTime) -> Arc<dyn FileStore> {
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        Arc::new(storage.in_time(Arc::new(time.clone())))
    }

    fn path(folder: &tempfile::TempDir) -> std::path::PathBuf {
        folder.path().join(".hoodie/.heartbeat/1")
    }

    fn set_modified(folder: &tempfile::TempDir, time: std::time::SystemTime) {
        std::fs::File::options().write(true).open(path(folder)).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn a_heartbeat_is_rewritten_until_it_ends() {
        let (folder, time) = (tempfile::tempdir().unwrap(), SimulatedTime::default());
        let options = HeartbeatOptions { interval: Duration::from_secs(10), tolerable_misses: 2 };
        let heartbeat = Heartbeat::start(store(&folder, &time), &"1".into(), options).unwrap();
        for _ in 0..5 {
            std::fs::remove_file(path(&folder)).unwrap();
            time.advance(options.interval);
            assert!(path(&folder).exists());
            heartbeat.check().unwrap();
        }
        let found = Heartbeats::list(&*store(&folder, &time)).unwrap();
        assert!(!found.is_expired(&"1".into(), options) && found.is_expired(&"2".into(), options));
        heartbeat.stop().unwrap();
        std::fs::remove_file(path(&folder)).unwrap();
        time.advance(options.limit());
        assert!(!path(&folder).exists());
        std::fs::write(path(&folder), b"").unwrap();
        std::fs::write(folder.path().join(".hoodie/.heartbeat/.1.crc"), b"crc").unwrap();
        delete_heartbeat(&*store(&folder, &time), &"1".into()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(".hoodie/.heartbeat")).unwrap().count(), 0);
    }

    #[test]
    fn old_heartbeats_have_expired() {
        let (folder, time) = (tempfile::tempdir().unwrap(), SimulatedTime::default());
        let options = HeartbeatOptions::resolve(&WriteOptions::default()).unwrap();
        Heartbeat::start(store(&folder, &time), &"1".into(), options).unwrap().stop().unwrap();
        set_modified(&folder, time.file_time());
        time.advance(options.limit());
        assert!(!Heartbeats::list(&*store(&folder, &time)).unwrap().is_expired(&"1".into(), options));
        time.advance(Duration::from_millis(1));
        assert!(Heartbeats::list(&*store(&folder, &time)).unwrap().is_expired(&"1".into(), options));
    }

    #[test]
    fn a_heartbeat_after_a_missed_deadline_is_too_late() {
        let (folder, time) = (tempfile::tempdir().unwrap(), SimulatedTime::default());
        let options = HeartbeatOptions { interval: Duration::from_secs(10), tolerable_misses: 10 };
        let mut heartbeat = Heartbeat::start(store(&folder, &time), &"1".into(), options).unwrap();
        // The process was stopped, and goes on.
        heartbeat.end().unwrap();
        time.advance(options.limit());
        std::fs::remove_file(path(&folder)).unwrap();
        heartbeat.shared.beat();
        assert!(path(&folder).exists());
        heartbeat.shared.check().unwrap_err();
    }

    #[test]
    fn a_writer_finds_out_that_it_is_taken_for_dead() {
        let (folder, time) = (tempfile::tempdir().unwrap(), SimulatedTime::default());
        let options = HeartbeatOptions { interval: Duration::from_secs(60), tolerable_misses: 0 };
        let heartbeat = Heartbeat::start(store(&folder, &time), &"1".into(), options).unwrap();
        let error = heartbeat.check().unwrap_err();
        assert!(error.to_string().contains("rolled it back"), "{error}");
    }
}
