//! How log files are written.

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};
use mortice_formats::avro_parquet::ParquetCodec;
use mortice_merge::config::option_values::positive;

/// The format of data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Avro data blocks.
    Avro,
    /// Parquet data blocks.
    Parquet(ParquetCodec),
}

/// Options of log files; the defaults are Hudi's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendOptions {
    /// `hoodie.logfile.data.block.format`.
    pub format: LogFormat,
    /// `hoodie.logfile.data.block.max.size`: bytes of the records of a block.
    pub max_block_bytes: usize,
    /// `hoodie.logfile.max.size`: a file that has more is not written on.
    pub max_file_bytes: u64,
}

impl Default for AppendOptions {
    fn default() -> Self {
        Self { format: LogFormat::Avro, max_block_bytes: 256 << 20, max_file_bytes: 1 << 30 }
    }
}

impl AppendOptions {
    /// Reads the options that concern log files; others are passed over.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that make no file; `Unsupported` for block formats that are not written.
    pub fn from_hudi_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let default = Self::default();
        let name = "hoodie.logfile.data.block.format";
        let codec = || {
            options
                .get("hoodie.parquet.compression.codec")
                .map_or(Ok(ParquetCodec::Gzip), |name| ParquetCodec::parse(name.trim()))
        };
        let format = match options.get(name).map(|format| format.trim().to_ascii_lowercase()).as_deref() {
            None | Some("avro") => LogFormat::Avro,
            Some("parquet") => LogFormat::Parquet(codec()?),
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "option {name}={other} is not supported (supported: avro, parquet)"
                )));
            }
        };
        let file = usize::try_from(default.max_file_bytes).unwrap_or(usize::MAX);
        Ok(Self {
            format,
            max_block_bytes: positive(options, "hoodie.logfile.data.block.max.size", default.max_block_bytes)?,
            max_file_bytes: positive(options, "hoodie.logfile.max.size", file)? as u64,
        })
    }
}
