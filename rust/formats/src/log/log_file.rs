//! One log file, independent of a table: its blocks, and their records and deleted keys in the units of the file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::backward::backward;
use super::block::{Block, BlockKind};
use super::block_deletes::deleted_keys;
use super::forward::ForwardScan;
use super::layout::{BlockType, HeaderKey};
use super::position_list::position_list;
use super::positions::positions;
use super::record_batches::RecordBatches;
use super::{block_deletes, block_records};
use crate::base_file::BaseBatches;
use crate::filter::KeyFilter;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_storage::{self as storage, FileSource, StorageOptions};

/// An open log file.
#[derive(Clone)]
pub struct LogFile {
    source: Arc<dyn FileSource>,
}

impl LogFile {
    /// Opens the file at a local path, which is mapped into memory with `mmap`, or at a URI of an object store.
    ///
    /// # Errors
    /// Those of [`storage::open_file`].
    pub fn open(uri: &str, options: &StorageOptions, mmap: bool) -> Result<Self> {
        Ok(Self { source: storage::open_file(uri, options, mmap)? })
    }

    /// Wraps a log file that is already open.
    #[must_use]
    pub fn new(source: Arc<dyn FileSource>) -> Self {
        Self { source }
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Returns true if the file is empty; such a file is valid and has no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Returns the source of the file's bytes.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn FileSource> {
        &self.source
    }

    /// Returns the blocks, first to last or last to first: the same ones in both directions.
    pub fn blocks(&self, reverse: bool) -> Box<dyn Iterator<Item = Result<Block>> + Send> {
        let source = Arc::clone(&self.source);
        if reverse { backward(source) } else { Box::new(ForwardScan::new(source)) }
    }

    /// Returns the first two numbers of an Avro, CDC or delete block's content: log block version, and record count or
    /// byte length. Native logs have none.
    pub fn content_head(&self, block: &Block) -> Result<Option<(i32, i32)>> {
        if block.is_native {
            return Ok(None);
        }
        let BlockKind::Sound(BlockType::AvroData | BlockType::CdcData | BlockType::Delete) = block.kind else {
            return Ok(None);
        };
        block_records::head(&self.source, block)
    }

    /// Returns the record count in a data block.
    pub fn record_count(&self, block: &Block) -> Result<Option<u64>> {
        block_records::count(&self.source, block).map_err(|error| self.mark(block, error))
    }

    /// Returns the records of a data block with required keys: all columns, in the units of the file.
    pub fn records(&self, block: &Block, wanted: &KeyFilter) -> Result<RecordBatch> {
        block_records::read(&self.source, block, wanted).map_err(|error| self.mark(block, error))
    }

    /// Returns the records of a data block within a limit, and the schema of the batches. One batch is in memory
    /// at a time, for any size of the block.
    pub fn record_batches(&self, block: &Block, limit: BatchLimit) -> Result<(SchemaRef, BaseBatches)> {
        let batches = RecordBatches::new(&self.source, block, limit).map_err(|error| self.mark(block, error))?;
        let (schema, file, block) = (batches.schema(), self.clone(), block.clone());
        Ok((schema, Box::new(batches.map(move |batch| batch.map_err(|error| file.mark(&block, error))))))
    }

    /// Returns the keys of a delete block: `record_key`, `partition_path`, `ordering_value` as a string, and
    /// `ordering_type`.
    pub fn deletes(&self, block: &Block) -> Result<RecordBatch> {
        block_deletes::read(&self.source, block).map_err(|error| self.mark(block, error))
    }

    /// Returns the row numbers in the base file that the records (or deleted keys) of a block update, in order; `None`
    /// if the block has no positions.
    pub fn positions(&self, block: &Block) -> Result<Option<Vec<u64>>> {
        block_positions(&self.source, block).map_err(|error| self.mark(block, error))
    }

    fn mark(&self, block: &Block, error: Error) -> Error {
        let error = error.offset_from(block.content.start).in_block(block.index).in_file(self.source.path());
        match block.header.instant_time() {
            Some(instant) => error.at_instant(instant),
            None => error,
        }
    }
}

/// Like [`LogFile::positions`]; offsets of errors are relative to the block's content. Those of a native log are in the
/// order of its records, those of other blocks ascend.
pub fn block_positions(file: &Arc<dyn FileSource>, block: &Block) -> Result<Option<Vec<u64>>> {
    let Some(value) = block.header.bytes(HeaderKey::RecordPositions) else { return Ok(None) };
    let records = match block.kind {
        BlockKind::Sound(BlockType::Delete) if !block.is_native => deleted_keys(file, block, None)?.deleted.len(),
        _ => usize::try_from(block_records::count(file, block)?.unwrap_or_default()).unwrap_or(usize::MAX),
    };
    let decode = if block.is_native { position_list } else { positions };
    decode(value, records).map(Some).map_err(|error| error.moved_to(0))
}
