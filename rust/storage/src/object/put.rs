//! Writes whole files to object stores.
//!
//! A create is a `PUT` with `If-None-Match: *` (a generation of 0 on Google Cloud Storage), a replacement one with
//! `If-Match`. S3 responds with 409 to concurrent creates, without reporting which one succeeded, and a response may be
//! lost: both cases are resolved by reading the file back.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult, UpdateVersion,
};
use tokio::sync::Mutex;

use super::handle::{ObjectHandle, location};
use super::storage::ObjectStorage;
use crate::fetch::fetcher::SharedResult;
use crate::fetch::runtime::{PendingResult, locked};
use crate::put::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload};
use crate::{RequestCounters, Storage};
use mortice_base::error::{Error, ErrorKind, Result};

/// The size of a part of a large file.
const PART: usize = 8 << 20;
/// The number of concurrent uploads of parts.
const PARTS_AT_ONCE: usize = 4;
/// The number of attempts for an operation whose outcome is unknown.
const TRIES: u32 = 4;
/// The timeout for aborting an unfinished upload.
const ABORT: Duration = Duration::from_secs(10);

impl ObjectStorage {
    /// Writes a file conditionally, and repeats that until the outcome is known.
    fn put_where(&self, path: &str, bytes: &Bytes, mode: &PutMode) -> Result<PutOutcome> {
        let mut tries = 1;
        loop {
            let error = match self.put_once(path, bytes, mode.clone()) {
                Ok(version) => return Ok(PutOutcome::Written(version)),
                Err(error) => error,
            };
            match (error.kind(), mode) {
                // The file exists, or there was a race; this writer may have written it.
                (ErrorKind::AlreadyExists | ErrorKind::FileChanged, _) => {}
                // S3's response to a condition on a file that does not exist.
                (ErrorKind::NotFound, PutMode::Update(_)) => return Ok(PutOutcome::Refused),
                // The response was lost or invalid.
                (ErrorKind::Io | ErrorKind::Unreachable | ErrorKind::Throttled, _) => {}
                _ => return Err(error),
            }
            match self.get(path) {
                Ok((found, version)) if found == *bytes => return Ok(PutOutcome::Written(version)),
                Ok(_) if matches!(mode, PutMode::Create) => return Ok(PutOutcome::Refused),
                Ok(_) if error.kind() == ErrorKind::FileChanged => return Ok(PutOutcome::Refused),
                Err(gone) if gone.kind() == ErrorKind::NotFound && matches!(mode, PutMode::Update(_)) => {
                    return Ok(PutOutcome::Refused);
                }
                // It was not written, or has been removed since.
                Ok(_) => {}
                Err(gone) if gone.kind() == ErrorKind::NotFound => {}
                Err(unknown) => return Err(unknown),
            }
            if tries == TRIES {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(100) * 2_u32.pow(tries));
            tries += 1;
        }
    }

    pub(crate) fn put_once(&self, path: &str, bytes: &Bytes, mode: PutMode) -> Result<FileVersion> {
        let (location, payload) = (self.location(path)?, PutPayload::from(bytes.clone()));
        let put = move |store: Arc<dyn ObjectStore>| async move {
            store.put_opts(&location, payload, PutOptions::from(mode)).await.map(version)
        };
        self.handle.run(&self.requests, &self.full_path(path), put)
    }
}

