//! Counts storage requests by kind, and the fetched bytes in memory. On an object store each request is one round trip,
//! and is billed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::fetch_budget::FetchBudget;
use super::{FileSource, FileStatus, FolderEntry, KnownFile, ReadFrom, Storage};
use mortice_base::error::Result;

/// Counters that several storages and threads update.
#[derive(Debug, Default)]
pub struct RequestCounters {
    list: AtomicU64,
    open: AtomicU64,
    read: AtomicU64,
    budget: Arc<FetchBudget>,
}

/// The number of requests of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Folders listed, including missing ones. On an object store, pages of listings.
    pub list: u64,
    /// Files opened, including missing ones. On an object store, requests for the size of a file (`HEAD`).
    pub open: u64,
    /// Byte ranges fetched. Reads of memory-mapped files are not requests and are not counted. On an object store,
    /// every request for content (`GET`), including retries.
    pub read: u64,
}

impl RequestCounters {
    /// Returns the current counts.
    #[must_use]
    pub fn counts(&self) -> RequestCounts {
        let [list, open, read] = [&self.list, &self.open, &self.read].map(|count| count.load(Ordering::Relaxed));
        RequestCounts { list, open, read }
    }

    /// Returns the budget of fetched bytes.
    #[must_use]
    pub fn budget(&self) -> &Arc<FetchBudget> {
        &self.budget
    }

    /// Counts a listing.
    pub(super) fn count_list(&self) {
        count(&self.list);
    }

    /// Counts a request for the properties of a file.
    pub(super) fn count_open(&self) {
        count(&self.open);
    }

    /// Counts a request for bytes.
    pub(super) fn count_read(&self) {
        count(&self.read);
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Returns `storage` with its requests counted in `requests`.
#[must_use]
pub fn counted(storage: Arc<dyn Storage>, requests: &Arc<RequestCounters>) -> Arc<dyn Storage> {
    storage.counted(requests).unwrap_or_else(|| Arc::new(CountedStorage { storage, requests: Arc::clone(requests) }))
}

struct CountedStorage {
    storage: Arc<dyn Storage>,
    requests: Arc<RequestCounters>,
}

impl CountedStorage {
    fn opened(&self, open: impl FnOnce() -> Result<Arc<dyn FileSource>>) -> Result<Arc<dyn FileSource>> {
        count(&self.requests.open);
        let source = open()?;
        // Any range of a mapped file is a slice of the mapping.
        if source.window().is_none() {
            return Ok(source);
        }
        Ok(Arc::new(CountedSource { source, requests: Arc::clone(&self.requests) }))
    }
}

impl Storage for CountedStorage {
    fn root(&self) -> &str {
        self.storage.root()
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        count(&self.requests.list);
        self.storage.list(folder)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        self.opened(|| self.storage.open(path))
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        self.opened(|| self.storage.open_known(path, file))
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        count(&self.requests.open);
        self.storage.len_of(path)
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        count(&self.requests.list);
        self.storage.list_recursively(folder)
    }

    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        self.storage.begin(files, folders)
    }

    fn is_remote(&self) -> bool {
        self.storage.is_remote()
    }

    fn requests_at_once(&self) -> usize {
        self.storage.requests_at_once()
    }

    fn full_path(&self, path: &str) -> String {
        self.storage.full_path(path)
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        Some(&self.requests)
    }
}

struct CountedSource {
    source: Arc<dyn FileSource>,
    requests: Arc<RequestCounters>,
}

impl FileSource for CountedSource {
    fn path(&self) -> &str {
        self.source.path()
    }

    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        count(&self.requests.read);
        self.source.read(range)
    }

    fn window(&self) -> Option<u64> {
        self.source.window()
    }

    fn is_remote(&self) -> bool {
        self.source.is_remote()
    }

    fn begin(&self, from: ReadFrom) -> Result<()> {
        self.source.begin(from)
    }

    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        self.source.plan_reads(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LocalStorage, SubfolderStorage};
    use super::*;

    #[test]
    fn requests_are_counted_by_kind() {
        let folder = std::env::temp_dir().join(format!("mortice requests {}", std::process::id()));
        std::fs::create_dir_all(folder.join("a")).unwrap();
        // Large enough to be mapped.
        std::fs::write(folder.join("a/b"), b"0123456789".repeat(50_000)).unwrap();
        for (mapped, read) in [(true, 0), (false, 2)] {
            let requests = Arc::new(RequestCounters::default());
            let storage = counted(Arc::new(LocalStorage::new(&folder.to_string_lossy(), mapped)), &requests);
            let below = SubfolderStorage::new(Arc::clone(&storage), "a");
            assert_eq!(below.list("").unwrap().unwrap().len(), 1);
            assert_eq!(storage.list("missing").unwrap(), None);
            assert!(storage.open("missing").is_err());
            let source = below.open("b").unwrap();
            assert_eq!((source.read(0..3).unwrap(), source.read_all().unwrap().len()), (Bytes::from("012"), 500_000));
            assert_eq!(requests.counts(), RequestCounts { list: 2, open: 2, read });
            assert_eq!(below.requests().unwrap().counts(), requests.counts());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
