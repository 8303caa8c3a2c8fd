//! Writes records as Avro data blocks (`HoodieAvroDataBlock`); [`crate::log::content::avro_data`] has the layout of the
//! content.
//!
//! Records are encoded in batches and then framed one by one, so that a block ends between two records at its size
//! limit.

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;

use super::block_bytes::{BlockBuilder, BlockBytes, BlockFrame};
use super::block_header::{BlockHeader, write_len};
use crate::log::layout::BlockType;
use mortice_avro::{Encoder, Schema};
use mortice_base::error::{Error, Result};

const LOG_BLOCK_VERSION: i32 = 3;
/// The offset of the record count in the content.
const COUNT_AT: usize = 4;

/// Returns blocks of the records, in order; one empty block if there are no records. A block has at most
/// `max_block_bytes` of content, unless a single record is larger.
///
/// # Errors
/// `InvalidArgument` for records that do not fit the schema (see [`Encoder`]), and for positions in the header if their
/// number is not that of the records, or if the records take several blocks.
pub fn avro_blocks(
    columns: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    schema: &Schema,
    header: &BlockHeader,
    max_block_bytes: usize,
) -> Result<Vec<BlockBytes>> {
    let encoder = Encoder::new(schema, columns)?;
    let header = header.clone().with_schema(schema.json());
    let mut blocks = Vec::new();
    let mut block = AvroBlock::new(&header)?;
    let (mut datums, mut ends) = (Vec::new(), Vec::new());
    for batch in batches {
        datums.clear();
        ends.clear();
        encoder.encode(&batch?, &mut datums, &mut ends)?;
        let mut start = 0;
        for end in &ends {
            let datum = datums.get(start..*end);
            let datum = datum.ok_or_else(|| Error::internal("an encoded record beyond the encoded bytes"))?;
            start = *end;
            if block.is_full(datum.len(), max_block_bytes) {
                blocks.push(std::mem::replace(&mut block, AvroBlock::new(&header)?).finish()?);
            }
            block.push(datum)?;
        }
    }
    let in_last = block.records;
    blocks.push(block.finish()?);
    if blocks.len() > 1 && header.has_positions() {
        return Err(Error::invalid_argument(format!(
            "RECORD_POSITIONS are those of the records of one block, but the records fill {}: write fewer at a time, or allow more than {max_block_bytes} bytes a block",
            blocks.len()
        )));
    }
    header.check_positions(in_last)?;
    Ok(blocks)
}

/// Returns a block of already encoded records. The header has their schema.
///
/// # Errors
/// `InvalidArgument` for a block of 2 GiB or more.
pub fn avro_block_of_datums(datums: &[Vec<u8>], header: &BlockHeader) -> Result<BlockBytes> {
    let mut block = AvroBlock::new(header)?;
    datums.iter().try_for_each(|datum| block.push(datum))?;
    block.finish()
}

/// Returns the frame of a block of already encoded records, of a type with this layout (Avro data, CDC data):
/// `datum_bytes` in total. The caller writes the datums between its two parts, each after its length as a big-endian
/// int.
///
/// # Errors
/// `InvalidArgument` for a block of 2 GiB or more, and for positions whose number is not that of the records.
pub fn avro_block_frame(
    kind: BlockType,
    header: &BlockHeader,
    records: usize,
    datum_bytes: usize,
) -> Result<BlockFrame> {
    header.check_positions(records)?;
    let mut begun = LOG_BLOCK_VERSION.to_be_bytes().to_vec();
    write_len(&mut begun, records, "records")?;
    let lengths = records.saturating_mul(4);
    let content = begun.len().saturating_add(lengths).saturating_add(datum_bytes);
    BlockFrame::new(kind, header, &begun, content)
}

/// A block to which records are added.
struct AvroBlock {
    block: BlockBuilder,
    records: usize,
}

impl AvroBlock {
    fn new(header: &BlockHeader) -> Result<Self> {
        let mut block = BlockBuilder::new(BlockType::AvroData, header)?;
        let content = block.content();
        content.extend(LOG_BLOCK_VERSION.to_be_bytes());
        content.extend(0_i32.to_be_bytes());
        Ok(Self { block, records: 0 })
    }

    fn is_full(&self, datum: usize, max_block_bytes: usize) -> bool {
        self.records > 0 && self.block.content_len().saturating_add(4).saturating_add(datum) > max_block_bytes
    }

    fn push(&mut self, datum: &[u8]) -> Result<()> {
        let content = self.block.content();
        write_len(content, datum.len(), "bytes of a record")?;
        content.extend(datum);
        self.records += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<BlockBytes> {
        let count = i32::try_from(self.records).map_err(|_| {
            Error::invalid_argument(format!(
                "a log block cannot have {} records (at most 2^31 - 1); write fewer at a time",
                self.records
            ))
        })?;
        self.block.put_i32(COUNT_AT, count);
        self.block.finish(Some(self.records as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};

    use super::*;
    use mortice_base::ErrorKind;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"v","type":["null","int"],"default":null}]}"#;

