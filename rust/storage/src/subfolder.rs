//! A subfolder of a storage as a storage of its own: a table contains another one, its metadata table.

use std::sync::Arc;

use super::{FileSource, FileStatus, FolderEntry, KnownFile, RequestCounters, Storage};
use mortice_base::error::Result;

/// The files below a folder.
pub struct SubfolderStorage {
    storage: Arc<dyn Storage>,
    folder: String,
    root: String,
}

impl SubfolderStorage {
    /// Returns the folder at `folder`, relative to the root of `storage`.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, folder: &str) -> Self {
        Self { root: storage.full_path(folder), folder: folder.to_owned(), storage }
    }

    fn path(&self, path: &str) -> String {
        if path.is_empty() { self.folder.clone() } else { format!("{}/{path}", self.folder) }
    }
}

impl Storage for SubfolderStorage {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        self.storage.list(&self.path(folder))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.storage.open(&self.path(path))
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        self.storage.open_known(&self.path(path), file)
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        self.storage.len_of(&self.path(path))
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        let files = self.storage.list_recursively(&self.path(folder))?;
        let prefix = format!("{}/", self.folder);
        let inside = |(path, status): (String, FileStatus)| Some((path.strip_prefix(&prefix)?.to_owned(), status));
        Ok(files.into_iter().filter_map(inside).collect())
    }

    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        let all = |paths: &[&str]| paths.iter().map(|path| self.path(path)).collect::<Vec<_>>();
        let (files, folders) = (all(files), all(folders));
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        self.storage.begin(&files, &folders.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn is_remote(&self) -> bool {
        self.storage.is_remote()
    }

    fn requests_at_once(&self) -> usize {
        self.storage.requests_at_once()
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        self.storage.requests()
    }
}
