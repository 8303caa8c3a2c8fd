//! The bytes of a Parquet file as the parquet crate reads them, and the errors of its reads.

use std::io::Read;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

use mortice_base::error::{Error, Result};
use mortice_base::panics::{out_of_memory, panic_message};
use mortice_storage::FileSource;

/// A source as the parquet crate reads it: slices of a mapping are handed on as they are.
///
/// The crate hands errors on as text. The error of a read is kept beside, so that it is returned as it was.
#[derive(Clone)]
pub(super) struct SourceBytes {
    pub(super) source: Arc<dyn FileSource>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl SourceBytes {
    pub(super) fn new(source: Arc<dyn FileSource>) -> Self {
        Self { source, failure: Arc::default() }
    }

    pub(super) fn range(&self, start: u64, end: u64) -> Result<Bytes, ParquetError> {
        self.source.read(start..end).map_err(|error| self.failed(error))
    }

    /// Keeps an error, and returns it as the crate hands it on. The first one counts.
    pub(super) fn failed(&self, error: Error) -> ParquetError {
        let text = error.to_string();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        ParquetError::General(text)
    }

    /// Takes the error that was kept.
    fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl SourceBytes {
    /// The error with the file's name.
    pub(super) fn error(&self, error: Error) -> Error {
        error.in_file(self.source.path())
    }
}

/// Where a column chunk is in its file.
pub(super) fn chunk_range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, len) = chunk.byte_range();
    start..start.saturating_add(len)
}

impl Length for SourceBytes {
    fn len(&self) -> u64 {
        self.source.len()
    }
}

impl ChunkReader for SourceBytes {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        if self.source.window().is_none() {
            return Ok(Box::new(self.range(start, self.source.len())?.reader()));
        }
        Ok(Box::new(Windows { bytes: self.clone(), at: start, step: FIRST_WINDOW, window: Bytes::new() }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).ok_or_else(|| ParquetError::EOF("a range past 2^64".to_owned()))?;
        self.range(start, end)
    }
}

/// Bytes that are read at first from a place of a file that is not mapped: the crate reads the head of a page so, of
/// some hundred bytes, and the page itself by its length.
const FIRST_WINDOW: u64 = 16 << 10;

/// A file read from a place on, by windows that grow.
struct Windows {
    bytes: SourceBytes,
    at: u64,
    step: u64,
    window: Bytes,
}

impl Read for Windows {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.window.is_empty() {
            let source = &self.bytes.source;
            let end = self.at.saturating_add(self.step).min(source.len());
            let read = source.read(self.at.min(end)..end);
            self.window = read.map_err(|error| std::io::Error::other(self.bytes.failed(error)))?;
            self.at = end;
            self.step = self.step.saturating_mul(2).min(source.window().unwrap_or(FIRST_WINDOW).max(FIRST_WINDOW));
        }
        let len = into.len().min(self.window.len());
        let (Some(into), some) = (into.get_mut(..len), self.window.split_to(len)) else { return Ok(0) };
        into.copy_from_slice(&some);
        Ok(len)
    }
}

/// Runs the parquet crate's code: its errors and its panics both become errors that name the file.
pub(super) fn guarded<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    bytes: &SourceBytes,
    read: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| bytes.failure().unwrap_or_else(|| damaged(error, bytes))),
        Err(panic) => {
            let text = panic_message(panic.as_ref());
            let memory = out_of_memory("a read", text).map(|error| error.in_file(bytes.source.path()));
            Err(memory.unwrap_or_else(|| damaged(text, bytes)))
        }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>, bytes: &SourceBytes) -> Error {
    Error::invalid_table("cannot read the Parquet file: it is damaged, or uses an unsupported feature")
        .caused_by(error)
        .in_file(bytes.source.path())
}
