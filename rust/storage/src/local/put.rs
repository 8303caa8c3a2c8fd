//! Writes whole files on the local file system: under a temporary name, made durable, and then linked or renamed.
//!
//! A crash leaves at most a temporary file (`.NAME.….tmp`). A link is exclusive. A conditional replacement by version
//! is made under a lock of the folder (`flock`), which all writers of this library take.
//!
//! Hadoop's local file system keeps a checksum beside each file that it writes (`.NAME.crc`), and refuses a file that
//! does not fit it; one without a checksum is read. A checksum goes before its file is replaced or removed.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::create::sync_folder_of;
use crate::put::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload};
use crate::{LocalStorage, Storage};
use mortice_base::error::{Error, Result};

impl FileStore for LocalStorage {
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        let path = self.local_path(path);
        if bytes.is_empty() {
            return create_empty(&path);
        }
        let staged = Staged::with(&path, bytes)?;
        match std::fs::hard_link(staged.file.path(), &path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(PutOutcome::Refused),
            Err(error) => return Err(failed("could not create the file", error, &path)),
        }
        sync_folder_of(&path)?;
        staged.version().map(PutOutcome::Written)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        let path = self.local_path(path);
        let staged = Staged::with(&path, bytes)?;
        let _lock = lock_folder_of(&path)?;
        if let Some(expected) = expected
            && version_at(&path)?.as_ref() != Some(expected)
        {
            return Ok(PutOutcome::Refused);
        }
        let version = staged.version()?;
        staged.replace(&path)?;
        Ok(PutOutcome::Written(version))
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        let path = self.local_path(path);
        let gone = |error: std::io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::not_found("no such file").in_file(path.to_string_lossy()),
            _ => failed("could not read", error, &path),
        };
        let file = File::open(&path).map_err(gone)?;
        let status = file.metadata().map_err(gone)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut { file }, &mut bytes).map_err(gone)?;
        Ok((bytes.into(), version_of(&status)))
    }

    fn delete(&self, path: &str) -> Result<()> {
        let path = self.local_path(path);
        remove_checksum_of(&path)?;
        match std::fs::remove_file(&path) {
            Ok(()) => sync_folder_of(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("could not remove the file", error, &path)),
        }
    }

    fn check_removable(&self, path: &str) -> Result<()> {
        check_removable(&self.local_path(""), &self.local_path(path))
    }

    fn create_folder(&self, path: &str) -> Result<()> {
        let path = self.local_path(path);
        std::fs::create_dir_all(&path).map_err(|error| failed("could not create the folder", error, &path))?;
        sync_folder_of(&path)
    }

    fn remove_empty_folders(&self, path: &str) -> Result<()> {
        let path = self.local_path(path);
        remove_empty_folders(&path).map_err(|error| failed("could not remove the folder", error, &path))?;
        match path.parent() {
            Some(parent) if parent.is_dir() => sync_folder_of(&path),
            _ => Ok(()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        let (from, to) = (self.local_path(from), self.local_path(to));
        make_folder_of(&to)?;
        match std::fs::hard_link(&from, &to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(RenameOutcome::Exists),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::not_found("no such file").in_file(from.to_string_lossy()));
            }
            Err(error) => return Err(failed("could not rename the file", error, &from)),
        }
        sync_folder_of(&to)?;
        std::fs::remove_file(&from).map_err(|error| failed("could not remove the old name", error, &from))?;
        sync_folder_of(&from)?;
        Ok(RenameOutcome::Done)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let target = self.local_path(path);
        let _ = self.full_path(path);
        Ok(Box::new(LocalUpload { staged: Staged::new(&target)?, target }))
    }
}

/// Makes sure that a path is that of a regular file below `root`, after all links of its folder are followed, or of
/// none.
fn check_removable(root: &Path, path: &Path) -> Result<()> {
    let refused = |what: &str| {
        let message = format!("{what}: it is not deleted, and nothing else was");
        Err(Error::invalid_table(message).in_file(path.to_string_lossy()))
    };
    match std::fs::symlink_metadata(path) {
        Ok(status) if !status.is_file() => return refused("not a regular file"),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(failed("could not read", error, path)),
    }
    let canonical = |path: &Path| path.canonicalize().map_err(|error| failed("could not read", error, path));
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    if canonical(folder_of(path))?.starts_with(canonical(root)?) {
        return Ok(());
    }
    refused("a symbolic link leads out of the table")
}

/// A temporary file, removed on drop.
struct Staged {
    file: NamedTempFile,
}

