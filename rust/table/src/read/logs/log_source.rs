//! The rows of log blocks whose keys are loaded, and how they are fetched.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::read::memory::SliceMemory;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::FieldNames;
use mortice_formats::log::content::parquet_data;
use mortice_formats::log::{Block, BlockRef};
use mortice_storage::FileSource;

/// The number of rows of a Parquet block that are decoded at a time, as one source of the merge.
pub(in crate::read) const PARQUET_ROWS: usize = 64 * 1024;

/// One source of the merge.
pub(in crate::read) struct LogSource {
    pub(in crate::read) rows: RowSource,
    pub(in crate::read) location: BlockLocation,
}

/// The location of rows.
pub(in crate::read) enum RowSource {
    /// Avro datums in these bytes, decoded by the program with that ordinal.
    Avro { content: Bytes, program: usize },
    /// A batch of a Parquet block, both by ordinal.
    Parquet { block: usize, batch: usize },
    /// Deleted keys, with their values if they are returned.
    Deletes(Option<RecordBatch>),
}

/// The location of a block, for messages.
#[derive(Clone)]
pub(in crate::read) struct BlockLocation {
    path: String,
    content_at: u64,
    index: u64,
    instant: Option<String>,
    /// Whether the bytes are converted ones, so that offsets in them are not offsets of the file.
    converted: bool,
}

impl BlockLocation {
    pub(in crate::read) fn new(file: &dyn FileSource, block: &Block, converted: bool) -> Self {
        Self {
            path: file.path().to_owned(),
            content_at: block.content.start,
            index: block.index,
            instant: block.header.instant_time().map(|instant| instant.into_owned()),
            converted,
        }
    }

    /// The instant that wrote the block.
    pub(in crate::read) fn instant(&self) -> Option<&str> {
        self.instant.as_deref()
    }

    pub(in crate::read) fn mark(&self, error: Error) -> Error {
        let error = if self.converted { error.moved_to(self.content_at) } else { error.offset_from(self.content_at) };
        let error = error.in_block(self.index).in_file(&self.path);
        match &self.instant {
            Some(instant) => error.at_instant(instant),
            None => error,
        }
    }
}

/// A Parquet block. Winning rows are rarely adjacent, and Parquet cannot be decoded row by row: when the first row is
/// fetched, the projected columns of the whole block are decoded and kept.
pub(in crate::read) struct ParquetBlock {
    file: Arc<dyn FileSource>,
    content: Range<u64>,
    table: Schema,
    names: FieldNames,
    projected: SchemaRef,
    decoded: Option<Vec<RecordBatch>>,
}

impl ParquetBlock {
    /// `table` is the schema of the query, `names` are the column names in the block.
    pub(in crate::read) fn new(
        file: Arc<dyn FileSource>,
        found: &BlockRef,
        (table, names): (&Schema, &FieldNames),
        projected: SchemaRef,
    ) -> Self {
        let content = found.block.content.clone();
        Self { file, content, table: table.clone(), names: names.clone(), projected, decoded: None }
    }

    /// Returns batches of the columns `wanted`, with the same boundaries in each read of the block.
    pub(in crate::read) fn batches(&self, wanted: &SchemaRef) -> Result<mortice_formats::base_file::BaseBatches> {
        parquet_data::batches(&self.file, &self.content, wanted, (&self.table, &self.names), PARQUET_ROWS)
    }

    /// Returns the projected columns of a batch.
    pub(in crate::read) fn batch(&mut self, batch: usize, memory: &mut SliceMemory) -> Result<RecordBatch> {
        let decoded = match &mut self.decoded {
            Some(decoded) => decoded,
            None => {
                let batches = memory.batches(self.batches(&self.projected)?)?;
                self.decoded.insert(batches)
            }
        };
        decoded
            .get(batch)
            .cloned()
            .ok_or_else(|| Error::corrupt("invalid parquet block: it had more rows when it was first read"))
    }
}
