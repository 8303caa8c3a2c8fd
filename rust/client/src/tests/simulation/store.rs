//! The storage as one simulated process sees it: each use takes a turn; the process may crash, lose the answer to a
//! change, or stall.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::TimeDelta;

use super::folder::TableFolder;
use super::scheduler::{Random, Scheduler};
use super::trace::Trace;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
use mortice_storage::{
    FileSource, FileStore, FileVersion, FolderEntry, PutOutcome, RenameOutcome, Storage, StoreUpload,
};

thread_local! {
    /// The number of the process whose thread this is. Its helpers take no turns; neither does what is due for another
    /// process, such as a heartbeat, while this one moves the time on.
    static PROCESS: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes this thread that of a process.
pub(super) fn become_process(number: usize) {
    PROCESS.set(Some(number));
}

/// The kind of changes that end uploads.
const UPLOAD: &str = "upload";

/// One of the changes of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// That with a number.
    Change(usize),
    /// The first completed instant of the table.
    Commit,
    /// The next one after its first data file of the table: it waits for the lock.
    AfterData,
}

/// What happens to a process at one of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// It stops before the change.
    Crash(Moment),
    /// The change takes place, and the process gets an error.
    LostAnswer(Moment),
    /// It has no turn for a while before the change: a slow process, which others take for alive.
    Slow(Moment, usize),
    /// The same, for longer than its lock and its heartbeats are valid.
    Stall(Moment, usize),
    /// The same, and it stops after the change. Over a network it goes on after its completed instant: nothing but
    /// itself undoes that if the rollback is archived (`docs/write-protocol.md`).
    StallAndCrash(Moment, usize),
}

impl Fault {
    /// Draws a fault; of a process that stalls or is slow only if `any` is true.
    pub(super) fn random(random: &mut Random, any: bool) -> Self {
        let at = match random.below(4) {
            0 => Moment::Commit,
            _ => Moment::Change(random.below(120)),
        };
        let turns = 100 + random.below(900);
        match random.below(12) {
            0 | 1 => Self::Crash(at),
            2 => Self::LostAnswer(at),
            3 | 4 if any => Self::Slow(at, turns),
            5 | 6 if any => Self::Stall(at, turns),
            7 if any => Self::StallAndCrash(at, turns),
            _ => Self::None,
        }
    }
}

/// The commits of a schedule in their order: the process, and the number of its write.
pub(super) type CommitLog = Arc<Mutex<Vec<(usize, usize)>>>;

/// The late files of a schedule: data files of writes that had been rolled back when they were created, or were being.
pub(super) type LateFiles = Arc<Mutex<BTreeSet<String>>>;

/// The storage of one process. Clones are the same one.
#[derive(Clone)]
pub(super) struct ProcessStore(Arc<Process>);

pub(super) struct Process {
    pub(super) folder: TableFolder,
    /// Whether the storage is one over a network, where an answer that is lost may be that of a change that takes place
    /// later.
    pub(super) is_remote: bool,
    pub(super) scheduler: Arc<Scheduler>,
    pub(super) number: usize,
    pub(super) fault: Fault,
    /// How far its clock is ahead of those of the storage.
    pub(super) skew_ms: i64,
    pub(super) log: CommitLog,
    pub(super) late: LateFiles,
    pub(super) trace: Arc<Trace>,
    /// The number of the write that it does.
    pub(super) write: AtomicUsize,
    pub(super) changes: AtomicUsize,
    pub(super) has_committed: AtomicBool,
    pub(super) has_written: AtomicBool,
    pub(super) is_after_data: AtomicBool,
    pub(super) has_crashed: AtomicBool,
    /// Files that say that the process is alive, or has the lock.
    pub(super) signs: Mutex<BTreeSet<String>>,
}

impl ProcessStore {
    pub(super) fn new(process: Process) -> Self {
        Self(Arc::new(process))
    }

    pub(super) fn begin_write(&self, number: usize) {
        self.0.write.store(number, Ordering::SeqCst);
    }
}

/// Whether a file completes a write of rows.
fn is_commit(path: &str) -> bool {
    path.starts_with(".hoodie/")
        && !path.starts_with(".hoodie/metadata/")
        && (path.ends_with(".commit") || path.ends_with(".deltacommit"))
}

impl Process {
    fn is_own_thread(&self) -> bool {
        PROCESS.get() == Some(self.number)
    }

