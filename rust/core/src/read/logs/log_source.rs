//! Blocks of a slice's logs once their keys are known: where the rows of each lie, and how they are fetched.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::error::{Error, Result};
use crate::log::content::parquet_data;
use crate::log::{Block, BlockRef};
use crate::names::FieldNames;
use crate::read::memory::SliceMemory;
use crate::storage::Source;

/// Rows of a parquet block that are decoded at a time, and are a source of the merger.
pub(in crate::read) const PARQUET_ROWS: usize = 64 * 1024;

/// What the merger knows as one source.
pub(in crate::read) struct LogSource {
    pub(in crate::read) rows: Rows,
    pub(in crate::read) place: BlockPlace,
}

/// Where rows lie.
pub(in crate::read) enum Rows {
    /// Avro datums in these bytes, decoded by the program of that ordinal.
    Avro { content: Bytes, program: usize },
    /// A batch of a parquet block, both by ordinal.
    Parquet { block: usize, batch: usize },
    /// Deleted keys: what is known of them, where they are delivered.
    Deletes(Option<RecordBatch>),
}

/// Where a block is, for messages.
#[derive(Clone)]
pub(in crate::read) struct BlockPlace {
    path: String,
    content_at: u64,
    index: u64,
    instant: Option<String>,
    /// Whether the bytes that are read are not the file's own, so that offsets in them say nothing.
    unpacked: bool,
}

impl BlockPlace {
    pub(in crate::read) fn of(file: &dyn Source, block: &Block, unpacked: bool) -> Self {
        Self {
            path: file.path().to_owned(),
            content_at: block.content.start,
            index: block.index,
            instant: block.header.instant_time().map(|instant| instant.into_owned()),
            unpacked,
        }
    }

    /// The instant that wrote the block.
    pub(in crate::read) fn instant(&self) -> Option<&str> {
        self.instant.as_deref()
    }

    pub(in crate::read) fn mark(&self, error: Error) -> Error {
        let error = if self.unpacked { error.moved_to(self.content_at) } else { error.offset_from(self.content_at) };
        let error = error.in_block(self.index).in_file(&self.path);
        match &self.instant {
            Some(instant) => error.at_instant(instant),
            None => error,
        }
    }
}

/// A parquet block. The rows that win are seldom next to each other, and parquet cannot be decoded row by row: at the first row
/// that is fetched, the carried columns of the whole block are decoded and kept.
pub(in crate::read) struct ParquetBlock {
    file: Arc<dyn Source>,
    content: Range<u64>,
    names: FieldNames,
    carried: SchemaRef,
    decoded: Option<Vec<RecordBatch>>,
}

impl ParquetBlock {
    /// `names` is what the block calls the columns.
    pub(in crate::read) fn new(
        file: Arc<dyn Source>,
        found: &BlockRef,
        names: &FieldNames,
        carried: SchemaRef,
    ) -> Self {
        Self { file, content: found.block.content.clone(), names: names.clone(), carried, decoded: None }
    }

    /// Batches of `wanted` columns, cut where those of every other reading of the block are.
    pub(in crate::read) fn batches(&self, wanted: &SchemaRef) -> Result<crate::base_file::Batches> {
        parquet_data::batches(&self.file, &self.content, wanted, &self.names, PARQUET_ROWS)
    }

    /// The carried columns of a batch.
    pub(in crate::read) fn batch(&mut self, batch: usize, memory: &mut SliceMemory) -> Result<RecordBatch> {
        let decoded = match &mut self.decoded {
            Some(decoded) => decoded,
            None => {
                let batches = memory.batches(self.batches(&self.carried)?)?;
                self.decoded.insert(batches)
            }
        };
        decoded.get(batch).cloned().ok_or_else(|| Error::corrupt("a parquet block gave fewer rows when read again"))
    }
}
