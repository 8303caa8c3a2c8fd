//! The open mark of a write whose tasks run in other processes: `.hoodie/.aux/open_writes/<t>`, there as long as tasks
//! may add files.
//!
//! The writer deletes it before it looks for files of attempts that failed. A task looks for it before and after it
//! makes a file visible; if it is gone, the task deletes its file. Either the file was there before the mark was
//! deleted, so that the writer finds its marker; or the task finds the mark gone. So attempts that run on after the
//! commit leave no file.
//!
//! It is not in the folder of markers: Hudi takes all files there for markers, and its rollbacks would fail.

use std::sync::Arc;

use bytes::Bytes;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::{FileStore, FolderEntry};

const FOLDER: &str = ".hoodie/.aux/open_writes";

/// The mark of one write.
#[derive(Clone)]
pub struct OpenMark {
    store: Arc<dyn FileStore>,
    instant: RequestedTime,
    folder: String,
    path: String,
}

impl OpenMark {
    /// That of an instant of the table at the store's root.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, instant: &RequestedTime) -> Self {
        Self::in_folder(store, FOLDER.to_owned(), instant, &instant.to_string())
    }

    /// A mark of this name for an instant of the table in the folder `root` of the store, such as the metadata table,
    /// whose instants may come again after an attempt that was stopped.
    #[must_use]
    pub fn below(store: Arc<dyn FileStore>, root: &str, instant: &RequestedTime, name: &str) -> Self {
        Self::in_folder(store, format!("{root}/{FOLDER}"), instant, name)
    }

    fn in_folder(store: Arc<dyn FileStore>, folder: String, instant: &RequestedTime, name: &str) -> Self {
        let path = format!("{folder}/{name}");
        Self { store, instant: instant.clone(), folder, path }
    }

    /// Deletes all marks in the folder of this one, those of writers that were stopped: no other one is at work.
    ///
    /// # Errors
    /// Those of the store.
    pub fn close_all(&self) -> Result<()> {
        let marks = self.store.list_recursively(&self.folder)?;
        marks.iter().try_for_each(|(path, _)| self.store.delete(path))
    }

    /// Creates the mark: from now on tasks may add files.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(&self) -> Result<()> {
        self.store.put_if_absent(&self.path, &Bytes::from(self.instant.to_string())).map(|_| ())
    }

    /// Deletes the mark: files that become visible from now on are deleted by those who wrote them.
    ///
    /// # Errors
    /// Those of the store. Then tasks may still add files.
    pub fn close(&self) -> Result<()> {
        self.store.delete(&self.path)?;
        self.store.remove_empty_folders(&self.folder)
    }

    /// Makes sure that the write is open.
    ///
    /// # Errors
    /// `WriteConflict` if it is not; those of the store.
    pub fn check(&self) -> Result<()> {
        match self.store.get(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message =
                    "the write was completed or rolled back without this attempt of a task, whose files are deleted";
                Err(Error::new(ErrorKind::WriteConflict, message).at_instant(&self.instant))
            }
            Err(error) => Err(error),
        }
    }

    /// The writes that are marked as open.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list(store: &Arc<dyn FileStore>) -> Result<Vec<RequestedTime>> {
        let entries = store.list(FOLDER)?.unwrap_or_default();
        let names = entries.iter().filter_map(|entry| match entry {
            FolderEntry::File(status) => RequestedTime::parse(&status.name),
            FolderEntry::Folder(_) => None,
        });
        Ok(names.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    #[test]
    fn a_write_is_open_between_its_beginning_and_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let mark = OpenMark::new(Arc::clone(&store), &"007".into());
        assert_eq!(mark.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        mark.open().unwrap();
        mark.open().unwrap();
        mark.check().unwrap();
        assert_eq!(OpenMark::list(&store).unwrap(), ["007"]);
        mark.close().unwrap();
        mark.close().unwrap();
        assert!(mark.check().is_err() && OpenMark::list(&store).unwrap().is_empty());
        assert!(!folder.path().join(FOLDER).exists());
    }

    #[test]
    fn marks_of_one_instant_differ_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn FileStore> = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let [stopped, mark] =
            ["a", "b"].map(|name| OpenMark::below(Arc::clone(&store), "metadata", &"007".into(), name));
        stopped.open().unwrap();
        mark.close_all().unwrap();
        mark.open().unwrap();
        assert_eq!(stopped.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        mark.check().unwrap();
        assert!(OpenMark::list(&store).unwrap().is_empty());
        mark.close().unwrap();
        assert_eq!(mark.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        assert!(!folder.path().join("metadata/.hoodie/.aux/open_writes/b").exists());
    }
}
