//! The lock that is a file: two writers at once, what an expiry takes over, and answers that are lost.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::scripted_store::{Call, Event, ScriptedStore};
use crate::commit::{FileSystemLock, HeldLock, TableLock};
use mortice_base::error::ErrorKind;
use mortice_base::time::SimulatedTime;
use mortice_storage::FileStore;

const EXPIRY: Option<Duration> = Some(Duration::from_secs(600));

fn lock(store: &Arc<ScriptedStore>, expiry: Option<Duration>) -> FileSystemLock {
    FileSystemLock::new(Arc::clone(store) as Arc<dyn FileStore>, ".hoodie", expiry)
}

fn path(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join(".hoodie/lock")
}

/// A lock file of another writer that was written then.
fn lock_of(folder: &tempfile::TempDir, content: &str, modified: SystemTime) {
    std::fs::create_dir_all(path(folder).parent().unwrap()).unwrap();
    std::fs::write(path(folder), content).unwrap();
    std::fs::File::options().write(true).open(path(folder)).unwrap().set_modified(modified).unwrap();
}

/// The time of all stores here.
fn now() -> SystemTime {
    SimulatedTime::default().file_time()
}

fn long_ago() -> SystemTime {
    now() - Duration::from_secs(6000)
}

/// Another writer that takes the lock, and the lock that it has then.
fn faster(folder: &tempfile::TempDir) -> (Event, std::sync::mpsc::Receiver<Box<dyn HeldLock>>) {
    let (sender, taken) = channel();
    let other = lock(&ScriptedStore::new(folder, []), EXPIRY);
    (Event::Before(Box::new(move || sender.send(other.try_acquire().unwrap().unwrap()).unwrap())), taken)
}

#[test]
fn of_two_that_take_a_lock_at_once_one_has_it() {
    for is_expired in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        if is_expired {
            lock_of(&folder, "", long_ago());
        }
        let (takes, taken) = faster(&folder);
        let store = ScriptedStore::new(&folder, [(Call::Create, takes)]);
        assert!(lock(&store, EXPIRY).try_acquire().unwrap().is_none());
        taken.recv().unwrap().check().unwrap();
    }
}

/// The second one has listed the expired lock before the first one takes it over, and deletes the lock of the first.
#[test]
fn of_two_that_take_an_expired_lock_over_the_first_finds_out_that_it_lost_it() {
    let folder = tempfile::tempdir().unwrap();
    lock_of(&folder, "", long_ago());
    let (takes, taken) = faster(&folder);
    let store = ScriptedStore::new(&folder, [(Call::Delete, takes)]);
    let mut second = lock(&store, EXPIRY).try_acquire().unwrap().unwrap();
    let mut first = taken.recv().unwrap();
    assert_eq!(first.check().unwrap_err().kind(), ErrorKind::WriteConflict);
    first.release().unwrap();
    second.check().unwrap();
    second.release().unwrap();
    assert!(!path(&folder).exists());
}

/// Without an expiry nobody else takes such a lock from the table.
#[test]
fn a_lock_that_was_taken_without_an_answer_is_held_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, [(Call::Create, Event::AnswerIsLost)]);
    let mut held = lock(&store, None).try_acquire().unwrap().unwrap();
    held.check().unwrap();
    assert!(lock(&store, None).try_acquire().unwrap().is_none());
    held.release().unwrap();
    assert!(!path(&folder).exists());
}

#[test]
fn a_lock_that_was_not_taken_is_an_error_and_another_writers_stays() {
    let folder = tempfile::tempdir().unwrap();
    let failing = || [(Call::Create, Event::Fails)];
    let error = lock(&ScriptedStore::new(&folder, failing()), None).try_acquire().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(!path(&folder).exists());
    lock_of(&folder, "{\"owner\":\"another\"}\n", now());
    let error = lock(&ScriptedStore::new(&folder, failing()), None).try_acquire().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    // Neither is one whose expiry is not known, or could not be taken over.
    for call in [Call::List, Call::Delete] {
        lock_of(&folder, "", long_ago());
        let store = ScriptedStore::new(&folder, [(call, Event::Fails)]);
        assert_eq!(lock(&store, EXPIRY).try_acquire().err().unwrap().kind(), ErrorKind::Unreachable, "{call:?}");
        assert!(path(&folder).exists(), "{call:?}");
    }
}

#[test]
fn whether_a_lock_is_held_is_not_known_without_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let mut held = lock(&store, None).try_acquire().unwrap().unwrap();
    store.add([(Call::Get, Event::Fails), (Call::Get, Event::Fails)]);
    assert_eq!(held.check().unwrap_err().kind(), ErrorKind::Unreachable);
    // It may be another writer's: it is not deleted.
    assert_eq!(held.release().unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(path(&folder).exists());
}

#[test]
fn a_lock_that_is_dropped_is_given_back_unless_it_is_another_writers() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    drop(lock(&store, EXPIRY).try_acquire().unwrap().unwrap());
    assert!(!path(&folder).exists());
    let held = lock(&store, EXPIRY).try_acquire().unwrap().unwrap();
    lock_of(&folder, "{\"owner\":\"another\"}\n", now());
    drop(held);
    assert!(path(&folder).exists());
}

#[test]
fn a_lock_may_be_in_a_folder_of_its_own_and_is_named_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn FileStore> = ScriptedStore::new(&folder, []);
    for (place, name) in [("", "lock"), (".hoodie", ".hoodie/lock"), ("locks/t", "locks/t/lock")] {
        let lock = FileSystemLock::new(Arc::clone(&store), place, None);
        let held = lock.try_acquire().unwrap().unwrap();
        assert!(folder.path().join(name).exists());
        assert_eq!(lock.location(), folder.path().join(name).to_string_lossy());
        held.release().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What the file says does not count: Hudi's is empty, and one that was written in part names nobody. A file from
    /// the future is of a writer whose clock is ahead, or of this one before its clock was set back.
    #[test]
    fn a_lock_is_taken_over_once_it_is_older_than_its_expiry(
        age in prop_oneof![-5000_i64..0, 0_i64..=600, 601_i64..5000],
        has_expiry in any::<bool>(),
        content in "\\PC{0,12}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let seconds = Duration::from_secs(age.unsigned_abs());
        lock_of(&folder, &content, if age < 0 { now() + seconds } else { now() - seconds });
        let store = ScriptedStore::new(&folder, []);
        let taken = lock(&store, EXPIRY.filter(|_| has_expiry)).try_acquire().unwrap();
        prop_assert_eq!(taken.is_some(), has_expiry && age > 600);
        if taken.is_none() {
            prop_assert_eq!(std::fs::read_to_string(path(&folder)).unwrap(), content);
        }
    }
}

/// The age of a file whose storage reports no times is not known.
#[test]
fn a_lock_without_a_time_is_never_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    lock_of(&folder, "", SystemTime::UNIX_EPOCH);
    assert!(lock(&ScriptedStore::new(&folder, []), EXPIRY).try_acquire().unwrap().is_none());
}
