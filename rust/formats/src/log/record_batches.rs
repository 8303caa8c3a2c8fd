//! The records of one data block in batches: one batch is in memory at a time, and its memory is reused for the next.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::block::Block;
use super::block_records;
use super::content::avro_data::RecordFrames;
use super::content::parquet_data;
use super::layout::BlockType;
use crate::base_file::BaseBatches;
use crate::filter::KeyFilter;
use mortice_avro::{self as avro, ArrowMapping, Datum, Decoder, Schema};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_base::names::FieldNames;
use mortice_storage::FileSource;

/// Batches of the records of a block, in order. Offsets of errors are relative to the block's content. Ends after an
/// error.
pub(super) struct RecordBatches {
    schema: SchemaRef,
    /// `None` after the last batch.
    left: Option<RemainingRecords>,
}

enum RemainingRecords {
    Datums(RecordScan),
    Rows(BaseBatches),
}

/// Avro records, found and decoded in batches.
struct RecordScan {
    content: Bytes,
    frames: RecordFrames<Bytes>,
    found: Vec<Datum>,
    decoder: Decoder,
    limit: BatchLimit,
    /// The type of the block.
    kind: BlockType,
}

impl RecordBatches {
    /// Returns the records of a data block in batches within a limit.
    pub(super) fn new(file: &Arc<dyn FileSource>, block: &Block, limit: BatchLimit) -> Result<Self> {
        let (kind, schema) = block_records::kind_and_schema(block)?;
        let types = Arc::new(avro::arrow_schema(&schema, ArrowMapping::File)?);
        let left = if kind == BlockType::ParquetData {
            Some(RemainingRecords::Rows(parquet_data::batches(
                file,
                &block.content,
                &types,
                (&schema, FieldNames::identity()),
                limit,
            )?))
        } else {
            let content = block_records::avro_content(file, block, kind, &schema, &KeyFilter::All)?;
            let scan = || RecordScan::new(content.clone(), &schema, limit, kind).map(RemainingRecords::Datums);
            (!content.is_empty()).then(scan).transpose()?
        };
        Ok(Self { schema: types, left })
    }

    /// Returns the schema of all batches: that of the block, in the units of the file.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.left.as_mut()? {
            RemainingRecords::Datums(scan) => scan.next().transpose(),
            RemainingRecords::Rows(batches) => batches.next(),
        };
        if !matches!(next, Some(Ok(_))) {
            self.left = None;
        }
        next
    }
}

impl RecordScan {
    fn new(content: Bytes, schema: &Schema, limit: BatchLimit, kind: BlockType) -> Result<Self> {
        let decoder = block_records::decoder(schema)?;
        let frames = RecordFrames::new(content.clone()).map_err(|error| block_records::in_file(error, kind))?;
        Ok(Self { content, frames, found: Vec::new(), decoder, limit, kind })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.frames.left() == 0 {
            return Ok(None);
        }
        self.decode().map(Some).map_err(|error| block_records::in_file(error, self.kind))
    }

    fn decode(&mut self) -> Result<RecordBatch> {
        self.found.clear();
        self.frames.next_within(self.limit, &mut self.found)?;
        self.decoder.decode(&self.content, &self.found)?;
        self.decoder.finish()
    }
}