    fn turn(&self) -> Result<()> {
        if self.is_own_thread() {
            self.scheduler.wait(self.number);
        }
        match self.has_crashed.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unreachable, "the process has crashed")),
            false => Ok(()),
        }
    }

    fn change<T>(&self, kind: &str, path: &str, change: impl FnOnce() -> Result<T>) -> Result<T> {
        self.turn()?;
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        let change = || {
            self.trace.note(format!("{} #{number} {kind} {path}", self.number));
            change()
        };
        let is_first_commit = is_commit(path) && !self.has_committed.swap(true, Ordering::SeqCst);
        let is_after_data = self.is_own_thread() && self.is_after_data.swap(false, Ordering::SeqCst);
        let is_data = kind == UPLOAD && !path.starts_with(".hoodie/");
        if is_data && !self.has_written.swap(true, Ordering::SeqCst) {
            self.is_after_data.store(true, Ordering::SeqCst);
        }
        let is_now = |moment: Moment| match moment {
            Moment::Change(at) => at == number,
            Moment::Commit => is_first_commit,
            Moment::AfterData => is_after_data,
        };
        match self.fault {
            Fault::Crash(at) if is_now(at) => {
                self.crash();
                Err(Error::new(ErrorKind::Unreachable, "the process crashes"))
            }
            Fault::LostAnswer(at) if is_now(at) => {
                change()?;
                Err(Error::new(ErrorKind::Unreachable, format!("the answer for {path} is lost")))
            }
            Fault::Slow(at, turns) if is_now(at) => {
                self.pause(turns);
                change()
            }
            Fault::Stall(at, turns) if is_now(at) => {
                self.expire();
                self.pause(turns);
                change()
            }
            Fault::StallAndCrash(at, turns) if is_now(at) => {
                self.expire();
                self.pause(turns);
                if self.is_remote && is_commit(path) {
                    return change();
                }
                let _ = change();
                self.crash();
                Err(Error::new(ErrorKind::Unreachable, "the process crashes"))
            }
            _ => change(),
        }
    }

    fn pause(&self, turns: usize) {
        if self.is_own_thread() {
            self.scheduler.pause(self.number, turns);
        }
    }

    fn crash(&self) {
        self.has_crashed.store(true, Ordering::SeqCst);
        self.expire();
    }

    fn signs(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets what the process has left expire: its lock, which is taken over, and its heartbeats.
    fn expire(&self) {
        for path in self.signs().iter() {
            match path.ends_with("/lock") {
                true => self.folder.storage.delete(path).unwrap(),
                false => self.folder.age(path),
            }
        }
    }

    fn note(&self, path: &str, is_there: bool) {
        if path.ends_with(".hoodie/lock") || path.contains("/.heartbeat/") {
            match is_there {
                true => self.signs().insert(path.to_owned()),
                false => self.signs().remove(path),
            };
        }
    }

    fn created(&self, path: &str) {
        self.folder.date(path);
        self.note(path, true);
        if self.folder.is_late(path) {
            self.late.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
        if is_commit(path) {
            let commit = (self.number, self.write.load(Ordering::SeqCst));
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(commit);
        }
    }
}

impl Storage for ProcessStore {
    fn root(&self) -> &str {
        self.0.folder.storage.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.0.turn()?;
        self.0.folder.storage.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.0.turn()?;
        self.0.folder.storage.open(path)
    }

    fn is_remote(&self) -> bool {
        self.0.is_remote
    }

    fn requests_at_once(&self) -> usize {
        1
    }
}

impl FileStore for ProcessStore {
    fn time(&self) -> Arc<dyn Time> {
        Arc::new(self.0.folder.time.with_skew(TimeDelta::milliseconds(self.0.skew_ms)))
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.0.change("put_if_absent", path, || {
            let outcome = self.0.folder.storage.put_if_absent(path, bytes)?;
            if let PutOutcome::Written(_) = outcome {
                self.0.created(path);
            }
            Ok(outcome)
        })
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.0.change("put", path, || {
            self.0.note(path, true);
            let outcome = self.0.folder.storage.put(path, bytes, expected)?;
            if path.contains("/.heartbeat/") {
                self.0.folder.date(path);
            }
            Ok(outcome)
        })
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        self.0.turn()?;
        self.0.folder.storage.get(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.0.change("delete", path, || {
            self.0.note(path, false);
            self.0.folder.storage.delete(path)
        })
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        self.0.folder.storage.check_removable(path)
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        self.0.change("create_folder", path, || self.0.folder.storage.create_folder(path))
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        self.0.change("remove_empty_folders", path, || self.0.folder.storage.remove_empty_folders(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.0.change("rename", to, || {
            let outcome = self.0.folder.storage.rename(from, to)?;
            if outcome == RenameOutcome::Done {
                self.0.created(to);
            }
            Ok(outcome)
        })
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        self.0.turn()?;
        let upload = self.0.folder.storage.upload(path)?;
        Ok(Box::new(ProcessUpload { process: Arc::clone(&self.0), path: path.to_owned(), upload }))
    }
}

struct ProcessUpload {
    process: Arc<Process>,
    path: String,
    upload: Box<dyn StoreUpload>,
}

impl StoreUpload for ProcessUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.upload.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<FileVersion> {
        let Self { process, path, upload } = *self;
        process.change(UPLOAD, &path, || upload.finish().inspect(|_| process.created(&path)))
    }
}
