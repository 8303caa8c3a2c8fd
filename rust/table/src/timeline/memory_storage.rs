//! A place in memory, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use mortice_base::error::{Error, Result};
use mortice_storage::{FileSource, FileStatus, FolderEntry, MemoryFile, Storage};

/// Files by path. Folders exist if a path contains them.
#[derive(Default)]
pub struct MemoryStorage(BTreeMap<String, Bytes>);

impl MemoryStorage {
    /// A storage with these files, each given by its path and its bytes.
    pub fn holding<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Arc<dyn Storage> {
        let files = files.into_iter().map(|(path, bytes)| (path.to_owned(), Bytes::copy_from_slice(bytes)));
        Arc::new(Self(files.collect()))
    }
}

impl Storage for MemoryStorage {
    fn root(&self) -> &str {
        "memory:table"
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeMap::new();
        for (path, bytes) in &self.0 {
            let Some(rest) = path.strip_prefix(&prefix) else { continue };
            let (name, entry) = match rest.split_once('/') {
                Some((name, _)) => (name, FolderEntry::Folder(name.to_owned())),
                None => {
                    let (name, len) = (rest.to_owned(), bytes.len() as u64);
                    let status = FileStatus { name, len, modified_ms: 1000, etag: None };
                    (rest, FolderEntry::File(status))
                }
            };
            entries.insert(name, entry);
        }
        Ok((!entries.is_empty() || folder.is_empty()).then(|| entries.into_values().collect()))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        let bytes = self.0.get(path).ok_or_else(|| Error::not_found("file not found").in_file(path))?;
        Ok(Arc::new(MemoryFile::new(path, bytes.clone())))
    }
}
