//! A store for tasks of a write that other processes may complete meanwhile: files become visible as long as the write
//! is open.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::OpenMark;
use mortice_storage::{FileStore, FileVersion, PutOutcome, StoreUpload, StoreWrapper};

const MARKERS: &str = ".hoodie/.temp/";

/// A table's store while a write is open.
pub(crate) struct ClosingStore {
    store: Arc<dyn FileStore>,
    attempt: Arc<Attempt>,
}

/// What an attempt of a task has made.
struct Attempt {
    store: Arc<dyn FileStore>,
    mark: OpenMark,
    instant: RequestedTime,
    markers: Mutex<Vec<String>>,
}

impl Attempt {
    /// Makes sure that the write is open; if it is not, deletes a file and its marker. Other files of the attempt are
    /// left to the writer, which finds their markers.
    fn check(&self, path: &str) -> Result<()> {
        let checked = self.mark.check();
        if checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::WriteConflict) {
            // Errors are not raised, as there is one already. A file that is not deleted keeps its marker.
            let _ = self.store.delete(path).and_then(|()| self.delete_marker(path));
        }
        checked
    }

    fn delete_marker(&self, path: &str) -> Result<()> {
        let folder = format!("{MARKERS}{}", self.instant);
        let prefix = format!("{folder}/{path}.");
        let markers = self.markers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let of_file = markers.iter().filter(|marker| marker.starts_with(&prefix));
        of_file.into_iter().try_for_each(|marker| self.store.delete(marker))?;
        self.store.remove_empty_folders(&folder)
    }
}

impl ClosingStore {
    pub(crate) fn new(store: Arc<dyn FileStore>, instant: &RequestedTime) -> Self {
        let mark = OpenMark::new(Arc::clone(&store), instant);
        Self::with_mark(store, instant, mark)
    }

    /// That of a write whose mark is this one.
    pub(crate) fn with_mark(store: Arc<dyn FileStore>, instant: &RequestedTime, mark: OpenMark) -> Self {
        let attempt = Attempt { store: Arc::clone(&store), mark, instant: instant.clone(), markers: Mutex::default() };
        Self { store, attempt: Arc::new(attempt) }
    }
}

/// A file of such a store.
struct ClosingUpload {
    upload: Box<dyn StoreUpload>,
    path: String,
    attempt: Arc<Attempt>,
}

impl StoreUpload for ClosingUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.upload.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<FileVersion> {
        let Self { upload, path, attempt } = *self;
        attempt.check(&path)?;
        let version = upload.finish()?;
        attempt.check(&path)?;
        Ok(version)
    }
}

impl StoreWrapper for ClosingStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        if path.starts_with(MARKERS) {
            self.attempt.mark.check()?;
            self.attempt.markers.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        }
        self.store.put_if_absent(path, bytes)
    }

    fn start(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let upload = self.store.upload(path)?;
        Ok(Box::new(ClosingUpload { upload, path: path.to_owned(), attempt: Arc::clone(&self.attempt) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    /// Files below a folder of a table.
    fn files(store: &Arc<dyn FileStore>) -> Vec<String> {
        store.list_recursively("").unwrap().into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_late_attempt_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let instant: RequestedTime = "007".into();
        let mark = OpenMark::new(Arc::clone(&store), &instant);
        mark.open().unwrap();
        let closing = ClosingStore::new(Arc::clone(&store), &instant);
        let write = |path: &str| {
            closing.put_if_absent(&format!("{MARKERS}007/{path}.marker.CREATE"), &Bytes::new())?;
            let mut upload = closing.upload(path)?;
            upload.write(Bytes::from_static(b"rows"))?;
            Ok::<_, mortice_base::Error>(upload)
        };
        write("p/in-time").unwrap().finish().unwrap();
        let late = write("p/late").unwrap();
        mark.close().unwrap();
        // The writer deletes the files of markers that are not in the commit, then all markers.
        assert_eq!(late.finish().unwrap_err().kind(), ErrorKind::WriteConflict);
        assert_eq!(write("p/later").err().unwrap().kind(), ErrorKind::WriteConflict);
        // The marker of the file that was in time is the writer's.
        let marker = format!("{MARKERS}007/p/in-time.marker.CREATE");
        assert_eq!(files(&store), [marker, "p/in-time".to_owned()]);
    }

    #[test]
    fn a_file_that_became_visible_while_the_write_was_closed_is_deleted() {
        struct ClosesAtEnd(Box<dyn StoreUpload>, OpenMark);
        impl StoreUpload for ClosesAtEnd {
            fn write(&mut self, bytes: Bytes) -> Result<()> {
                self.0.write(bytes)
            }
            fn finish(self: Box<Self>) -> Result<FileVersion> {
                self.1.close()?;
                self.0.finish()
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let mark = OpenMark::new(Arc::clone(&store), &"007".into());
        mark.open().unwrap();
        let closing = ClosingStore::new(Arc::clone(&store), &"007".into());
        let (path, attempt) = ("late".to_owned(), Arc::clone(&closing.attempt));
        let inner = ClosesAtEnd(store.upload(&path).unwrap(), mark);
        let upload = Box::new(ClosingUpload { upload: Box::new(inner), path, attempt });
        assert_eq!(upload.finish().unwrap_err().kind(), ErrorKind::WriteConflict);
        assert!(files(&store).is_empty());
    }
}
