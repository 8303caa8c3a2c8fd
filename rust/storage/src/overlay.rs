//! A storage as it would be with a file more in one of its folders, or without some.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::{FileSource, FileStatus, FolderEntry, KnownFile, MemoryFile, Storage};
use mortice_base::error::Result;

/// A storage in which one folder has other files. Nothing is written.
pub struct OverlaidFolder {
    storage: Arc<dyn Storage>,
    folder: String,
    added: BTreeMap<String, Bytes>,
    hidden: BTreeSet<String>,
}

impl OverlaidFolder {
    /// The storage as it is. `folder` is the path of the folder, without a slash at its end.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, folder: String) -> Self {
        Self { storage, folder, added: BTreeMap::new(), hidden: BTreeSet::new() }
    }

    /// The folder with a file of this name.
    #[must_use]
    pub fn with_file(mut self, name: String, content: Bytes) -> Self {
        self.added.insert(name, content);
        self
    }

    /// The folder without files of these names. They are not listed; a file can still be opened by its name.
    #[must_use]
    pub fn without_files(self, names: BTreeSet<String>) -> Self {
        Self { hidden: names, ..self }
    }

    fn added(&self, path: &str) -> Option<&Bytes> {
        self.added.get(path.strip_prefix(&self.folder)?.strip_prefix('/')?)
    }
}

impl Storage for OverlaidFolder {
    fn root(&self) -> &str {
        self.storage.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let found = self.storage.list(folder)?;
        if folder.trim_end_matches('/') != self.folder || (found.is_none() && self.added.is_empty()) {
            return Ok(found);
        }
        let mut entries = found.unwrap_or_default();
        entries.retain(|entry| !self.hidden.contains(entry.name()));
        for (name, content) in &self.added {
            let (name, len) = (name.clone(), content.len() as u64);
            entries.push(FolderEntry::File(FileStatus { name, len, modified_ms: 0, etag: None }));
        }
        entries.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(Some(entries))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        match self.added(path) {
            Some(content) => Ok(Arc::new(MemoryFile::new(path, content.clone()))),
            None => self.storage.open(path),
        }
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        match self.added(path) {
            Some(_) => self.open(path),
            None => self.storage.open_known(path, file),
        }
    }

    fn is_remote(&self) -> bool {
        self.storage.is_remote()
    }

    fn requests_at_once(&self) -> usize {
        self.storage.requests_at_once()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileStore, LocalStorage};

    fn names(storage: &dyn Storage, folder: &str) -> Option<Vec<String>> {
        let entries = storage.list(folder).unwrap()?;
        Some(entries.iter().map(|entry| entry.name().to_owned()).collect())
    }

    #[test]
    fn one_folder_has_other_files() {
        let place = tempfile::tempdir().unwrap();
        let local = Arc::new(LocalStorage::new(&place.path().to_string_lossy(), true));
        for path in ["t/a", "t/c", "u/a"] {
            local.put(path, &Bytes::from_static(b"stored"), None).unwrap();
        }
        let overlaid = OverlaidFolder::new(Arc::clone(&local) as _, "t".into())
            .with_file("b".into(), Bytes::from_static(b"added"))
            .without_files(BTreeSet::from(["c".to_owned()]));
        assert_eq!(names(&overlaid, "t").unwrap(), ["a", "b"]);
        assert_eq!(names(&overlaid, "t/").unwrap(), ["a", "b"]);
        assert_eq!(names(&overlaid, "u").unwrap(), ["a"]);
        assert_eq!(overlaid.open("t/b").unwrap().len(), 5);
        assert_eq!(overlaid.open("t/a").unwrap().len(), 6);
        assert!(overlaid.open("u/b").is_err());
        let new = OverlaidFolder::new(Arc::clone(&local) as _, "v".into());
        assert_eq!(names(&new, "v"), None);
        assert_eq!(names(&new.with_file("a".into(), Bytes::new()), "v").unwrap(), ["a"]);
        assert_eq!(names(&*local, "t").unwrap(), ["a", "c"]);
    }
}
