//! Replaces a file on condition that it has a known version, though POSIX has no such call.
//!
//! A writer prepares the new content under a name of its own, deletes what others have prepared for the file, looks at
//! the file's version, and renames. Of two writers, the one that looks last has deleted the other's content before it
//! looked, or sees the file that the other has put: at most one replaces a version, wherever one of them is stopped.
//!
//! Two writers at the same moment may delete each other's content, and begin again. So that this is rare, they take the
//! folder's `flock` as well, if they get it soon: a process that is stopped while it has the lock delays others, and no
//! more.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use uuid::{Builder, Uuid};

use super::anchored::AnchoredName;
use super::staged::{Staged, failed, remove_checksum_of, version_at, version_of_file};
use crate::put::{FileVersion, PutOutcome};
use mortice_base::error::{Error, ErrorKind, Result};

/// How long to wait for the folder's lock, which is held for microseconds.
const LOCK_WAIT: Duration = Duration::from_millis(200);
const LOCK_PAUSE: Duration = Duration::from_millis(1);
/// Attempts before others are said to replace the file all the time.
const ATTEMPTS: u32 = 64;

/// Writes a file if it exists and has a version.
pub(super) fn replace_version(target: &AnchoredName, bytes: &[u8], expected: &FileVersion) -> Result<PutOutcome> {
    let lock = FolderLock::take_soon(target.folder());
    for attempt in 0..ATTEMPTS {
        let prepared = Prepared::write(target, bytes)?;
        prepared.delete_those_of_others()?;
        if !prepared.is_expected(expected)? {
            return Ok(PutOutcome::Refused);
        }
        if let Some(version) = prepared.install()? {
            drop(lock);
            target.sync_folder()?;
            return Ok(PutOutcome::Written(version));
        }
        // Writers of other processes have other times.
        std::thread::sleep(Duration::from_micros(u64::from(attempt.wrapping_mul(std::process::id()) % 997)));
    }
    let message = format!("other writers replaced the file {ATTEMPTS} times while this one tried to; try again");
    Err(Error::new(ErrorKind::Io, message).in_file(target.path().to_string_lossy()))
}

/// The new content of a file, under a name that other writers may delete.
struct Prepared<'a> {
    target: &'a AnchoredName,
    staged: Staged<'a>,
}

impl<'a> Prepared<'a> {
    fn write(target: &'a AnchoredName, bytes: &[u8]) -> Result<Self> {
        Ok(Self { target, staged: Staged::with(target, prepared_name(), bytes)? })
    }

    /// Deletes what other writers have prepared: they cannot install it any more, and find that out.
    fn delete_those_of_others(&self) -> Result<()> {
        let prefix = format!(".{}.", self.target.name().trim_start_matches('.'));
        let names =
            self.target.names().map_err(|error| failed("could not list the folder of", error, self.target.path()))?;
        let is_of_other = |name: &&String| {
            **name != self.staged.name
                && name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".tmp")).is_some_and(is_prepared_name)
        };
        names.iter().filter(is_of_other).try_for_each(|name| match self.target.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("could not remove a temporary file beside", error, self.target.path()))
            }
            _ => Ok(()),
        })
    }

    fn is_expected(&self, expected: &FileVersion) -> Result<bool> {
        Ok(version_at(self.target.path())?.as_ref() == Some(expected))
    }

    /// Gives the content its name; `None` if another writer has deleted it.
    fn install(self) -> Result<Option<FileVersion>> {
        let version = version_of_file(&self.staged.file, self.target.path())?;
        remove_checksum_of(self.target)?;
        match self.target.replace_by(&self.staged.name) {
            Ok(()) => Ok(Some(version)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("could not write the file", error, self.target.path())),
        }
    }
}

/// The random part of the name of content that is put on condition: a UUID of another version than that of content that
/// is put without one.
fn prepared_name() -> Uuid {
    Builder::from_custom_bytes(Uuid::new_v4().into_bytes()).into_uuid()
}

fn is_prepared_name(random: &str) -> bool {
    Uuid::try_parse(random).is_ok_and(|random| random.get_version_num() == 8)
}

/// The lock of a folder; the operating system releases that of a process that died. It is released explicitly, as a
/// process that was forked meanwhile has it too.
struct FolderLock<'a>(&'a File);

impl<'a> FolderLock<'a> {
    /// Takes the lock if it becomes free soon.
    fn take_soon(folder: &'a File) -> Option<Self> {
        let began = Instant::now();
        loop {
            match rustix::io::retry_on_intr(|| flock(folder, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => return Some(Self(folder)),
                Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < LOCK_WAIT => std::thread::sleep(LOCK_PAUSE),
                // File systems without locks, too.
                Err(_) => return None,
            }
        }
    }
}

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::super::anchored::MissingFolder;
    use super::*;
    use crate::{FileStore, LocalStorage, Storage};

