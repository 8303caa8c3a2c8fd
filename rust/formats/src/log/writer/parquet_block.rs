//! Writes records as a Parquet data block (`HoodieParquetDataBlock`): the content is a complete Parquet file like those
//! of Hudi's Avro writer, with its schema, and `parquet.avro.schema`, `writer.model.name` and
//! `org.apache.spark.version` in the file's metadata. Without records it is a file without rows: Hudi would write no
//! content, and fails when it reads such a block.
//!
//! The rules for records are the same for both types of block: defaults, casts and errors.

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use parquet::file::properties::WriterProperties;

use super::block_bytes::{BlockBuilder, BlockBytes};
use super::block_header::BlockHeader;
use crate::avro_parquet::{Dictionaries, ListStructure, ParquetCodec, ParquetColumns, ParquetWriter, ROW_GROUP_BYTES};
use crate::log::layout::BlockType;
use mortice_avro::Schema;
use mortice_base::error::Result;

/// The parquet crate's limit of a dictionary.
const DICTIONARIES: Dictionaries = Dictionaries::WhereTheyPay(1 << 20);

/// Returns one block of the records, in order.
///
/// # Errors
/// `InvalidArgument` for records that do not fit the schema (see [`mortice_avro::Encoder`]); `Unsupported`, with the
/// field, for types that Parquet cannot represent; `InvalidArgument` for a block of 2 GiB or more.
pub fn parquet_block(
    columns: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    schema: &Schema,
    header: &BlockHeader,
    codec: ParquetCodec,
) -> Result<BlockBytes> {
    let header = header.clone().with_schema(schema.json());
    let mut block = BlockBuilder::new(BlockType::ParquetData, &header)?;
    let mut stored = ParquetColumns::new(schema, ListStructure::ThreeLevels)?;
    stored.check(&columns.clone().into())?;
    let mut count = 0_usize;
    let mut writer =
        ParquetWriter::new(Vec::new(), &stored, WriterProperties::builder(), (codec, DICTIONARIES), ROW_GROUP_BYTES)?;
    for batch in batches {
        let batch = stored.convert(&batch?)?;
        writer.write(&batch)?;
        count += batch.num_rows();
    }
    header.check_positions(count)?;
    writer.finish()?;
    block.content().extend_from_slice(writer.output()?);
    block.finish(Some(count as u64))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Decimal128Array, Int64Array, StringArray};
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use mortice_base::ErrorKind;

    fn block(schema: &str, batch: &RecordBatch, codec: ParquetCodec) -> Result<BlockBytes> {
        let schema = Schema::parse(schema)?;
        let header = BlockHeader::new(&"1".into());
        parquet_block(&batch.schema(), &mut std::iter::once(Ok(batch.clone())), &schema, &header, codec)
    }

    const SCHEMA: &str = r#"{"type":"record","name":"r","namespace":"h","fields":[{"name":"k","type":"string"},
        {"name":"d","type":["null",{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}]},
        {"name":"l","type":{"type":"array","items":["null","long"]},"default":[1]}]}"#;

    fn batch() -> RecordBatch {
        let amounts = Decimal128Array::from(vec![Some(-129), None]).with_precision_and_scale(9, 2).unwrap();
        let keys = Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
        RecordBatch::try_from_iter([("k", keys), ("d", Arc::new(amounts) as ArrayRef)]).unwrap()
    }

    /// Returns the Parquet file in a block.
    fn file(block: &BlockBytes) -> SerializedFileReader<Bytes> {
        let bytes = block.bytes();
        let start = bytes.windows(4).position(|four| four == b"PAR1").unwrap();
        SerializedFileReader::new(Bytes::copy_from_slice(&bytes[start..bytes.len() - 12])).unwrap()
    }

    #[test]
    fn the_content_is_a_file_as_hudis_avro_writer_makes_it() {
        for (codec, compression) in
            [(ParquetCodec::Gzip, "GZIP"), (ParquetCodec::Uncompressed, "UNCOMPRESSED"), (ParquetCodec::Zstd, "ZSTD")]
        {
            let block = block(SCHEMA, &batch(), codec).unwrap();
            assert_eq!((block.kind(), block.records()), (BlockType::ParquetData, Some(2)));
            let file = file(&block);
            let about = file.metadata().file_metadata();
            let pairs: Vec<_> = about
                .key_value_metadata()
                .unwrap()
                .iter()
                .map(|one| (one.key.as_str(), one.value.as_deref()))
                .collect();
            let of_spark = ("org.apache.spark.version", Some("3.5.0 (mortice)"));
            assert_eq!(
                pairs[..3],
                [("parquet.avro.schema", Some(SCHEMA)), ("writer.model.name", Some("avro")), of_spark]
            );
            assert_eq!(pairs[3..].iter().map(|pair| pair.0).collect::<Vec<_>>(), ["mortice.footer.crc32"]);
            let column = file.metadata().row_group(0).column(1);
            assert!(column.compression().to_string().starts_with(compression));
            let rows: Vec<String> = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
            assert_eq!(rows, [r#"{k: "a", d: -1.29, l: [1]}"#, r#"{k: "b", d: null, l: [1]}"#]);
            assert_eq!(about.schema_descr().column(1).physical_type(), parquet::basic::Type::BYTE_ARRAY);
        }
    }

    #[test]
    fn without_records_there_is_a_file_of_no_rows() {
        let block = block(SCHEMA, &batch().slice(0, 0), ParquetCodec::Gzip).unwrap();
        assert_eq!(block.records(), Some(0));
        let file = file(&block);
        assert_eq!(file.metadata().file_metadata().num_rows(), 0);
        assert_eq!(file.metadata().file_metadata().schema_descr().num_columns(), 3);
    }

    #[test]
    fn the_same_records_are_refused_as_in_avro_blocks() {
        let numbers = RecordBatch::try_from_iter([("k", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
        let error = block(SCHEMA, &numbers, ParquetCodec::Gzip).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("field k: a column of type Int64"), "{error}");
        let union = r#"{"type":"record","name":"r","fields":[{"name":"k","type":["long","string"]}]}"#;
        assert_eq!(block(union, &numbers, ParquetCodec::Gzip).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
