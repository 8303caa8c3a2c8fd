//! The records of one data block, some at a time: what is in memory is one batch, and its memory is used again for the next.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::block::Block;
use super::block_records;
use super::content::avro_data::Frames;
use super::content::parquet_data;
use super::layout::BlockType;
use crate::avro::{self, Datum, Decoder, Schema, Types};
use crate::base_file::Batches;
use crate::error::Result;
use crate::filter::KeyFilter;
use crate::names::FieldNames;
use crate::storage::Source;

/// Batches of the records of a block, in their order; offsets of errors are relative to the block's content. After an error
/// there is nothing more.
pub(super) struct RecordBatches {
    schema: SchemaRef,
    /// None once all were given.
    left: Option<Left>,
}

enum Left {
    Datums(Walk),
    Rows(Batches),
}

/// Avro records that are found and decoded, so many at a time.
struct Walk {
    content: Bytes,
    frames: Frames<Bytes>,
    found: Vec<Datum>,
    decoder: Decoder,
    rows: usize,
    /// What the block is.
    kind: BlockType,
}

impl RecordBatches {
    /// The records of a data block, `rows` in a batch.
    pub(super) fn new(file: &Arc<dyn Source>, block: &Block, rows: usize) -> Result<Self> {
        let (kind, schema) = block_records::kind_and_schema(block)?;
        let types = Arc::new(avro::arrow_schema(&schema, Types::File)?);
        let rows = rows.max(1);
        let left = if kind == BlockType::ParquetData {
            Some(Left::Rows(parquet_data::batches(file, &block.content, &types, FieldNames::identity(), rows)?))
        } else {
            let content = block_records::avro_content(file, block, kind, &schema, &KeyFilter::All)?;
            let walk = || Walk::new(content.clone(), &schema, rows, kind).map(Left::Datums);
            (!content.is_empty()).then(walk).transpose()?
        };
        Ok(Self { schema: types, left })
    }

    /// The schema of every batch: the block's own, in the file's units.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.left.as_mut()? {
            Left::Datums(walk) => walk.next().transpose(),
            Left::Rows(batches) => batches.next(),
        };
        if !matches!(next, Some(Ok(_))) {
            self.left = None;
        }
        next
    }
}

impl Walk {
    fn new(content: Bytes, schema: &Schema, rows: usize, kind: BlockType) -> Result<Self> {
        let decoder = block_records::decoder(schema)?;
        let frames = Frames::new(content.clone()).map_err(|error| block_records::in_file(error, kind))?;
        Ok(Self { content, frames, found: Vec::new(), decoder, rows, kind })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.frames.left() == 0 {
            return Ok(None);
        }
        self.decode().map(Some).map_err(|error| block_records::in_file(error, self.kind))
    }

    fn decode(&mut self) -> Result<RecordBatch> {
        self.found.clear();
        self.frames.next(self.rows, &mut self.found)?;
        self.decoder.decode(&self.content, &self.found)?;
        self.decoder.finish()
    }
}
