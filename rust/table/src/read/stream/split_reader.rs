//! Reads one split: the rows of its slice, or the changes that a commit made to it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::read::changes::change_reader::ChangeReader;
use crate::read::missing_file::explained;
use crate::read::report::SharedReport;
use crate::read::slice::file_slice::SliceReader;
use crate::split::{Query, Split};
use mortice_base::error::Result;
use mortice_storage::Storage;

/// Reads a split in batches. Ends after an error.
pub struct SplitReader {
    report: SharedReport,
    query: Arc<Query>,
    reader: Reader,
}

enum Reader {
    Slice(Box<SliceReader>),
    Changes(Box<ChangeReader>),
}

impl SplitReader {
    /// Plans the read of a split; no file is opened yet.
    pub fn new(split: Split, report: SharedReport) -> Result<Self> {
        let query = Arc::clone(&split.query);
        let reader = if split.change.is_some() {
            Reader::Changes(Box::new(ChangeReader::new(split, report.clone())?))
        } else {
            Reader::Slice(Box::new(SliceReader::new(split, report.clone())?))
        };
        Ok(Self { report, query, reader })
    }

    /// Sets a memory limit in bytes instead of that of the split: its share, if several are read concurrently.
    #[must_use]
    pub fn within(self, memory_limit: u64) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.within(memory_limit))),
            Reader::Changes(reader) => Reader::Changes(Box::new(reader.within(memory_limit))),
        };
        Self { reader, ..self }
    }

    /// Sets the number of additional threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.with_threads(threads))),
            changes @ Reader::Changes(_) => changes,
        };
        Self { reader, ..self }
    }

    /// Reads a slice from a storage that is already open.
    #[must_use]
    pub fn with_storage(self, storage: Arc<dyn Storage>) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.with_storage(storage))),
            changes @ Reader::Changes(_) => changes,
        };
        Self { reader, ..self }
    }

    /// Starts to fetch the bytes that a read of a slice needs first, on remote storage. An error here occurs again, and
    /// is returned, when it is read.
    pub(in crate::read) fn begin(&mut self) {
        if let Reader::Slice(reader) = &mut self.reader {
            let _ = reader.begin();
        }
    }

    /// Returns the schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.reader {
            Reader::Slice(reader) => reader.schema(),
            Reader::Changes(reader) => reader.schema(),
        }
    }
}

impl Iterator for SplitReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.reader {
            Reader::Slice(reader) => reader.next(),
            Reader::Changes(reader) => reader.next(),
        };
        if let Some(Ok(batch)) = &next {
            self.report.edit().rows += batch.num_rows() as u64;
        }
        next.map(|next| next.map_err(|error| explained(error, &self.query)))
    }
}
