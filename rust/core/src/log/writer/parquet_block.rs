//! Records as a parquet data block (`HoodieParquetDataBlock`): the content is a whole parquet file, as Hudi's Avro writer
//! makes it: its schema, and in the file's metadata `parquet.avro.schema` and `writer.model.name`. Without records it is a
//! file of no rows: Hudi itself would write no content then, and fails when it reads such a block.
//!
//! Records are brought into their Avro form and back first. So the same rules say what a schema takes, whichever the kind
//! of block, and defaults, casts and refusals are the same.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::block_bytes::{BlockBuilder, BlockBytes};
use super::block_header::BlockHeader;
use super::parquet_columns::{stored, stored_schema};
use super::parquet_schema::parquet_schema;
use crate::avro::{Datum, Decoder, Encoder, Program, Schema, Types};
use crate::error::{Error, Result};
use crate::log::layout::BlockType;

/// Rows that are brought into their Avro form at a time.
const ROWS: usize = 8192;

/// How pages are compressed. Hudi's default is gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParquetCodec {
    /// Not at all.
    Uncompressed,
    /// Snappy.
    Snappy,
    /// Gzip.
    #[default]
    Gzip,
    /// Zstandard.
    Zstd,
}

impl ParquetCodec {
    /// By its name in `hoodie.parquet.compression.codec`.
    ///
    /// # Errors
    /// `InvalidArgument` for other names.
    pub fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "uncompressed" => Ok(Self::Uncompressed),
            "snappy" => Ok(Self::Snappy),
            "gzip" => Ok(Self::Gzip),
            "zstd" => Ok(Self::Zstd),
            _ => Err(Error::invalid_argument(format!(
                "compression {name:?}; known are gzip, snappy, zstd and uncompressed"
            ))),
        }
    }

    fn compression(self) -> Compression {
        match self {
            Self::Uncompressed => Compression::UNCOMPRESSED,
            Self::Snappy => Compression::SNAPPY,
            Self::Gzip => Compression::GZIP(GzipLevel::default()),
            Self::Zstd => Compression::ZSTD(ZstdLevel::default()),
        }
    }
}

/// One block of the records, in their order.
///
/// # Errors
/// `InvalidArgument` for records that the schema does not take (see [`Encoder`]); `Unsupported`, naming the field, for
/// types that parquet has no form for; `InvalidArgument` for a block of 2 GiB or more.
pub fn parquet_block(
    columns: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    schema: &Schema,
    header: &BlockHeader,
    codec: ParquetCodec,
) -> Result<BlockBytes> {
    let header = header.clone().with_schema(schema.json());
    let mut block = BlockBuilder::new(BlockType::ParquetData, &header)?;
    let mut rows = AvroRows::new(schema, columns)?;
    let mut count = 0_usize;
    let mut writer = new_writer(schema, codec)?;
    for batch in batches {
        let batch = batch?;
        for start in (0..batch.num_rows()).step_by(ROWS) {
            let part = batch.slice(start, ROWS.min(batch.num_rows() - start));
            let part = rows.normalised(&part)?;
            writer.write(&stored(&part, schema)?).map_err(unwritten)?;
            count += part.num_rows();
        }
    }
    header.check_positions(count)?;
    block.content().extend(writer.into_inner().map_err(unwritten)?);
    block.finish(Some(count as u64))
}

fn new_writer(schema: &Schema, codec: ParquetCodec) -> Result<ArrowWriter<Vec<u8>>> {
    let text = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let about = vec![text("parquet.avro.schema", schema.json()), text("writer.model.name", "avro")];
    let properties =
        WriterProperties::builder().set_compression(codec.compression()).set_key_value_metadata(Some(about)).build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(parquet_schema(schema)?);
    ArrowWriter::try_new_with_options(Vec::new(), stored_schema(schema)?, options).map_err(unwritten)
}

fn unwritten(error: ParquetError) -> Error {
    Error::invalid_argument("the records cannot be written as parquet").caused_by(error)
}

/// Batches, through the records' Avro form, in the types of the Avro schema.
struct AvroRows {
    encoder: Encoder,
    program: Arc<Program>,
    datums: Vec<u8>,
    ends: Vec<usize>,
}

impl AvroRows {
    fn new(schema: &Schema, columns: &ArrowSchema) -> Result<Self> {
        Ok(Self {
            encoder: Encoder::new(schema, columns)?,
            program: Arc::new(Program::compile_all(schema, schema, Types::File)?),
            datums: Vec::new(),
            ends: Vec::new(),
        })
    }

    fn normalised(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.datums.clear();
        self.ends.clear();
        self.encoder.encode(batch, &mut self.datums, &mut self.ends)?;
        let mut start = 0;
        let places = self.ends.iter().map(|end| {
            let datum = (start, end.saturating_sub(start));
            start = *end;
            Ok(Datum { at: place(datum.0)?, len: place(datum.1)? })
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        let mut decoder = Decoder::new(Arc::clone(&self.program));
        decoder.decode(&self.datums, &places)?;
        decoder.finish()
    }
}

fn place(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| Error::invalid_argument(format!("{ROWS} records of 4 GiB or more")))
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Decimal128Array, Int64Array, StringArray};
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::Kind;

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

    /// The parquet file in a block.
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
            assert_eq!(pairs, [("parquet.avro.schema", Some(SCHEMA)), ("writer.model.name", Some("avro"))]);
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
        assert_eq!(error.kind(), Kind::InvalidArgument);
        assert!(error.to_string().contains("field k: a column of type Int64"), "{error}");
        let union = r#"{"type":"record","name":"r","fields":[{"name":"k","type":["long","string"]}]}"#;
        assert_eq!(block(union, &numbers, ParquetCodec::Gzip).unwrap_err().kind(), Kind::Unsupported);
    }
}
