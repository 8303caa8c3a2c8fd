//! A place that files lie in, rooted at a table's base path.

use std::sync::Arc;

use super::{Entry, FileStatus, KnownFile, Requests, Source};
use crate::error::Result;

/// Requests at once where nothing else is known: enough to wait for many, few enough to be no burden.
const AT_ONCE: usize = 32;

/// A root folder. Paths are relative to it, parts joined by `/`, and may hold any Unicode and spaces; `""` is the root.
pub trait Place: Send + Sync {
    /// The root's path or URI, for messages.
    fn root(&self) -> &str;

    /// What a folder holds, sorted by name; `None` where there is no such folder.
    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>>;

    /// Opens a file. [`crate::Kind::NotFound`] where there is none.
    fn open(&self, path: &str) -> Result<Arc<dyn Source>>;

    /// Opens a file whose length is known. No request is made where the storage can do without: a file that is missing or
    /// has changed is then an error of its first read ([`crate::Kind::FileCleaned`], [`crate::Kind::FileChanged`]).
    ///
    /// # Errors
    /// As for [`Place::open`].
    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn Source>> {
        let _ = file;
        self.open(path)
    }

    /// The length of a file, in bytes.
    ///
    /// # Errors
    /// As for [`Place::open`].
    fn len_of(&self, path: &str) -> Result<u64> {
        Ok(self.open(path)?.len())
    }

    /// All files below a folder with their paths from the root, sorted; none if there is no such folder.
    ///
    /// # Errors
    /// As for [`Place::list`].
    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            for entry in self.list(&folder)?.unwrap_or_default() {
                match entry {
                    Entry::File(status) => files.push((path(&status.name), status)),
                    Entry::Folder(name) => folders.push(path(&name)),
                }
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    /// Starts to fetch small files and to list folders, all at once, where that takes a while. The next
    /// [`Place::open`] or [`Place::list`] of each waits for that answer, which may be as old as this call.
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all; what a request fails with is the error of the call that waits for it.
    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        let _ = (files, folders);
        Ok(())
    }

    /// Whether each request is a round trip over a network.
    fn is_remote(&self) -> bool {
        false
    }

    /// This place with its requests counted in `requests`; none if it does not count them itself.
    fn counted(&self, requests: &Arc<Requests>) -> Option<Arc<dyn Place>> {
        let _ = requests;
        None
    }

    /// How many requests at once are worth it, all threads together; more than there are cores where storage takes its time.
    fn requests_at_once(&self) -> usize {
        AT_ONCE
    }

    /// The counters of this place's requests, if they are counted.
    fn requests(&self) -> Option<&Arc<Requests>> {
        None
    }

    /// The full path or URI of a file, for messages.
    fn full_path(&self, path: &str) -> String {
        let root = self.root().trim_end_matches('/');
        if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
    }
}
