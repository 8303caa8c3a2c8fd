//! The contract between whoever reads logs and the merger.

use arrow_array::{Array, BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::ordering::OrderingColumn;
use crate::error::{Error, Result};
use crate::filter::KeyFilter;

/// A log record: the source it lies in, and its place there, whose meaning is the source's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Ordinal of the source.
    pub source: u32,
    /// Place of the record in it.
    pub at: u32,
}

/// Whether records come from data blocks or are deletes of delete blocks: the two merge by different rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Rows of a data block.
    Data,
    /// Keys of a delete block.
    Delete,
}

/// Keys, ordering values and delete marks of consecutive records of one source, in log order. All of one length.
pub struct LogBatch<'a> {
    /// Data or deletes.
    pub kind: LogKind,
    /// Where each key lies in the source's bytes: `offset << 32 | length`.
    pub keys: &'a UInt64Array,
    /// What they are ordered by.
    pub ordering: &'a OrderingColumn,
    /// Rows that are deletes; none where no row is one. Of a delete block every row is.
    pub deleted: Option<&'a BooleanArray>,
    /// Each record's place, for [`RowRef::at`].
    pub places: &'a [u32],
}

impl LogBatch<'_> {
    /// Checks once what the loops over the records rely on: that all columns have one length.
    ///
    /// # Errors
    /// `Internal` if a column is shorter or longer than the others.
    pub fn check(&self) -> Result<()> {
        let records = self.places.len();
        let deleted = self.deleted.map_or(records, Array::len);
        let ordering = self.ordering.rows().unwrap_or(records);
        if [self.keys.len(), deleted, ordering] == [records; 3] {
            return Ok(());
        }
        Err(Error::internal(format_args!(
            "{records} log records with {} keys, {deleted} delete flags and {ordering} ordering values",
            self.keys.len(),
        )))
    }
}

/// Takes the records of a log, source by source.
pub trait LogSink {
    /// Makes known the bytes in which the keys of a source lie; the source's ordinal, for [`RowRef::source`].
    fn add_source(&mut self, bytes: Bytes) -> Result<u32>;

    /// Takes records of a source, in log order.
    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()>;

    /// The keys whose data records count; deletes are never filtered, as in Hudi.
    fn wanted(&self) -> &KeyFilter;
}

/// Log rows that were fetched: batches of one schema, and for each row asked for (batch, row).
pub struct Fetched {
    /// The rows, in any order.
    pub batches: Vec<RecordBatch>,
    /// Where each row asked for is.
    pub picks: Vec<(usize, usize)>,
}

/// Fetches the rows that won.
pub trait Winners {
    /// The schema of the rows.
    fn schema(&self) -> SchemaRef;

    /// Fetches rows, each decoded once, unwanted columns never.
    fn fetch(&mut self, rows: &[RowRef]) -> Result<Fetched>;
}