impl Staged {
    fn new(target: &Path) -> Result<Self> {
        let folder = make_folder_of(target)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let file = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.trim_start_matches('.')))
            .suffix(".tmp")
            // Restricted by the umask: processes of other users may read the table.
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(&folder)
            .map_err(|error| failed("could not create a temporary file", error, &folder))?;
        Ok(Self { file })
    }

    /// Creates a durable temporary file with contents.
    fn with(target: &Path, bytes: &[u8]) -> Result<Self> {
        let mut staged = Self::new(target)?;
        let written = staged.file.write_all(bytes).and_then(|()| staged.file.as_file().sync_all());
        written.map_err(|error| failed("could not write", error, target))?;
        Ok(staged)
    }

    fn version(&self) -> Result<FileVersion> {
        let status = self.file.as_file().metadata();
        status.map(|status| version_of(&status)).map_err(|error| failed("could not write", error, self.file.path()))
    }

    fn replace(self, target: &Path) -> Result<()> {
        remove_checksum_of(target)?;
        self.file.persist(target).map_err(|error| failed("could not write the file", error.error, target))?;
        sync_folder_of(target)
    }
}

/// Removes the checksum that Hadoop keeps of a file, if there is one.
fn remove_checksum_of(path: &Path) -> Result<()> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match std::fs::remove_file(path.with_file_name(format!(".{name}.crc"))) {
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => {
            Err(failed("could not remove the checksum of the file", error, path))
        }
        _ => Ok(()),
    }
}

struct LocalUpload {
    staged: Staged,
    target: PathBuf,
}

impl StoreUpload for LocalUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.staged.file.write_all(&bytes).map_err(|error| failed("could not write", error, &self.target))
    }

    fn finish(self: Box<Self>) -> Result<FileVersion> {
        let Self { staged, target } = *self;
        staged.file.as_file().sync_all().map_err(|error| failed("could not write", error, &target))?;
        let version = staged.version()?;
        staged.replace(&target)?;
        Ok(version)
    }
}

/// A replaced file has another inode or, if its number is reused, another time.
fn version_of(status: &std::fs::Metadata) -> FileVersion {
    let etag = format!("{:x}-{:x}-{:x}.{:x}", status.ino(), status.size(), status.mtime(), status.mtime_nsec());
    FileVersion { etag: Some(etag), version: None }
}

fn version_at(path: &Path) -> Result<Option<FileVersion>> {
    match std::fs::metadata(path) {
        Ok(status) => Ok(Some(version_of(&status))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("could not read", error, path)),
    }
}

/// Creates an empty file. It is complete at once and needs no temporary file: Hudi would take one beside a marker for a
/// marker, and fail.
fn create_empty(path: &Path) -> Result<PutOutcome> {
    let could_not = |error| failed("could not create the file", error, path);
    make_folder_of(path)?;
    let file = match File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(PutOutcome::Refused),
        Err(error) => return Err(could_not(error)),
    };
    file.sync_all().map_err(could_not)?;
    sync_folder_of(path)?;
    let status = file.metadata().map_err(could_not)?;
    Ok(PutOutcome::Written(version_of(&status)))
}

/// Removes a folder after those in it, as far as they are empty. Symbolic links are files here, and are not followed.
fn remove_empty_folders(folder: &Path) -> std::io::Result<()> {
    // What a link stands for is not the table's.
    if folder.is_symlink() {
        return Ok(());
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_empty_folders(&entry.path())?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match std::fs::remove_dir(folder) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Err(error),
        _ => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn make_folder_of(path: &Path) -> Result<PathBuf> {
    let folder = folder_of(path).to_owned();
    std::fs::create_dir_all(&folder).map_err(|error| failed("could not create the folder", error, &folder))?;
    Ok(folder)
}

/// Takes the lock of a folder until it is dropped; the operating system releases that of a process that died.
fn lock_folder_of(path: &Path) -> Result<File> {
    let folder = folder_of(path);
    let lock = || -> std::io::Result<File> {
        let file = File::open(folder)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    };
    lock().map_err(|error| failed("could not lock the folder", error, folder))
}

fn failed(what: &str, error: std::io::Error, path: &Path) -> Error {
    Error::io(what, error).in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use mortice_base::ErrorKind;

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
        std::os::unix::fs::symlink(outside.path(), folder.path().join("q")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("f"), folder.path().join("p/link")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("p"), folder.path().join("r")).unwrap();
        for allowed in ["p/f", "p/missing", "missing/f", "r/f", "p/f/below"] {
            storage.check_removable(allowed).unwrap();
        }
        for refused in ["p", "q/f", "p/link", "q"] {
            assert_eq!(storage.check_removable(refused).unwrap_err().kind(), ErrorKind::InvalidTable, "{refused}");
        }
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
