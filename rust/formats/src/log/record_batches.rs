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
        let left = if block_records::has_rows(block) {
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

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::log::writer::{BlockHeader, hfile_block};
    use crate::log::{ForwardScan, LogFile};
    use mortice_storage::MemoryFile;

    const MIB: usize = 1 << 20;

    /// HFile blocks are decompressed as a whole; their records are decoded batch by batch.
    #[test]
    fn batches_of_large_records_stay_within_the_limit_and_a_row() {
        let schema =
            r#"{"type":"record","name":"r","fields":[{"name":"key","type":"string"},{"name":"s","type":"string"}]}"#;
        let record = |text: &str| {
            let mut bytes = vec![0];
            let mut left = (text.len() as u64) << 1;
            while left >= 0x80 {
                bytes.push((left & 0x7f) as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
            [bytes, text.as_bytes().to_vec()].concat()
        };
        let records: Vec<(String, Vec<u8>)> = (0..24)
            .map(|at| (format!("{at:03}"), record(&"v".repeat(if at % 4 == 3 { 7 } else { MIB + at }))))
            .collect();
        let records_of = records.iter().map(|(key, record)| (key.as_str(), record.as_slice()));
        let block = hfile_block(records_of, schema, &BlockHeader::new(&"1".into())).unwrap();
        let source: Arc<dyn FileSource> = Arc::new(MemoryFile::new("log", block.bytes().to_vec()));
        let found = ForwardScan::new(Arc::clone(&source)).next().unwrap().unwrap();
        let limit = BatchLimit::with_rows(1000).with_bytes(3 * MIB);
        let (_, batches) = LogFile::new(source).record_batches(&found, limit).unwrap();
        let (mut rows, mut count) = (0, 0);
        for batch in batches {
            let batch = batch.unwrap();
            let texts = batch.column(1).as_string::<i32>();
            let bytes: usize = texts.iter().flatten().map(str::len).sum();
            assert!(bytes <= 4 * MIB + 100, "{bytes} bytes in {} rows", batch.num_rows());
            rows += batch.num_rows();
            count += 1;
        }
        assert_eq!(rows, 24);
        assert!((5..=8).contains(&count), "{count}");
    }
}
