//! A folder of HDFS.

use std::sync::Arc;

use hdfs_native::client::FileStatus as HdfsStatus;
use hdfs_native::{Client, HdfsError};

use super::file::{self, HdfsFile};
use super::handle::HdfsHandle;
use crate::fetch::ranges::WHOLE;
use crate::fetch::source::ObjectSource;
use crate::options::hdfs_options::HdfsOptions;
use crate::options::hdfs_uri::HdfsUri;
use crate::{FileSource, FileStatus, FolderEntry, KnownFile, MemoryFile, RequestCounters, Storage, StorageOptions};
use mortice_base::error::Result;

/// A root folder in HDFS.
#[derive(Clone)]
pub struct HdfsStorage {
    root: String,
    path: String,
    pub(crate) handle: Arc<HdfsHandle>,
    pub(crate) requests: Arc<RequestCounters>,
}

impl HdfsStorage {
    /// Returns the root at a URI of HDFS, `None` for other URIs. No request is sent.
    ///
    /// # Errors
    /// `InvalidArgument` for URIs, options and configuration files that do not identify a cluster.
    pub fn open(uri: &str, options: &StorageOptions) -> Result<Option<Self>> {
        let Some(parsed) = HdfsUri::parse(uri)? else { return Ok(None) };
        let handle = HdfsOptions::parse(options).and_then(|options| HdfsHandle::new(&parsed, options));
        let handle = handle.map_err(|error| error.in_file(uri))?;
        let root = uri.trim_end_matches('/').to_owned();
        Ok(Some(Self { root, path: parsed.path, handle, requests: Arc::default() }))
    }

    /// Returns the path in HDFS of a path below the root.
    pub(crate) fn path(&self, path: &str) -> String {
        match (self.path.trim_end_matches('/'), path.trim_end_matches('/')) {
            ("", "") => "/".to_owned(),
            (root, "") => root.to_owned(),
            (root, path) => format!("{root}/{path}"),
        }
    }

    fn source(&self, path: &str, file: KnownFile) -> Arc<dyn FileSource> {
        let (inside, full) = (self.path(path), self.full_path(path));
        let id = (inside.clone(), file.clone(), Arc::as_ptr(&self.requests) as usize);
        let open = || -> Arc<dyn FileSource> {
            ObjectSource::new(Box::new(HdfsFile::new(&self.handle, inside)), &self.requests, full, file)
        };
        self.handle.opened().get_or_open(id, open)
    }
}

impl Storage for HdfsStorage {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let path = self.path(folder);
        self.requests.count_list();
        let Some(found) = self.handle.run(&self.full_path(folder), move |client| list(client, path, false))? else {
            return Ok(None);
        };
        let entry = |found: &HdfsStatus| {
            let name = name_of(&found.path);
            if found.isdir { FolderEntry::Folder(name.to_owned()) } else { FolderEntry::File(status(name, found)) }
        };
        let mut entries: Vec<FolderEntry> = found.iter().map(entry).collect();
        entries.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(Some(entries))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        let (inside, full) = (self.path(path), self.full_path(path));
        self.requests.count_read();
        let (len, bytes) = self.handle.run(&full, move |client| file::open(client, inside, WHOLE))?;
        match bytes {
            Some(bytes) => Ok(Arc::new(MemoryFile::new(full, bytes))),
            None => Ok(self.source(path, KnownFile { len, ..KnownFile::default() })),
        }
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        // A size of 0 is that of a file which did not exist when its size was requested.
        if file.len == 0 { self.open(path) } else { Ok(self.source(path, file.clone())) }
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        let inside = self.path(path);
        self.requests.count_open();
        let len = move |client: Client| async move { Ok(client.get_file_info(&inside).await?.length as u64) };
        self.handle.run(&self.full_path(path), len)
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        let path = self.path(folder);
        self.requests.count_list();
        let found = self.handle.run(&self.full_path(folder), move |client| list(client, path, true))?;
        let root = format!("{}/", self.path.trim_end_matches('/'));
        let mut files = Vec::new();
        for found in found.unwrap_or_default().iter().filter(|found| !found.isdir) {
            let Some(path) = found.path.strip_prefix(&root) else { continue };
            files.push((path.to_owned(), status(name_of(path), found)));
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn requests_at_once(&self) -> usize {
        self.handle.max_requests()
    }

    fn counted(&self, requests: &Arc<RequestCounters>) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(Self { requests: Arc::clone(requests), ..self.clone() }))
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        Some(&self.requests)
    }
}

/// Lists a folder; `None` if it does not exist or is a file.
async fn list(client: Client, path: String, is_recursive: bool) -> hdfs_native::Result<Option<Vec<HdfsStatus>>> {
    match client.list_status(&path, is_recursive).await {
        // The listing of a file is the file itself.
        Ok(found) if found.iter().any(|found| found.path == path) => Ok(None),
        Ok(found) => Ok(Some(found)),
        Err(HdfsError::FileNotFound(_)) => Ok(None),
        Err(HdfsError::RPCError(class, _)) if class == "java.io.FileNotFoundException" => Ok(None),
        Err(error) => Err(error),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn status(name: &str, found: &HdfsStatus) -> FileStatus {
    let modified_ms = i64::try_from(found.modification_time).unwrap_or(0);
    FileStatus { name: name.to_owned(), len: found.length as u64, modified_ms, etag: None }
}
