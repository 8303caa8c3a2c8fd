//! Compression of parquet pages.

use parquet::basic::{Compression, GzipLevel, ZstdLevel};

use mortice_base::error::{Error, Result};

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
    /// LZ4 in the framing of Hadoop's codec.
    Lz4,
    /// LZ4 without framing.
    Lz4Raw,
}

impl ParquetCodec {
    /// By its name in `hoodie.parquet.compression.codec`.
    ///
    /// # Errors
    /// `InvalidArgument` for other names.
    pub fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            // Hudi hands an empty name on as none.
            "uncompressed" | "none" | "" => Ok(Self::Uncompressed),
            "snappy" => Ok(Self::Snappy),
            "gzip" => Ok(Self::Gzip),
            "zstd" => Ok(Self::Zstd),
            "lz4" => Ok(Self::Lz4),
            "lz4_raw" => Ok(Self::Lz4Raw),
            _ => Err(Error::invalid_argument(format!(
                "compression {name:?} is not supported (supported: gzip, snappy, zstd, lz4, lz4_raw, uncompressed)"
            ))),
        }
    }

    /// The parquet crate's name for it, with its level.
    #[must_use]
    pub fn compression(self) -> Compression {
        match self {
            Self::Uncompressed => Compression::UNCOMPRESSED,
            Self::Snappy => Compression::SNAPPY,
            Self::Gzip => Compression::GZIP(GzipLevel::default()),
            // Higher levels take more time, for files of the same size.
            Self::Zstd => Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()),
            Self::Lz4 => Compression::LZ4,
            Self::Lz4Raw => Compression::LZ4_RAW,
        }
    }
}
