//! A folder of an object store. Folders are prefixes of keys: one exists if it has a file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::client::with_whole_answer;
use super::file::ObjectFile;
use super::handle::{ObjectHandle, location};
use crate::fetch::fetcher::SharedResult;
use crate::fetch::ranges::WHOLE;
use crate::fetch::runtime::{PendingResult, locked};
use crate::fetch::source::ObjectSource;
use crate::options::object_options::ObjectOptions;
use crate::options::object_uri::{ObjectStoreType, ObjectUri};
use crate::{FileSource, FileStatus, FolderEntry, KnownFile, MemoryFile, RequestCounters, Storage, StorageOptions};
use mortice_base::error::{ErrorKind, Result};

/// A root folder in an object store.
#[derive(Clone)]
pub struct ObjectStorage {
    root: String,
    key: String,
    pub(crate) handle: Arc<ObjectHandle>,
    pub(crate) requests: Arc<RequestCounters>,
    ahead: Arc<Mutex<PrefetchedResponses>>,
}

/// Prefetched responses; each is used once.
#[derive(Default)]
struct PrefetchedResponses {
    files: HashMap<String, PendingResult<SharedResult<OpenedObject>>>,
    folders: HashMap<String, PendingResult<SharedResult<FolderListing>>>,
}

/// A file of unknown size: with its bytes, unless it is large.
#[derive(Clone)]
struct OpenedObject {
    bytes: Option<bytes::Bytes>,
    size: u64,
    etag: Option<String>,
}

/// A folder: its files and subfolders.
#[derive(Clone)]
struct FolderListing {
    files: Vec<ObjectMeta>,
    folders: Vec<Path>,
}

impl ObjectStorage {
    /// Returns the root at a URI of an object store, `None` for other URIs. No request is sent.
    ///
    /// # Errors
    /// `InvalidArgument` for URIs and options that do not identify a store.
    pub fn open(uri: &str, options: &StorageOptions) -> Result<Option<Self>> {
        let Some(parsed) = ObjectUri::parse(uri)? else { return Ok(None) };
        let options = ObjectOptions::parse(uri, options)?;
        let handle = ObjectHandle::for_store(&parsed, options).map_err(|error| error.in_file(uri))?;
        let root = uri.trim_end_matches('/').to_owned();
        Ok(Some(Self { root, key: parsed.key, handle, requests: Arc::default(), ahead: Arc::default() }))
    }

    /// Returns a storage with this client.
    #[cfg(test)]
    pub(crate) fn with_client(client: Arc<dyn ObjectStore>) -> Self {
        let uri = ObjectUri::parse("s3://bucket/table").unwrap().unwrap();
        let options = ObjectOptions::parse("s3://bucket/table", &StorageOptions::new()).unwrap();
        let (root, key) = ("s3://bucket/table".to_owned(), uri.key.clone());
        let handle = ObjectHandle::with_client(&uri, options, client);
        Self { root, key, handle, requests: Arc::default(), ahead: Arc::default() }
    }

    /// Returns the key of a path.
    pub(crate) fn key(&self, path: &str) -> String {
        match (self.key.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => self.key.clone(),
            (false, false) => format!("{}/{path}", self.key),
        }
    }

    pub(crate) fn location(&self, path: &str) -> Result<Path> {
        location(&self.key(path))
    }

    fn start_open(&self, path: &str) -> Result<PendingResult<SharedResult<OpenedObject>>> {
        let location = self.location(path)?;
        self.handle.start(&self.requests, move |store| open(store, location))
    }

    fn start_list(&self, folder: &str) -> Result<PendingResult<SharedResult<FolderListing>>> {
        let prefix = self.location(folder)?;
        self.handle.start(&self.requests, move |store| list(store, prefix))
    }

    fn source(&self, path: &str, file: KnownFile) -> Result<Arc<dyn FileSource>> {
        let (location, full) = (self.location(path)?, self.full_path(path));
        let id = (self.key(path), file.clone(), Arc::as_ptr(&self.requests) as usize);
        let open = || -> Arc<dyn FileSource> {
            let fetcher = ObjectFile::new(&self.handle, location);
            ObjectSource::new(Box::new(fetcher), &self.requests, full, file)
        };
        Ok(self.handle.opened().get_or_open(id, open))
    }
}