    fn records(keys: &[&str], values: &[Option<i32>]) -> RecordBatch {
        let values = Int32Array::from(values.to_vec());
        RecordBatch::try_from_iter([
            ("k", Arc::new(StringArray::from(keys.to_vec())) as arrow_array::ArrayRef),
            ("v", Arc::new(values)),
        ])
        .unwrap()
    }

    fn blocks(batches: &[RecordBatch], header: &BlockHeader, limit: usize) -> Result<Vec<BlockBytes>> {
        let schema = Schema::parse(SCHEMA).unwrap();
        let columns = records(&[], &[]).schema();
        avro_blocks(&columns, &mut batches.iter().cloned().map(Ok), &schema, header, limit)
    }

    fn header() -> BlockHeader {
        BlockHeader::new(&"20240101000000001".into())
    }

    /// As written by Hudi 1.2.0.
    #[test]
    fn a_block_is_byte_for_byte_hudis() {
        let mut expected = b"#HUDI#\0\0\0\0\0\0\0\xce\0\0\0\x01\0\0\0\x03\0\0\0\x02".to_vec();
        expected.extend(b"\0\0\0\0\0\0\0\x1120240101000000001\0\0\0\x02\0\0\0\x76");
        expected.extend(SCHEMA.as_bytes());
        expected.extend(b"\0\0\0\0\0\0\0\x17\0\0\0\x03\0\0\0\x02\0\0\0\x04\x02\x61\x02\x02\0\0\0\x03\x02\x62\x00");
        expected.extend(b"\0\0\0\0\0\0\0\0\0\0\0\xd4");
        assert_eq!(expected.len(), 220);
        let one = blocks(&[records(&["a", "b"], &[Some(1), None])], &header(), 1 << 20).unwrap();
        assert_eq!((one.len(), one[0].records(), one[0].bytes()), (1, Some(2), &expected[..]));
        let in_two_batches = [records(&["a"], &[Some(1)]), records(&["b"], &[None])];
        assert_eq!(blocks(&in_two_batches, &header(), 1 << 20).unwrap(), one);
    }

    #[test]
    fn a_frame_is_that_of_a_block() {
        let one = blocks(&[records(&["a", "b"], &[Some(1), None])], &header(), 1 << 20).unwrap();
        let frame = avro_block_frame(BlockType::AvroData, &header().with_schema(SCHEMA), 2, 7).unwrap();
        let datums = b"\0\0\0\x04\x02\x61\x02\x02\0\0\0\x03\x02\x62\x00";
        assert_eq!([&frame.head[..], datums, &frame.tail].concat(), one[0].bytes());
        assert!(avro_block_frame(BlockType::AvroData, &header(), 2, i32::MAX as usize).is_err());
    }

    #[test]
    fn blocks_end_where_their_limit_is_reached() {
        let batch = records(&["a", "b", "c"], &[None; 3]);
        // The head of 8 bytes, and 7 bytes per record.
        for (limit, counts) in [(0, &[1, 1, 1][..]), (21, &[1, 1, 1]), (22, &[2, 1]), (29, &[3])] {
            let found = blocks(std::slice::from_ref(&batch), &header(), limit).unwrap();
            let found: Vec<u64> = found.iter().map(|block| block.records().unwrap()).collect();
            assert_eq!(found, counts, "{limit}");
        }
        assert_eq!(blocks(&[], &header(), 0).unwrap()[0].records(), Some(0));
    }

    #[test]
    fn positions_hold_the_records_together() {
        let extras = [
            ("RECORD_POSITIONS", "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA="),
            ("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "1"),
        ];
        let extras: BTreeMap<_, _> = extras.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let header = header().with_extras(&extras).unwrap();
        let batch = [records(&["a", "b"], &[None; 2])];
        assert_eq!(blocks(&batch, &header, 100).unwrap().len(), 1);
        let error = blocks(&batch, &header, 8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("RECORD_POSITIONS"), "{error}");
    }

    #[test]
    fn records_that_the_schema_does_not_take_are_no_block() {
        let keys = StringArray::from(vec![Some("a"), None]);
        let batch = RecordBatch::try_from_iter([("k", Arc::new(keys) as arrow_array::ArrayRef)]).unwrap();
        let schema = Schema::parse(SCHEMA).unwrap();
        let batches = &mut std::iter::once(Ok(batch.clone()));
        let error = avro_blocks(&batch.schema(), batches, &schema, &header(), 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}
