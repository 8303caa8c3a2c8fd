//! A storage: files and folders, rooted at a table's base path.

use std::sync::Arc;

use super::{FileSource, FileStatus, FolderEntry, KnownFile, RequestCounters};
use mortice_base::error::Result;

/// The default number of concurrent requests: enough to hide latency, few enough to be no burden.
const AT_ONCE: usize = 32;

/// A storage with a root folder. Paths are relative to it, with parts separated by `/`, and may have any Unicode
/// characters and spaces; `""` is the root.
pub trait Storage: Send + Sync {
    /// Returns the root's path or URI, for messages.
    fn root(&self) -> &str;

    /// Returns the entries of a folder, sorted by name; `None` if the folder does not exist.
    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>>;

    /// Opens a file. [`mortice_base::ErrorKind::NotFound`] if it does not exist.
    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>>;

    /// Opens a file of known size. No request is sent if the storage does not need one: a missing or changed file is
    /// then an error of its first read ([`mortice_base::ErrorKind::FileCleaned`],
    /// [`mortice_base::ErrorKind::FileChanged`]).
    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        let _ = file;
        self.open(path)
    }

    /// Returns the size of a file in bytes.
    fn len_of(&self, path: &str) -> Result<u64> {
        Ok(self.open(path)?.len())
    }

    /// Returns all files below a folder with their paths from the root, sorted; none if the folder does not exist.
    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            for entry in self.list(&folder)?.unwrap_or_default() {
                match entry {
                    FolderEntry::File(status) => files.push((path(&status.name), status)),
                    FolderEntry::Folder(name) => folders.push(path(&name)),
                }
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    /// Starts to fetch small files and to list folders, all concurrently, on remote storage. The next [`Storage::open`]
    /// or [`Storage::list`] of each waits for that response, which may be as old as this call.
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all; the error of a request is returned by the call that waits for it.
    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        let _ = (files, folders);
        Ok(())
    }

    /// Returns true if each request is a round trip over a network.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns this storage with its requests counted in `requests`; `None` if it does not count them itself.
    fn counted(&self, requests: &Arc<RequestCounters>) -> Option<Arc<dyn Storage>> {
        let _ = requests;
        None
    }

    /// Returns the useful number of concurrent requests of all threads; more than there are cores for slow storage.
    fn requests_at_once(&self) -> usize {
        AT_ONCE
    }

    /// Returns the counters of this storage's requests, if they are counted.
    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        None
    }

    /// Returns the full path or URI of a file, for messages.
    fn full_path(&self, path: &str) -> String {
        let root = self.root().trim_end_matches('/');
        if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
    }
}
