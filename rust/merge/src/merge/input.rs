//! What the merge needs of its input: keys, ordering values and delete marks first; rows of winning records later.

use arrow_array::{Array, BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::ordering::OrderingColumn;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// A reference to a log record: its source, and its place there. What a place is depends on the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Ordinal of the source.
    pub source: u32,
    /// Place of the record in it.
    pub at: u32,
}

/// Whether records are rows of data blocks or keys of delete blocks: the two merge by different rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Rows of a data block.
    Data,
    /// Keys of a delete block.
    Delete,
}

/// Keys, ordering values and delete marks of consecutive records of one source, in commit order. All have the same
/// length.
pub struct LogBatch<'a> {
    /// Data or deletes.
    pub kind: LogKind,
    /// Where each key is in the bytes of the source: `offset << 32 | length`.
    pub keys: &'a UInt64Array,
    /// Their ordering values.
    pub ordering: &'a OrderingColumn,
    /// Which records are deletes; `None` if none is. In a delete block all are.
    pub deleted: Option<&'a BooleanArray>,
    /// The place of each record, for [`RowRef::at`].
    pub places: &'a [u32],
}

impl LogBatch<'_> {
    /// Checks once what the loops over the records rely on: that all columns have the same length.
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

/// Takes log records in commit order, source by source: a build side, or a list of every row.
pub trait LogSink {
    /// Adds the bytes that hold the keys of a source. Returns the ordinal of the source, for [`RowRef::source`].
    fn add_source(&mut self, bytes: Bytes) -> Result<u32>;

    /// Adds records of a source, in commit order.
    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()>;

    /// The keys whose data records are taken. Deletes are never filtered, as in Hudi.
    fn wanted(&self) -> &KeyFilter;
}

/// Rows that were fetched: batches of one schema, and for each requested row (batch, row).
pub struct FetchedRows {
    /// The batches; rows are in any order.
    pub batches: Vec<RecordBatch>,
    /// Where each requested row is.
    pub picks: Vec<(usize, usize)>,
}

/// Fetches the rows of winning records.
pub trait RecordFetcher {
    /// The schema of the rows.
    fn schema(&self) -> SchemaRef;

    /// Fetches rows. Each is decoded once, and only the columns of the schema.
    fn fetch(&mut self, rows: &[RowRef]) -> Result<FetchedRows>;
}
