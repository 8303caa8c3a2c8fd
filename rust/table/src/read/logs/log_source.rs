//! The rows of log blocks whose keys are loaded, and how they are fetched.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::read::memory::SliceMemory;
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::FieldNames;
use mortice_formats::log::content::parquet_data;
use mortice_formats::log::{Block, BlockRef};
use mortice_storage::FileSource;

/// The number of rows of a Parquet block that are decoded at a time, as one source of the merge.
const PARQUET_ROWS: usize = 64 * 1024;

/// One source of the merge.
pub(in crate::read) struct LogSource {
    pub(in crate::read) rows: RowSource,
    pub(in crate::read) location: BlockLocation,
}

/// The location of rows.
pub(in crate::read) enum RowSource {
    /// Avro datums in these bytes, decoded by the program with that ordinal.
    Avro { content: Bytes, program: usize },
    /// Rows of a Parquet block, by its ordinal, from a row on.
    Parquet { block: usize, first: u64 },
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
/// fetched, the projected columns of the whole block are decoded and kept. Batches of other columns have other rows,
/// so a row is found by its number in the block.
pub(in crate::read) struct ParquetBlock {
    file: Arc<dyn FileSource>,
    content: Range<u64>,
    table: Schema,
    names: FieldNames,
    projected: SchemaRef,
    limit: BatchLimit,
    decoded: Option<DecodedBlock>,
}

impl ParquetBlock {
    /// `table` is the schema of the query, `names` are the column names in the block.
    pub(in crate::read) fn new(
        file: Arc<dyn FileSource>,
        found: &BlockRef,
        (table, names): (&Schema, &FieldNames),
        projected: SchemaRef,
        memory_limit: u64,
    ) -> Self {
        let content = found.block.content.clone();
        Self {
            file,
            content,
            table: table.clone(),
            names: names.clone(),
            projected,
            limit: BatchLimit::within(PARQUET_ROWS, memory_limit),
            decoded: None,
        }
    }

    /// Returns batches of the columns `wanted`.
    pub(in crate::read) fn batches(&self, wanted: &SchemaRef) -> Result<mortice_formats::base_file::BaseBatches> {
        parquet_data::batches(&self.file, &self.content, wanted, (&self.table, &self.names), self.limit)
    }

    /// Returns the bytes of the largest row about; 0 if all rows are small.
    pub(in crate::read) fn most_row_bytes(&self) -> Result<usize> {
        let names = (&self.table, &self.names);
        let rows = parquet_data::least_batch_rows(&self.file, &self.content, &self.projected, names, self.limit)?;
        Ok(if rows < self.limit.rows() { self.limit.bytes() / rows.max(1) } else { 0 })
    }

    /// Returns the projected columns of the batch that has a row, its ordinal, and the row in it.
    pub(in crate::read) fn place(&mut self, row: u64, memory: &mut SliceMemory) -> Result<(usize, usize)> {
        let decoded = match &mut self.decoded {
            Some(decoded) => decoded,
            None => {
                let batches = memory.batches(self.batches(&self.projected)?)?;
                self.decoded.insert(DecodedBlock::new(batches))
            }
        };
        decoded.place(row).ok_or_else(fewer_rows)
    }

    /// Returns the projected columns of a decoded batch.
    pub(in crate::read) fn batch(&self, batch: usize) -> Result<RecordBatch> {
        let batches = self.decoded.as_ref().map(|decoded| &decoded.batches);
        batches.and_then(|batches| batches.get(batch)).cloned().ok_or_else(fewer_rows)
    }
}

/// The batches of a block, and the number of the row behind each.
struct DecodedBlock {
    batches: Vec<RecordBatch>,
    ends: Vec<u64>,
}

impl DecodedBlock {
    fn new(batches: Vec<RecordBatch>) -> Self {
        let mut end = 0_u64;
        let ends = batches.iter().map(|batch| {
            end = end.saturating_add(batch.num_rows() as u64);
            end
        });
        let ends = ends.collect();
        Self { batches, ends }
    }

    /// The batch that has a row, and the row in it.
    fn place(&self, row: u64) -> Option<(usize, usize)> {
        let batch = self.ends.partition_point(|end| *end <= row);
        let end = self.ends.get(batch)?;
        let start = end.saturating_sub(self.batches.get(batch)?.num_rows() as u64);
        Some((batch, usize::try_from(row.saturating_sub(start)).ok()?))
    }
}

#[cold]
fn fewer_rows() -> Error {
    Error::corrupt("invalid parquet block: it had more rows when it was first read")
}
