//! Files of HDFS that are written in parts: created exclusively, and appended to.
//!
//! Readers see what was written once the file is closed, or a `DataNode` has reported a whole block. A writer that
//! crashes leaves the file open; the `NameNode` closes it when another writer appends, or after the lease expires.

use std::sync::Arc;

use bytes::Bytes;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, HdfsError, WriteOptions};
use tokio::sync::Mutex;

use super::handle::{HdfsHandle, InUse};
use super::storage::HdfsStorage;
use crate::{Appendable, FileSink, Storage, WritableStorage};
use mortice_base::error::{Error, ErrorKind, Result};

/// The writer of a file, shared with the operations of the I/O thread. `None` after the file is closed.
type SharedWriter = Arc<Mutex<Option<FileWriter>>>;

/// A file that is being written.
struct HdfsSink {
    handle: Arc<HdfsHandle>,
    writer: SharedWriter,
    path: String,
    position: u64,
    process: u32,
    _in_use: InUse,
}

impl HdfsSink {
    fn boxed(storage: &HdfsStorage, path: String, writer: SharedWriter, position: u64) -> Result<Box<dyn FileSink>> {
        let handle = Arc::clone(&storage.handle);
        let in_use = handle.in_use()?;
        Ok(Box::new(Self { handle, writer, path, position, process: std::process::id(), _in_use: in_use }))
    }
}

impl FileSink for HdfsSink {
    fn path(&self) -> &str {
        &self.path
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let (writer, content) = (Arc::clone(&self.writer), Bytes::copy_from_slice(bytes));
        let write = move |_: Client| async move {
            match writer.lock().await.as_mut() {
                Some(writer) => writer.write_bytes(content).await.map(|_| ()),
                None => Err(HdfsError::InternalError("the file is closed".to_owned())),
            }
        };
        self.handle.run(&self.path, write)?;
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        let writer = Arc::clone(&self.writer);
        let close = move |_: Client| async move {
            match writer.lock().await.take() {
                Some(mut writer) => writer.close().await,
                None => Ok(()),
            }
        };
        self.handle.run(&self.path, close)
    }

    /// Bytes that no `DataNode` has acknowledged are lost with the writer.
    fn keeps_earlier_writes(&self) -> bool {
        false
    }
}

impl Drop for HdfsSink {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The file belongs to the parent process.
            std::mem::forget(Arc::clone(&self.writer));
        }
    }
}

impl WritableStorage for HdfsStorage {
    fn create_new(&self, path: &str) -> Result<Option<Box<dyn FileSink>>> {
        let (inside, full) = (self.path(path), self.full_path(path));
        let create = move |client: Client| async move {
            let options = WriteOptions { create_parent: false, ..WriteOptions::default() };
            let writer = client.create(&inside, options).await?;
            Ok(Arc::new(Mutex::new(Some(writer))))
        };
        match self.handle.run(&full, create) {
            Ok(writer) => HdfsSink::boxed(self, full, writer, 0).map(Some),
            Err(exists) if exists.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(missing) if missing.kind() == ErrorKind::NotFound => {
                Err(Error::not_found("the folder to write to does not exist").in_file(full))
            }
            Err(error) => Err(error),
        }
    }

    fn append_to(&self, path: &str) -> Result<Appendable> {
        let (inside, full) = (self.path(path), self.full_path(path));
        let append = move |client: Client| async move {
            let writer = client.append(&inside).await?;
            // Its size is final only now that no other writer has the file.
            let size = client.get_file_info(&inside).await?.length as u64;
            Ok((Arc::new(Mutex::new(Some(writer))), size))
        };
        match self.handle.run(&full, append) {
            Ok((writer, size)) => Ok(Appendable::Opened(HdfsSink::boxed(self, full, writer, size)?)),
            Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(Appendable::Missing),
            // Another writer has the file, or the cluster does not append.
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::Unsupported) => {
                Ok(Appendable::Unable)
            }
            Err(error) => Err(error),
        }
    }
}