impl Storage for ObjectStorage {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
        let path = self.full_path(folder);
        let ahead = locked(&self.ahead).folders.remove(folder).filter(PendingResult::is_here);
        let pending = ahead.map_or_else(|| self.start_list(folder), Ok)?;
        let listed = match pending.wait().map_err(|error| error.in_file(&path))? {
            Ok(listed) => listed,
            // A web server has folders. Other stores return this only if the bucket does not exist.
            Err(failure)
                if failure.kind == ErrorKind::NotFound && self.handle.uri().service == ObjectStoreType::Http =>
            {
                return Ok(None);
            }
            Err(failure) => return Err(failure.at(&path)),
        };
        let key = self.key(folder);
        let files = listed.files.iter().filter_map(|file| Some((name_in(&key, file.location.as_ref())?, file)));
        let files = files.map(|(name, file)| FolderEntry::File(status(name, file)));
        let folders = listed.folders.iter().filter_map(|folder| name_in(&key, folder.as_ref()));
        let mut entries: Vec<FolderEntry> =
            files.chain(folders.map(|name| FolderEntry::Folder(name.to_owned()))).collect();
        entries.sort_by(|one, other| one.name().cmp(other.name()));
        Ok((!entries.is_empty()).then_some(entries))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
        let full = self.full_path(path);
        let ahead = locked(&self.ahead).files.remove(path).filter(PendingResult::is_here);
        let pending = ahead.map_or_else(|| self.start_open(path), Ok)?;
        let opened = pending.wait().map_err(|error| error.in_file(&full))?.map_err(|failure| failure.at(&full))?;
        match opened.bytes {
            Some(bytes) => Ok(Arc::new(MemoryFile::new(full, bytes))),
            None => self.source(path, KnownFile { len: opened.size, etag: opened.etag, may_have_grown: false }),
        }
    }

    fn open_known(&self, path: &str, file: &KnownFile) -> Result<Arc<dyn FileSource>> {
        // A size of 0 is that of a file which did not exist when its size was requested.
        if file.len == 0 { self.open(path) } else { self.source(path, file.clone()) }
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        let location = self.location(path)?;
        let size = move |store: Arc<dyn ObjectStore>| async move { Ok(store.head(&location).await?.size) };
        self.handle.run(&self.requests, &self.full_path(path), size)
    }

    fn list_recursively(&self, folder: &str) -> Result<Vec<(String, FileStatus)>> {
        let (prefix, path) = (self.location(folder)?, self.full_path(folder));
        let all = move |store: Arc<dyn ObjectStore>| async move {
            with_whole_answer(|| store.list(Some(&prefix)).try_collect::<Vec<ObjectMeta>>()).await
        };
        let found = self.handle.run(&self.requests, &path, all)?;
        let key = self.key("");
        let mut files: Vec<(String, FileStatus)> = Vec::new();
        for file in &found {
            let Some(path) = below(&key, file.location.as_ref()) else { continue };
            let name = path.rsplit('/').next().unwrap_or(path);
            files.push((path.to_owned(), status(name, file)));
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    fn begin(&self, files: &[&str], folders: &[&str]) -> Result<()> {
        for file in files {
            let pending = self.start_open(file)?;
            locked(&self.ahead).files.insert((*file).to_owned(), pending);
        }
        for folder in folders {
            let pending = self.start_list(folder)?;
            locked(&self.ahead).folders.insert((*folder).to_owned(), pending);
        }
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn requests_at_once(&self) -> usize {
        self.handle.max_requests()
    }

    fn counted(&self, requests: &Arc<RequestCounters>) -> Option<Arc<dyn Storage>> {
        let ahead = Arc::default();
        Some(Arc::new(Self { requests: Arc::clone(requests), ahead, ..self.clone() }))
    }

    fn requests(&self) -> Option<&Arc<RequestCounters>> {
        Some(&self.requests)
    }
}

async fn list(store: Arc<dyn ObjectStore>, prefix: Path) -> object_store::Result<FolderListing> {
    let listed = with_whole_answer(|| store.list_with_delimiter(Some(&prefix))).await?;
    Ok(FolderListing { files: listed.objects, folders: listed.common_prefixes })
}

/// Fetches a file of unknown size: all of it, or only the response header of a large one.
async fn open(store: Arc<dyn ObjectStore>, location: Path) -> object_store::Result<OpenedObject> {
    let answer = store.get_opts(&location, GetOptions::default()).await?;
    let (size, etag) = (answer.meta.size, answer.meta.e_tag.clone());
    let bytes = if size <= WHOLE { Some(answer.bytes().await?) } else { None };
    Ok(OpenedObject { bytes, size, etag })
}

/// Returns the path of a key below a prefix, `None` for the prefix itself, which some tools store as an empty object.
fn below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    let rest = if prefix.is_empty() { key } else { key.strip_prefix(prefix)?.strip_prefix('/')? };
    (!rest.is_empty()).then_some(rest)
}

/// Returns the last part of a key directly below a prefix.
fn name_in<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    below(prefix, key.trim_end_matches('/')).filter(|name| !name.contains('/'))
}

fn status(name: &str, file: &ObjectMeta) -> FileStatus {
    let modified_ms = file.last_modified.timestamp_millis();
    FileStatus { name: name.to_owned(), len: file.size, modified_ms, etag: file.e_tag.clone() }
}
