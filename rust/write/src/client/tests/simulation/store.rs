//! The storage as one simulated writer sees it: each use takes a turn, and the writer may crash, or lose the answer to a change.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::scheduler::Scheduler;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::{
    FileSource, FileStore, FileVersion, FolderEntry, LocalStorage, PutOutcome, RenameOutcome, Storage, StoreUpload,
};

thread_local! {
    /// Whether the thread is a writer's: its helpers, such as the heartbeat, take no turns.
    static IS_WRITER: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread that of a writer.
pub(super) fn become_writer() {
    IS_WRITER.set(true);
}

/// What happens at a change of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The writer stops before the change with this number.
    Crash(usize),
    /// The change with this number takes place, and the writer gets an error.
    LostAnswer(usize),
}

/// The storage of one writer.
pub(super) struct WriterStore {
    inner: LocalStorage,
    scheduler: Arc<Scheduler>,
    writer: usize,
    fault: Fault,
    changes: AtomicUsize,
    has_crashed: AtomicBool,
    /// Files that say that the writer is alive, or has the lock.
    signs: Mutex<BTreeSet<String>>,
}

impl WriterStore {
    pub(super) fn new(inner: LocalStorage, scheduler: Arc<Scheduler>, writer: usize, fault: Fault) -> Self {
        let (changes, has_crashed, signs) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::default());
        Self { inner, scheduler, writer, fault, changes, has_crashed, signs }
    }

    fn turn(&self) -> Result<()> {
        if IS_WRITER.get() {
            self.scheduler.wait(self.writer);
        }
        match self.has_crashed.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unreachable, "the writer has crashed")),
            false => Ok(()),
        }
    }

    fn change<T>(&self, path: &str, change: impl FnOnce() -> Result<T>) -> Result<T> {
        self.turn()?;
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Crash(at) if at == number => {
                self.has_crashed.store(true, Ordering::SeqCst);
                self.expire();
                Err(Error::new(ErrorKind::Unreachable, "the writer crashes"))
            }
            Fault::LostAnswer(at) if at == number => {
                change()?;
                Err(Error::new(ErrorKind::Unreachable, format!("the answer for {path} is lost")))
            }
            _ => change(),
        }
    }

    /// Lets what a crashed writer has left expire: its lock, which is taken over, and its heartbeat.
    fn expire(&self) {
        for path in self.signs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let file = format!("{}/{path}", self.inner.root());
            if path.ends_with("/lock") {
                let _ = std::fs::remove_file(&file);
            } else if let Ok(file) = File::options().write(true).open(&file) {
                file.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
            }
        }
    }

    fn note(&self, path: &str, is_there: bool) {
        if path.ends_with(".hoodie/lock") || path.contains("/.heartbeat/") {
            let mut signs = self.signs.lock().unwrap_or_else(PoisonError::into_inner);
            if is_there {
                signs.insert(path.to_owned())
            } else {
                signs.remove(path)
            };
        }
    }
}

impl Storage for WriterStore {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.turn()?;
        self.inner.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.turn()?;
        self.inner.open(path)
    }

    fn is_remote(&self) -> bool {
        false
    }
}

impl FileStore for WriterStore {
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.change(path, || {
            let outcome = self.inner.put_if_absent(path, bytes)?;
            if let PutOutcome::Written(_) = outcome {
                self.note(path, true);
            }
            Ok(outcome)
        })
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.change(path, || {
            self.note(path, true);
            self.inner.put(path, bytes, expected)
        })
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.turn()?;
        self.inner.get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.change(path, || {
            self.note(path, false);
            self.inner.delete(path)
        })
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        self.inner.check_removable(path)
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.change(path, || self.inner.create_folder(path))
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.change(path, || self.inner.remove_empty_folders(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.change(from, || self.inner.rename(from, to))
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.turn()?;
        self.inner.upload(path)
    }
}
