//! Files of an object store that are written in parts: the name is reserved with an empty object, which the uploaded
//! content replaces when the file is finished, so that readers see all of it or nothing.
//!
//! A multipart upload cannot be completed conditionally. The empty object makes the creation exclusive: of several
//! writers one creates it, and only that one uploads. If the response is lost, the name is treated as existing, and the
//! next one is tried. The remaining empty object, like that of a writer that crashes, is a log file without blocks.

use bytes::Bytes;
use object_store::PutMode;

use super::storage::ObjectStorage;
use crate::put::{FileStore, StoreUpload};
use crate::{Appendable, FileSink, Storage, WritableStorage};
use mortice_base::error::{Error, ErrorKind, Result};

/// A file whose content is uploaded.
struct ObjectSink {
    path: String,
    position: u64,
    /// `None` after the file is finished, or a write has failed.
    upload: Option<Box<dyn StoreUpload>>,
}

impl FileSink for ObjectSink {
    fn path(&self) -> &str {
        &self.path
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let finished = || Error::internal("a write to an object that is finished").in_file(&self.path);
        let mut upload = self.upload.take().ok_or_else(finished)?;
        upload.write(Bytes::copy_from_slice(bytes))?;
        self.upload = Some(upload);
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.upload.take().map_or(Ok(()), |upload| upload.finish().map(|_| ()))
    }

    fn keeps_earlier_writes(&self) -> bool {
        false
    }
}

impl WritableStorage for ObjectStorage {
    fn create_new(&self, path: &str) -> Result<Option<Box<dyn FileSink>>> {
        match self.put_once(path, &Bytes::new(), PutMode::Create) {
            Ok(_) => {
                let upload = Some(self.upload(path)?);
                Ok(Some(Box::new(ObjectSink { path: self.full_path(path), position: 0, upload })))
            }
            Err(taken) if matches!(taken.kind(), ErrorKind::AlreadyExists | ErrorKind::FileChanged) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_object_store(&self) -> bool {
        true
    }

    fn append_to(&self, _: &str) -> Result<Appendable> {
        Ok(Appendable::Unable)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn of_many_writers_one_creates_a_file_whose_content_comes_when_it_is_finished() {
        let storage = ObjectStorage::with_client(Arc::new(InMemory::new()));
        let created = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (storage, created) = (&storage, &created);
                scope.spawn(move || {
                    let Some(mut sink) = storage.create_new("p/a").unwrap() else { return };
                    created.fetch_add(1, Ordering::SeqCst);
                    sink.write(format!("by {writer}, ").as_bytes()).unwrap();
                    assert_eq!(storage.len_of("p/a").unwrap(), 0);
                    sink.write(b"whole").unwrap();
                    assert_eq!((sink.position(), sink.path()), (11, "s3://bucket/table/p/a"));
                    sink.sync().unwrap();
                    assert_eq!(sink.write(b"x").unwrap_err().kind(), ErrorKind::Internal);
                });
            }
        });
        assert_eq!(created.into_inner(), 1);
        let found = storage.open("p/a").unwrap().read_all().unwrap();
        assert!(found.starts_with(b"by ") && found.ends_with(b", whole"), "{found:?}");
        assert!(storage.create_new("p/a").unwrap().is_none());
        assert!(matches!(storage.append_to("p/a").unwrap(), Appendable::Unable));
    }

    #[test]
    fn a_file_that_is_not_finished_stays_empty() {
        let storage = ObjectStorage::with_client(Arc::new(InMemory::new()));
        let mut sink = storage.create_new("p/a").unwrap().unwrap();
        sink.write(&vec![7; 20 << 20]).unwrap();
        drop(sink);
        assert_eq!(storage.len_of("p/a").unwrap(), 0);
    }
}
