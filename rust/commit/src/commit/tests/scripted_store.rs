//! A store whose calls go wrong as a test says: another process comes first, a call fails, or its answer is lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::{SimulatedTime, Time};
use mortice_storage::{
    FileSource, FileStore, FileVersion, FolderEntry, LocalStorage, PutOutcome, RenameOutcome, Storage, StoreUpload,
};

/// The calls that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    List,
    Get,
    Create,
    Put,
    Delete,
}

/// What happens at a call.
pub(super) enum Event {
    /// Something else, before the call.
    Before(Box<dyn FnOnce() + Send>),
    /// The call fails, and nothing takes place.
    Fails,
    /// The call takes place, and its answer is lost.
    AnswerIsLost,
}

/// A folder whose next calls go as written. Calls that the next event is not about go through.
pub(super) struct ScriptedStore {
    inner: LocalStorage,
    events: Mutex<VecDeque<(Call, Event)>>,
    /// How many calls have gone wrong, and have ended.
    ended: AtomicUsize,
    added: AtomicUsize,
    compares_versions: bool,
    /// That of all who use the store. Heartbeats are written in it.
    pub(super) time: SimulatedTime,
}

impl ScriptedStore {
    pub(super) fn new(folder: &tempfile::TempDir, events: impl IntoIterator<Item = (Call, Event)>) -> Arc<Self> {
        Self::in_time(&SimulatedTime::default(), folder, events)
    }

    /// The same, in a time that others share.
    pub(super) fn in_time(
        time: &SimulatedTime,
        folder: &tempfile::TempDir,
        events: impl IntoIterator<Item = (Call, Event)>,
    ) -> Arc<Self> {
        Arc::new(Self { time: time.clone(), ..Self::of_folder(folder, events, true) })
    }

    /// The same, of a kind that cannot compare versions, as HDFS.
    pub(super) fn without_versions(
        folder: &tempfile::TempDir,
        events: impl IntoIterator<Item = (Call, Event)>,
    ) -> Arc<Self> {
        Arc::new(Self::of_folder(folder, events, false))
    }

    fn of_folder(
        folder: &tempfile::TempDir,
        events: impl IntoIterator<Item = (Call, Event)>,
        compares_versions: bool,
    ) -> Self {
        let inner = LocalStorage::new(&folder.path().to_string_lossy(), true);
        let (ended, added) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let store =
            Self { inner, events: Mutex::default(), ended, added, compares_versions, time: SimulatedTime::default() };
        store.add(events);
        store
    }

    /// Adds what happens after all that is to happen already.
    pub(super) fn add(&self, events: impl IntoIterator<Item = (Call, Event)>) {
        let events: Vec<_> = events.into_iter().collect();
        self.added.fetch_add(events.len(), Ordering::SeqCst);
        self.events.lock().unwrap_or_else(PoisonError::into_inner).extend(events);
    }

    /// How many calls are still to go wrong, or have not ended.
    pub(super) fn left(&self) -> usize {
        self.added.load(Ordering::SeqCst) - self.ended.load(Ordering::SeqCst)
    }

    fn call<T>(&self, call: Call, made: impl FnOnce() -> Result<T>) -> Result<T> {
        let event = {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let is_next = events.front().is_some_and(|(next, _)| *next == call);
            is_next.then(|| events.pop_front()).flatten()
        };
        let goes_wrong = event.is_some();
        let no_answer = || Err(Error::new(ErrorKind::Unreachable, format!("no answer to {call:?}")));
        let answer = match event {
            None => made(),
            Some((_, Event::Before(other))) => {
                other();
                made()
            }
            Some((_, Event::Fails)) => no_answer(),
            Some((_, Event::AnswerIsLost)) => made().and_then(|_| no_answer()),
        };
        self.ended.fetch_add(usize::from(goes_wrong), Ordering::SeqCst);
        answer
    }
}

impl Storage for ScriptedStore {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        // What is listed is older than what happens until the answer is there.
        let listed = self.inner.list(folder);
        self.call(Call::List, || listed)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.inner.open(path)
    }
}

impl FileStore for ScriptedStore {
    fn time(&self) -> Arc<dyn Time> {
        Arc::new(self.time.clone())
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.call(Call::Create, || self.inner.put_if_absent(path, bytes))
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        assert!(self.compares_versions || expected.is_none(), "versions are compared where that cannot be done");
        self.call(Call::Put, || {
            let outcome = self.inner.put(path, bytes, expected)?;
            if path.contains("/.heartbeat/") {
                let path = std::path::Path::new(self.root()).join(path);
                std::fs::File::options().write(true).open(path).unwrap().set_modified(self.time.file_time()).unwrap();
            }
            Ok(outcome)
        })
    }

    fn compares_versions(&self) -> bool {
        self.compares_versions
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.call(Call::Get, || self.inner.get(path))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.call(Call::Delete, || self.inner.delete(path))
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.inner.create_folder(path)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.inner.remove_empty_folders(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.inner.rename(from, to)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.inner.upload(path)
    }
}
