//! A file that is written in order, and is visible once it is complete.

use std::io::{Error as IoError, Write};

use bytes::Bytes;

use mortice_base::error::{Error, Result};
use mortice_storage::{FileStore, StoreUpload};

/// Bytes that are collected before they are handed to the store.
const PIECE: usize = 1 << 20;

/// A file of a store. Dropped before it is finished, it leaves nothing behind.
pub(super) struct FileUpload {
    path: String,
    upload: Option<Box<dyn StoreUpload>>,
    waiting: Vec<u8>,
    written: u64,
    /// The store's own error, which an `std::io::Error` stands for.
    failure: Option<Error>,
}

impl FileUpload {
    /// Begins the file at `path`, relative to the store's root.
    pub(super) fn new(store: &dyn FileStore, path: &str) -> Result<Self> {
        let upload = Some(store.upload(path)?);
        Ok(Self { path: store.full_path(path), upload, waiting: Vec::new(), written: 0, failure: None })
    }

    /// The file's full path or URI.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Bytes written so far.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Writes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<()> {
        // Room for the next piece: growing would copy each piece once more.
        let next = Vec::with_capacity(if self.waiting.len() >= PIECE { PIECE + PIECE / 8 } else { 0 });
        let piece = Bytes::from(std::mem::replace(&mut self.waiting, next));
        match &mut self.upload {
            Some(upload) => upload.write(piece).map_err(|error| error.in_file(&self.path)),
            None => Err(Error::internal("bytes are written to a file that is finished").in_file(&self.path)),
        }
    }

    /// Makes the file visible and durable. Returns its length.
    pub(super) fn finish(&mut self) -> Result<u64> {
        if !self.waiting.is_empty() {
            self.send()?;
        }
        match self.upload.take() {
            Some(upload) => upload.finish().map_err(|error| error.in_file(&self.path))?,
            None => return Err(Error::internal("a file is finished twice").in_file(&self.path)),
        };
        Ok(self.written)
    }

    /// The store's error, if it was one that made `error`.
    pub(super) fn failure(&mut self, error: Error) -> Error {
        self.failure.take().unwrap_or(error).in_file(&self.path)
    }
}

impl Write for FileUpload {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.append(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                let message = IoError::other(error.to_string());
                self.failure = Some(error);
                Err(message)
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