    fn store() -> (tempfile::TempDir, LocalStorage, FileVersion) {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        let PutOutcome::Written(version) = storage.put_if_absent("a/f", &"old".into()).unwrap() else {
            panic!("refused")
        };
        (folder, storage, version)
    }

    fn names(storage: &LocalStorage) -> Vec<String> {
        storage.list_recursively("").unwrap().into_iter().map(|(path, _)| path).collect()
    }

    /// A writer that takes one step at a time.
    enum WriterStep<'a> {
        Begin,
        Prepared(Prepared<'a>),
        Alone(Prepared<'a>),
        Looked(Prepared<'a>),
        Ended(bool),
    }

    fn next<'a>(
        step: WriterStep<'a>,
        target: &'a AnchoredName,
        content: &str,
        expected: &FileVersion,
    ) -> WriterStep<'a> {
        match step {
            WriterStep::Begin => WriterStep::Prepared(Prepared::write(target, content.as_bytes()).unwrap()),
            WriterStep::Prepared(prepared) => {
                prepared.delete_those_of_others().unwrap();
                WriterStep::Alone(prepared)
            }
            WriterStep::Alone(prepared) if prepared.is_expected(expected).unwrap() => WriterStep::Looked(prepared),
            WriterStep::Alone(_) => WriterStep::Ended(false),
            WriterStep::Looked(prepared) => WriterStep::Ended(prepared.install().unwrap().is_some()),
            WriterStep::Ended(done) => WriterStep::Ended(done),
        }
    }

    #[test]
    fn a_version_is_replaced_at_most_once_in_every_order_of_the_steps_of_two_writers() {
        for order in (0_u32..256).filter(|order| order.count_ones() == 4) {
            let (folder, storage, expected) = store();
            let target = AnchoredName::open(folder.path(), "a/f", MissingFolder::Absent).unwrap().unwrap();
            let mut writers = [(WriterStep::Begin, "one"), (WriterStep::Begin, "other")];
            for at in 0..8 {
                let (step, content) = &mut writers[usize::from((order >> at) & 1 == 1)];
                *step = next(std::mem::replace(step, WriterStep::Ended(false)), &target, content, &expected);
            }
            let done: Vec<&str> = writers
                .iter()
                .filter(|(step, _)| matches!(step, WriterStep::Ended(true)))
                .map(|(_, content)| *content)
                .collect();
            assert!(done.len() < 2, "order {order:08b}: {done:?}");
            let content = storage.get("a/f").unwrap().0;
            assert_eq!(content, done.first().unwrap_or(&"old").as_bytes(), "order {order:08b}");
            drop(writers);
            assert_eq!(names(&storage), ["a/f"], "order {order:08b}");
        }
    }

    #[test]
    fn a_process_that_is_stopped_with_the_lock_of_the_folder_does_not_stop_others() {
        let (folder, storage, version) = store();
        let stopped = File::open(folder.path().join("a")).unwrap();
        flock(&stopped, FlockOperation::LockExclusive).unwrap();
        assert!(matches!(storage.put("a/f", &"new".into(), Some(&version)).unwrap(), PutOutcome::Written(_)));
        assert_eq!(storage.put("a/f", &"late".into(), Some(&version)).unwrap(), PutOutcome::Refused);
        assert!(matches!(storage.put("a/f", &"any".into(), None).unwrap(), PutOutcome::Written(_)));
        storage.put_if_absent("a/g", &"g".into()).unwrap();
        storage.delete("a/g").unwrap();
        assert_eq!((storage.get("a/f").unwrap().0, names(&storage)), ("any".into(), vec!["a/f".to_owned()]));
    }

    #[test]
    fn what_a_killed_writer_has_prepared_is_deleted_and_files_of_other_names_are_not() {
        let (folder, storage, version) = store();
        let (own, random) = (prepared_name().simple(), Uuid::new_v4().simple());
        let others = [format!(".f.{random}.tmp"), format!(".fg.{own}.tmp"), ".f.x.tmp".to_owned()];
        for name in others.iter().chain([&format!(".f.{own}.tmp")]) {
            std::fs::write(folder.path().join("a").join(name), "x").unwrap();
        }
        storage.put("a/f", &"new".into(), Some(&version)).unwrap();
        let mut expected: Vec<String> =
            others.iter().map(|name| format!("a/{name}")).chain(["a/f".to_owned()]).collect();
        expected.sort();
        let mut left = names(&storage);
        left.sort();
        assert_eq!(left, expected);
    }
}
