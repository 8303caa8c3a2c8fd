//! One split, read: the rows of its slice, or what a commit changed in it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::changes::ChangeReader;
use super::file_slice::SliceReader;
use super::report::SharedReport;
use crate::error::Result;
use crate::plan::Split;
use crate::storage::Place;

/// Reads a split, batch by batch. After an error there is nothing more.
pub struct SplitReader {
    report: SharedReport,
    reader: Reader,
}

enum Reader {
    Slice(Box<SliceReader>),
    Changes(Box<ChangeReader>),
}

impl SplitReader {
    /// Plans the read of a split; no file is opened yet.
    pub fn new(split: Split, report: SharedReport) -> Result<Self> {
        let reader = if split.change.is_some() {
            Reader::Changes(Box::new(ChangeReader::new(split, report.clone())?))
        } else {
            Reader::Slice(Box::new(SliceReader::new(split, report.clone())?))
        };
        Ok(Self { report, reader })
    }

    /// Keeps to so many bytes of memory instead of to what the split says: its share, where several are read at once.
    #[must_use]
    pub fn within(self, memory_limit: u64) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.within(memory_limit))),
            Reader::Changes(reader) => Reader::Changes(Box::new(reader.within(memory_limit))),
        };
        Self { reader, ..self }
    }

    /// With so many threads beside the one that reads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.with_threads(threads))),
            changes @ Reader::Changes(_) => changes,
        };
        Self { reader, ..self }
    }

    /// Reads a slice from a table that is open already.
    #[must_use]
    pub fn in_place(self, place: Arc<dyn Place>) -> Self {
        let reader = match self.reader {
            Reader::Slice(reader) => Reader::Slice(Box::new(reader.in_place(place))),
            changes @ Reader::Changes(_) => changes,
        };
        Self { reader, ..self }
    }

    /// Starts to fetch what a read of a slice needs first, in storage that takes a while. What fails here fails again, with
    /// an error, when it is read.
    pub(super) fn begin(&mut self) {
        if let Reader::Slice(reader) = &mut self.reader {
            let _ = reader.begin();
        }
    }

    /// The schema of every batch.
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
        next
    }
}
