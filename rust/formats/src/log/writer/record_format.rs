//! The types of data blocks that can be written.

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;

use super::avro_block::avro_blocks;
use super::block_bytes::BlockBytes;
use super::block_header::BlockHeader;
use super::parquet_block::parquet_block;
use crate::avro_parquet::ParquetCodec;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};

/// The format of written records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFormat {
    /// Avro data blocks, each with a content of at most `max_block_bytes` (or a single record).
    Avro {
        /// The limit.
        max_block_bytes: usize,
    },
    /// One Parquet data block.
    Parquet(ParquetCodec),
}

impl RecordFormat {
    /// Parses a name: `avro` or `parquet`. `max_block_bytes` is used for Avro only, `codec` for Parquet only.
    ///
    /// # Errors
    /// `Unsupported` for types that are read but not written (`hfile`, `cdc`); `InvalidArgument` for other names, and
    /// for a limit of 0.
    pub fn parse(name: &str, max_block_bytes: usize, codec: ParquetCodec) -> Result<Self> {
        if max_block_bytes == 0 {
            return Err(Error::invalid_argument("the maximum size of a block must be at least 1 byte, got 0"));
        }
        match name {
            "avro" => Ok(Self::Avro { max_block_bytes }),
            "parquet" => Ok(Self::Parquet(codec)),
            "hfile" | "cdc" => {
                Err(Error::unsupported(format!("writing {name} blocks is not supported (supported: avro, parquet)")))
            }
            _ => Err(Error::invalid_argument(format!("unknown block format {name:?} (supported: avro, parquet)"))),
        }
    }
}

/// Returns blocks of the records, in order: at least one, even if there are no records.
///
/// # Errors
/// As [`avro_blocks`] and [`parquet_block`].
pub fn record_blocks(
    format: RecordFormat,
    columns: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    schema: &Schema,
    header: &BlockHeader,
) -> Result<Vec<BlockBytes>> {
    match format {
        RecordFormat::Avro { max_block_bytes } => avro_blocks(columns, batches, schema, header, max_block_bytes),
        RecordFormat::Parquet(codec) => Ok(vec![parquet_block(columns, batches, schema, header, codec)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    #[test]
    fn what_is_not_written_is_refused_by_name() {
        let parse = |name| RecordFormat::parse(name, 1, ParquetCodec::Gzip);
        assert_eq!(parse("parquet").unwrap(), RecordFormat::Parquet(ParquetCodec::Gzip));
        for (name, kind) in
            [("hfile", ErrorKind::Unsupported), ("cdc", ErrorKind::Unsupported), ("orc", ErrorKind::InvalidArgument)]
        {
            let error = parse(name).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(RecordFormat::parse("avro", 0, ParquetCodec::Gzip).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(ParquetCodec::parse("GZIP").unwrap(), ParquetCodec::Gzip);
        assert_eq!(ParquetCodec::parse("brotli").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