impl FileStore for ObjectStorage {
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.put_where(path, bytes, &PutMode::Create)
    }

    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        match expected {
            // Writing the same content again is harmless, so the client may retry.
            None => self.put_once(path, bytes, PutMode::Overwrite).map(PutOutcome::Written),
            Some(FileVersion { etag, version }) => {
                let expected = UpdateVersion { e_tag: etag.clone(), version: version.clone() };
                self.put_where(path, bytes, &PutMode::Update(expected))
            }
        }
    }

    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)> {
        let location = self.location(path)?;
        let get = move |store: Arc<dyn ObjectStore>| async move {
            let answer = store.get(&location).await?;
            let version = FileVersion { etag: answer.meta.e_tag.clone(), version: answer.meta.version.clone() };
            Ok((answer.bytes().await?, version))
        };
        self.handle.run(&self.requests, &self.full_path(path), get)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let location = self.location(path)?;
        let delete = move |store: Arc<dyn ObjectStore>| async move { store.delete(&location).await };
        match self.handle.run(&self.requests, &self.full_path(path), delete) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn create_folder(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn remove_empty_folders(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn rename(&self, _: &str, _: &str) -> Result<RenameOutcome> {
        Ok(RenameOutcome::Unable)
    }

    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        Ok(Box::new(ObjectUpload {
            location: location(&self.key(path))?,
            path: self.full_path(path),
            handle: Arc::clone(&self.handle),
            requests: Arc::clone(&self.requests),
            waiting: BytesMut::new(),
            upload: None,
            parts: Vec::new(),
        }))
    }
}

type Shared = Arc<Mutex<Box<dyn MultipartUpload>>>;

/// A large file; if it turns out to be small, it is written with one request.
struct ObjectUpload {
    location: Path,
    path: String,
    handle: Arc<ObjectHandle>,
    requests: Arc<RequestCounters>,
    waiting: BytesMut,
    /// Created with the first part.
    upload: Option<Shared>,
    parts: Vec<PendingResult<SharedResult<()>>>,
}

impl ObjectUpload {
    fn begun(&mut self) -> Result<Shared> {
        if let Some(upload) = &self.upload {
            return Ok(Arc::clone(upload));
        }
        let location = self.location.clone();
        let begin = move |store: Arc<dyn ObjectStore>| async move {
            let upload: Shared = Arc::new(Mutex::new(store.put_multipart(&location).await?));
            Ok(upload)
        };
        let upload = self.handle.run(&self.requests, &self.path, begin)?;
        Ok(Arc::clone(self.upload.insert(upload)))
    }

    fn send(&mut self, part: Bytes) -> Result<()> {
        let upload = self.begun()?;
        // Parts are numbered in the order of their calls; only their transfer may overlap.
        let number = move |_: Arc<dyn ObjectStore>| async move {
            let part = upload.lock().await.put_part(PutPayload::from(part));
            Ok(Arc::new(std::sync::Mutex::new(Some(part))))
        };
        let part = self.handle.run(&self.requests, &self.path, number)?;
        let Some(part) = locked(&part).take() else {
            return Err(Error::internal("a part of an upload is sent twice").in_file(&self.path));
        };
        self.parts.push(self.handle.start_once(&self.requests, move |_| part)?);
        if self.parts.len() >= PARTS_AT_ONCE {
            let oldest = self.parts.remove(0);
            self.received(&oldest)?;
        }
        Ok(())
    }

    fn received(&self, part: &PendingResult<SharedResult<()>>) -> Result<()> {
        part.wait().map_err(|error| error.in_file(&self.path))?.map_err(|failure| failure.at(&self.path))
    }
}

impl StoreUpload for ObjectUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.waiting.extend_from_slice(&bytes);
        while self.waiting.len() >= PART {
            let part = self.waiting.split_to(PART).freeze();
            self.send(part)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<FileVersion> {
        let rest = self.waiting.split().freeze();
        if self.upload.is_none() {
            let location = self.location.clone();
            let put = move |store: Arc<dyn ObjectStore>| async move {
                store.put(&location, PutPayload::from(rest)).await.map(version)
            };
            return self.handle.run(&self.requests, &self.path, put);
        }
        if !rest.is_empty() {
            self.send(rest)?;
        }
        for part in std::mem::take(&mut self.parts) {
            self.received(&part)?;
        }
        let upload = self.begun()?;
        let complete = move |_: Arc<dyn ObjectStore>| async move { upload.lock().await.complete().await.map(version) };
        let version = self.handle.run(&self.requests, &self.path, complete)?;
        self.upload = None;
        Ok(version)
    }
}

impl Drop for ObjectUpload {
    /// Parts of an unfinished upload cost storage until it is aborted.
    fn drop(&mut self) {
        self.parts.clear();
        let Some(upload) = self.upload.take() else { return };
        let abort = move |_: Arc<dyn ObjectStore>| async move {
            let _ = tokio::time::timeout(ABORT, async { upload.lock().await.abort().await }).await;
            Ok(())
        };
        if let Ok(pending) = self.handle.start(&self.requests, abort) {
            let _ = pending.wait();
        }
    }
}

fn version(put: PutResult) -> FileVersion {
    FileVersion { etag: put.e_tag, version: put.version }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use object_store::memory::InMemory;

    use super::*;

    fn written(put: &PutOutcome) -> FileVersion {
        match put {
            PutOutcome::Written(version) => version.clone(),
            PutOutcome::Refused => panic!("refused"),
        }
    }

    #[test]
    fn one_of_many_writers_creates_a_file_and_one_replaces_a_version() {
        let storage = ObjectStorage::with_client(Arc::new(InMemory::new()));
        let (created, replaced) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (storage, created) = (&storage, &created);
                scope.spawn(move || {
                    let put = storage.put_if_absent("a", &format!("writer {writer}").into()).unwrap();
                    created.fetch_add(usize::from(put != PutOutcome::Refused), Ordering::SeqCst);
                });
            }
        });
        let (_, first) = storage.get("a").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (storage, replaced, first) = (&storage, &replaced, &first);
                scope.spawn(move || {
                    let put = storage.put("a", &format!("replaced by {writer}").into(), Some(first)).unwrap();
                    replaced.fetch_add(usize::from(put != PutOutcome::Refused), Ordering::SeqCst);
                });
            }
        });
        assert_eq!((created.into_inner(), replaced.into_inner()), (1, 1));
    }

    #[test]
    fn a_create_whose_answer_was_lost_is_found_to_have_succeeded() {
        let storage = ObjectStorage::with_client(Arc::new(InMemory::new()));
        written(&storage.put_if_absent("a", &"commit 1".into()).unwrap());
        // The client retries, and finds its own file.
        written(&storage.put_if_absent("a", &"commit 1".into()).unwrap());
        assert_eq!(storage.put_if_absent("a", &"commit 2".into()).unwrap(), PutOutcome::Refused);
        assert_eq!(storage.get("a").unwrap().0, "commit 1");
    }

    #[test]
    fn large_files_are_written_in_parts_and_not_seen_before() {
        let storage = ObjectStorage::with_client(Arc::new(InMemory::new()));
        let piece = Bytes::from(vec![7_u8; 3 << 20]);
        let mut upload = storage.upload("p/large").unwrap();
        (0..5).for_each(|_| upload.write(piece.clone()).unwrap());
        assert_eq!(storage.get("p/large").unwrap_err().kind(), ErrorKind::NotFound);
        upload.finish().unwrap();
        assert_eq!(storage.get("p/large").unwrap().0.len(), 15 << 20);
        let mut dropped = storage.upload("p/dropped").unwrap();
        (0..5).for_each(|_| dropped.write(piece.clone()).unwrap());
        drop(dropped);
        let names: Vec<String> = storage.list_recursively("p").unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["p/large"]);
        storage.delete("p/large").unwrap();
        storage.delete("p/large").unwrap();
        assert_eq!(storage.rename("a", "b").unwrap(), RenameOutcome::Unable);
    }
}
