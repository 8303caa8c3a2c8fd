//! How log files are written.

use crate::write::base_file::codec;
use mortice_base::error::{Error, Result};
use mortice_formats::avro_parquet::ParquetCodec;
use mortice_merge::config::{TimelineLayout, WriteOptions, option_names};

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
    /// `hoodie.write.record.positions`: whether blocks have the positions of records in base files.
    pub writes_positions: bool,
}

/// As without options.
#[cfg(test)]
impl Default for AppendOptions {
    fn default() -> Self {
        Self::resolve(&WriteOptions::default(), TimelineLayout::V2).unwrap()
    }
}

impl AppendOptions {
    /// Reads the options that concern log files; others are passed over.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that make no file; `Unsupported` for block formats that are not
    /// written.
    pub fn resolve(options: &WriteOptions, layout: TimelineLayout) -> Result<Self> {
        let name = option_names::LOGFILE_DATA_BLOCK_FORMAT;
        let format = match options.word(name)?.to_ascii_lowercase().as_str() {
            "avro" => LogFormat::Avro,
            "parquet" => LogFormat::Parquet(codec(options, layout)?),
            other => {
                return Err(Error::unsupported(format!(
                    "option {name}={other} is not supported (supported: avro, parquet)"
                )));
            }
        };
        Ok(Self {
            format,
            max_block_bytes: options.integer(option_names::LOGFILE_DATA_BLOCK_MAX_SIZE)?,
            max_file_bytes: options.integer(option_names::LOGFILE_MAX_SIZE)?,
            writes_positions: options.boolean(option_names::WRITE_RECORD_POSITIONS)?,
        })
    }
}
