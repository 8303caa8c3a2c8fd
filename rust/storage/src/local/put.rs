//! Writes whole files on the local file system: under a temporary name, made durable, and then linked or renamed.
//!
//! A crash leaves at most a temporary file (`.NAME.….tmp`). A link is exclusive. `replace_version` replaces a file on
//! condition of its version: nothing replaces such a file without one. Nothing is changed through a symbolic link below
//! the root (`anchored`).
//!
//! Hadoop's local file system keeps a checksum beside each file that it writes (`.NAME.crc`), and refuses a file that
//! does not fit it; one without a checksum is read. A checksum goes before its file is replaced or removed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rustix::fs::FileType;
use uuid::Uuid;

use super::anchored::{AnchoredName, MissingFolder};
use super::open_files::open_regular;
use super::replace_version::replace_version;
use super::root_lock;
use super::staged::{Staged, failed, new_staged_file, remove_checksum_of, version_of, version_of_file};
use crate::put::{FileStore, FileVersion, PutOutcome, RenameOutcome, RootLock, StoreUpload};
use crate::{LocalStorage, Storage};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;

impl FileStore for LocalStorage {
    fn time(&self) -> Arc<dyn Time> {
        Arc::clone(self.clock())
    }

    fn try_lock_root(&self) -> Result<RootLock> {
        Ok(root_lock::try_lock(self.folder()))
    }

    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        let target = AnchoredName::create(self.folder(), path)?;
        if bytes.is_empty() {
            return create_empty(&target);
        }
        let staged = Staged::with(&target, Uuid::new_v4(), bytes)?;
        match target.link(&staged.name, &target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(PutOutcome::Refused),
            Err(error) => return Err(failed("could not create the file", error, target.path())),
        }
        target.sync_folder()?;
        version_of_file(&staged.file, target.path()).map(PutOutcome::Written)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        let target = AnchoredName::create(self.folder(), path)?;
        if let Some(expected) = expected {
            return replace_version(&target, bytes, expected);
        }
        let staged = Staged::with(&target, Uuid::new_v4(), bytes)?;
        let version = version_of_file(&staged.file, target.path())?;
        replace(&target, &staged.name)?;
        Ok(PutOutcome::Written(version))
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        let path = self.local_path(path)?;
        let (mut file, status) = open_regular(&path)?;
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut file, &mut bytes);
        read.map_err(|error| failed("could not read", error, &path))?;
        Ok((bytes.into(), version_of(&status)))
    }

    fn delete(&self, path: &str) -> Result<()> {
        let target = match AnchoredName::open(self.folder(), path, MissingFolder::Absent) {
            Ok(None) => return Ok(()),
            Ok(Some(target)) => target,
            Err(error) if self.is_absent_behind_link(path, &error) => return Ok(()),
            Err(error) => return Err(error),
        };
        remove_checksum_of(&target)?;
        match target.remove(target.name()) {
            Ok(()) => target.sync_folder(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("could not remove the file", error, target.path())),
        }
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        let target = match AnchoredName::open(self.folder(), path, MissingFolder::Absent) {
            Ok(None) => return Ok(()),
            Ok(Some(target)) => target,
            Err(error) if self.is_absent_behind_link(path, &error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let found = target.file_type().map_err(|error| failed("could not read", error, target.path()))?;
        if matches!(found, None | Some(FileType::RegularFile)) {
            return Ok(());
        }
        let message = "not a regular file: it is not deleted, and nothing else was";
        Err(Error::invalid_table(message).in_file(target.path().to_string_lossy()))
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        if path.trim_matches('/').is_empty() {
            let root = self.folder();
            return std::fs::create_dir_all(root).map_err(|error| failed("could not create the folder", error, root));
        }
        let folder = AnchoredName::create(self.folder(), path)?;
        folder.create_folder()?;
        folder.sync_folder()
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        let Some(folder) = AnchoredName::open(self.folder(), path, MissingFolder::Absent)? else { return Ok(()) };
        let removed = folder.remove_empty_folders();
        removed.map_err(|error| failed("could not remove the folder", error, folder.path()))?;
        folder.sync_folder()
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        let missing = || Error::not_found("no such file").in_file(self.full_path(from));
        let from = AnchoredName::open(self.folder(), from, MissingFolder::Absent)?.ok_or_else(missing)?;
        let to = AnchoredName::create(self.folder(), to)?;
        match from.link(from.name(), &to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(RenameOutcome::Exists),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(failed("could not rename the file", error, from.path())),
        }
        to.sync_folder()?;
        from.remove(from.name()).map_err(|error| failed("could not remove the old name", error, from.path()))?;
        from.sync_folder()?;
        Ok(RenameOutcome::Done)
    }

    fn set_modified(&self, path: &str, modified_ms: i64) -> Result<bool> {
        let Some(target) = AnchoredName::open(self.folder(), path, MissingFolder::Absent)? else { return Ok(false) };
        let Some(file) = target.append()? else { return Ok(false) };
        let since_epoch = u64::try_from(modified_ms).map(Duration::from_millis).ok();
        let Some(time) = since_epoch.and_then(|time| SystemTime::UNIX_EPOCH.checked_add(time)) else {
            return Ok(false);
        };
        let set = file.set_modified(time);
        set.map_err(|error| failed("could not set the time of the file", error, target.path()))?;
        Ok(true)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let target = AnchoredName::create(self.folder(), path)?;
        let (name, file) = new_staged_file(&target, Uuid::new_v4())?;
        Ok(Box::new(LocalUpload { root: self.folder().to_owned(), path: path.to_owned(), name, file: Some(file) }))
    }
}

impl LocalStorage {
    /// Returns true if a path was refused for a link and nothing is there, so that a write whose file was refused is
    /// rolled back.
    fn is_absent_behind_link(&self, path: &str, error: &Error) -> bool {
        let found = self.local_path(path).map(std::fs::symlink_metadata);
        error.kind() == ErrorKind::InvalidTable
            && matches!(found, Ok(Err(error)) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}

/// Gives the temporary file `name` the name of its target.
fn replace(target: &AnchoredName, name: &str) -> Result<()> {
    remove_checksum_of(target)?;
    target.replace_by(name).map_err(|error| failed("could not write the file", error, target.path()))?;
    target.sync_folder()
}

/// A large file. Its folder is opened again when it is finished, as thousands of files may be written at a time.
struct LocalUpload {
    root: PathBuf,
    path: String,
    name: String,
    /// `None` once it has its name.
    file: Option<File>,
}

impl LocalUpload {
    fn failed(&self, what: &str, error: io::Error) -> Error {
        failed(what, error, &self.root.join(&self.path))
    }

    fn file(&self) -> Result<&File> {
        self.file.as_ref().ok_or_else(|| Error::internal("a finished upload is written to").in_file(&self.path))
    }
}

impl StoreUpload for LocalUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        let mut file = self.file()?;
        file.write_all(&bytes).map_err(|error| self.failed("could not write", error))
    }

    fn finish(mut self: Box<Self>) -> Result<FileVersion> {
        let file = self.file()?;
        file.sync_all().map_err(|error| self.failed("could not write", error))?;
        let version = version_of_file(file, Path::new(&self.path))?;
        replace(&AnchoredName::create(&self.root, &self.path)?, &self.name)?;
        self.file = None;
        Ok(version)
    }
}

impl Drop for LocalUpload {
    fn drop(&mut self) {
        if self.file.take().is_some()
            && let Ok(Some(target)) = AnchoredName::open(&self.root, &self.path, MissingFolder::Absent)
        {
            let _ = target.remove(&self.name);
        }
    }
}

/// Creates an empty file. It is complete at once and needs no temporary file: Hudi would take one beside a marker for a
/// marker, and fail.
fn create_empty(target: &AnchoredName) -> Result<PutOutcome> {
    let could_not = |error| failed("could not create the file", error, target.path());
    let file = match target.create_new(target.name()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(PutOutcome::Refused),
        Err(error) => return Err(could_not(error)),
    };
    file.sync_all().map_err(could_not)?;
    target.sync_folder()?;
    version_of_file(&file, target.path()).map(PutOutcome::Written)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::WritableStorage;

    #[test]
    fn an_empty_file_is_created_once() {
        let (folder, store) = store();
        assert!(matches!(store.put_if_absent("m/x.marker.CREATE", &Bytes::new()).unwrap(), PutOutcome::Written(_)));
        assert_eq!(store.put_if_absent("m/x.marker.CREATE", &Bytes::new()).unwrap(), PutOutcome::Refused);
        assert_eq!(std::fs::read_dir(folder.path().join("m")).unwrap().count(), 1);
    }

    fn store() -> (tempfile::TempDir, LocalStorage) {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true);
        (folder, storage)
    }

    #[test]
    fn only_regular_files_of_the_folder_may_be_removed() {
        let (folder, storage) = store();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("f"), "kept").unwrap();
        storage.put("p/f", &Bytes::from_static(b"data"), None).unwrap();
        symlink(outside.path(), folder.path().join("q")).unwrap();
        symlink(outside.path().join("f"), folder.path().join("p/link")).unwrap();
        symlink(folder.path().join("p"), folder.path().join("r")).unwrap();
        for allowed in ["p/f", "p/missing", "missing/f", "q/missing", "p/f/below"] {
            storage.check_removable(allowed).unwrap();
        }
        for refused in ["p", "q/f", "p/link", "q", "r/f", "../f", "/f"] {
            assert_eq!(storage.check_removable(refused).unwrap_err().kind(), ErrorKind::InvalidTable, "{refused}");
        }
    }

    #[test]
    fn nothing_is_changed_through_links() {
        let (folder, storage) = store();
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir(outside.path().join("empty")).unwrap();
        std::fs::write(outside.path().join("f"), "kept").unwrap();
        std::fs::write(outside.path().join(".f.crc"), "kept").unwrap();
        storage.create_folder("p").unwrap();
        storage.put("p/own", &"data".into(), None).unwrap();
        symlink(outside.path(), folder.path().join("p/link")).unwrap();
        symlink(outside.path().join("f"), folder.path().join("p/file")).unwrap();
        let refusals: [(&str, Result<()>); 11] = [
            ("put_if_absent", storage.put_if_absent("p/link/n", &"x".into()).map(|_| ())),
            ("an empty file", storage.put_if_absent("p/link/n", &Bytes::new()).map(|_| ())),
            ("put", storage.put("p/link/f", &"x".into(), None).map(|_| ())),
            ("delete", storage.delete("p/link/f")),
            ("create_folder", storage.create_folder("p/link/n")),
            ("remove_empty_folders", storage.remove_empty_folders("p/link/empty")),
            ("rename out", storage.rename("p/own", "p/link/n").map(|_| ())),
            ("rename in", storage.rename("p/link/f", "p/n").map(|_| ())),
            ("upload", storage.upload("p/link/n").map(|_| ())),
            ("create_new", storage.create_new("p/link/n").map(|_| ())),
            ("append", storage.append_to("p/file").map(|_| ())),
        ];
        for (name, refused) in refusals {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable, "{name}: {error}");
            let link = folder.path().join(if name == "append" { "p/file" } else { "p/link" });
            assert_eq!(error.location().path.as_deref(), link.to_str(), "{name}");
            assert!(error.text().contains(outside.path().to_str().unwrap()), "{name}: {error}");
        }
        // Nothing is there to be removed; a link that is empty to its end is removed and not followed.
        storage.delete("p/link/n").unwrap();
        storage.remove_empty_folders("p/link").unwrap();
        // A link is replaced, or removed, and not what it stands for.
        storage.put("p/file", &"new".into(), None).unwrap();
        storage.delete("p/link").unwrap();
        assert_eq!(names(&storage), ["p/file", "p/own"]);
        let mut kept: Vec<_> =
            std::fs::read_dir(outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, [".f.crc", "empty", "f"]);
        assert_eq!(std::fs::read(outside.path().join("f")).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_that_becomes_a_link_during_an_upload_is_refused() {
        let (folder, storage) = store();
        let outside = tempfile::tempdir().unwrap();
        let mut upload = storage.upload("p/f").unwrap();
        upload.write("data".into()).unwrap();
        std::fs::rename(folder.path().join("p"), folder.path().join("moved")).unwrap();
        symlink(outside.path(), folder.path().join("p")).unwrap();
        assert_eq!(upload.finish().unwrap_err().kind(), ErrorKind::InvalidTable);
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_root_may_be_a_link() {
        let real = tempfile::tempdir().unwrap();
        let place = tempfile::tempdir().unwrap();
        symlink(real.path(), place.path().join("t")).unwrap();
        let storage = LocalStorage::new(&place.path().join("t").to_string_lossy(), true);
        storage.put("p/a", &"1".into(), None).unwrap();
        storage.rename("p/a", "p/b").unwrap();
        storage.check_removable("p/b").unwrap();
        assert_eq!(std::fs::read(real.path().join("p/b")).unwrap(), b"1");
        storage.delete("p/b").unwrap();
        storage.remove_empty_folders("p").unwrap();
        assert_eq!(std::fs::read_dir(real.path()).unwrap().count(), 0);
    }

    fn names(storage: &LocalStorage) -> Vec<String> {
        storage.list_recursively("").unwrap().into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn files_have_the_permissions_of_any_new_file() {
        let (folder, storage) = store();
        storage.put_if_absent("created", &Bytes::new()).unwrap();
        storage.put("replaced", &Bytes::new(), None).unwrap();
        storage.upload("uploaded").unwrap().finish().unwrap();
        let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        File::create(folder.path().join("plain")).unwrap();
        for name in ["created", "replaced", "uploaded"] {
            assert_eq!(mode(name), mode("plain"), "{name}");
        }
    }

    #[test]
    fn one_of_many_writers_creates_a_file() {
        let (_folder, storage) = store();
        let (storage, created) = (Arc::new(storage), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for writer in 0..16 {
                let (storage, created) = (Arc::clone(&storage), &created);
                scope.spawn(move || {
                    let put = storage.put_if_absent("a/b", &format!("writer {writer}").into()).unwrap();
                    created.fetch_add(usize::from(matches!(put, PutOutcome::Written(_))), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(created.into_inner(), 1);
        assert_eq!(names(&storage), ["a/b"]);
    }

    #[test]
    fn a_version_is_replaced_once() {
        let (_folder, storage) = store();
        let PutOutcome::Written(first) = storage.put_if_absent("a", &"1".into()).unwrap() else { panic!("refused") };
        assert_eq!(storage.get("a").unwrap(), ("1".into(), first.clone()));
        let wins = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (storage, first, wins) = (&storage, &first, &wins);
                scope.spawn(move || {
                    let put = storage.put("a", &format!("{writer} replaced").into(), Some(first)).unwrap();
                    wins.fetch_add(usize::from(put != PutOutcome::Refused), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(wins.into_inner(), 1);
        assert_eq!(storage.put("none", &"1".into(), Some(&first)).unwrap(), PutOutcome::Refused);
        assert!(matches!(storage.put("a", &"3".into(), None).unwrap(), PutOutcome::Written(_)));
        assert_eq!((storage.get("a").unwrap().0, names(&storage)), ("3".into(), vec!["a".to_owned()]));
    }

    #[test]
    fn folders_are_removed_unless_they_hold_files() {
        let (folder, storage) = store();
        storage.create_folder("t/1/a/b").unwrap();
        storage.create_folder("t/2/c").unwrap();
        storage.put("t/2/file", &Bytes::new(), None).unwrap();
        storage.remove_empty_folders("t/1").unwrap();
        storage.remove_empty_folders("t/1").unwrap();
        storage.remove_empty_folders("none/none").unwrap();
        assert!(folder.path().join("t").is_dir() && !folder.path().join("t/1").exists());
        storage.remove_empty_folders("t").unwrap();
        assert!(!folder.path().join("t/2/c").exists());
        assert_eq!(names(&storage), ["t/2/file"]);
    }

    #[test]
    fn checksums_of_hadoop_go_with_what_they_are_of() {
        let (folder, storage) = store();
        let hadoop_writes = |name: &str| {
            std::fs::write(folder.path().join(name), "old").unwrap();
            std::fs::write(folder.path().join(format!(".{name}.crc")), "crc").unwrap();
        };
        hadoop_writes("a");
        storage.put("a", &"new".into(), None).unwrap();
        hadoop_writes("b");
        storage.upload("b").unwrap().finish().unwrap();
        hadoop_writes("c");
        storage.delete("c").unwrap();
        assert_eq!(names(&storage), ["a", "b"]);
        // Nothing was replaced.
        hadoop_writes("a");
        assert_eq!(storage.put("a", &"new".into(), Some(&FileVersion::default())).unwrap(), PutOutcome::Refused);
        assert_eq!(storage.put_if_absent("a", &"new".into()).unwrap(), PutOutcome::Refused);
        assert_eq!(names(&storage), [".a.crc", "a", "b"]);
        std::fs::create_dir(folder.path().join(".b.crc")).unwrap();
        storage.delete("b").unwrap();
        storage.delete("b").unwrap();
        assert_eq!(names(&storage), [".a.crc", "a"]);
    }

    #[test]
    fn files_are_renamed_removed_and_written_in_parts() {
        let (_folder, storage) = store();
        let mut upload = storage.upload("p/large").unwrap();
        upload.write("one ".into()).unwrap();
        assert_eq!(storage.get("p/large").unwrap_err().kind(), ErrorKind::NotFound);
        upload.write("two".into()).unwrap();
        upload.finish().unwrap();
        storage.upload("p/dropped").unwrap().write("x".into()).unwrap();
        assert_eq!(
            (storage.get("p/large").unwrap().0, names(&storage)),
            ("one two".into(), vec!["p/large".to_owned()])
        );
        storage.put_if_absent("b", &"b".into()).unwrap();
        assert_eq!(storage.rename("p/large", "b").unwrap(), RenameOutcome::Exists);
        assert_eq!(storage.rename("p/large", "q/c").unwrap(), RenameOutcome::Done);
        assert_eq!(storage.rename("p/large", "d").unwrap_err().kind(), ErrorKind::NotFound);
        storage.delete("b").unwrap();
        storage.delete("b").unwrap();
        assert_eq!(names(&storage), ["q/c"]);
    }
}
