//! How log files are written.

use crate::write::base_file::{BaseFileOptions, codec};
use mortice_base::error::{Error, Result};
use mortice_formats::avro_parquet::ParquetCodec;
use mortice_merge::config::{TableConfig, TimelineLayout, WriteOptions, option_names};

/// The format of data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Avro data blocks.
    Avro,
    /// Parquet data blocks.
    Parquet(ParquetCodec),
}

/// How native logs are written.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeLogOptions {
    /// As base files are (`HoodieFileWriterFactory`). There is no Bloom filter, which no reader of logs looks into, and
    /// which is larger than most logs.
    pub files: BaseFileOptions,
    /// The ordering fields by which the table is merged: columns of the deletes.
    pub ordering: Vec<String>,
}

/// Options of log files; the defaults are Hudi's.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendOptions {
    /// `hoodie.logfile.data.block.format`.
    pub format: LogFormat,
    /// `hoodie.logfile.data.block.max.size`: bytes of the records of a block.
    pub max_block_bytes: usize,
    /// `hoodie.logfile.max.size`: a file that has more is not written on.
    pub max_file_bytes: u64,
    /// `hoodie.write.record.positions`: whether blocks have the positions of records in base files.
    pub writes_positions: bool,
    /// Of tables from version 10 on, whose logs have neither blocks nor a format of their own.
    pub native: Option<NativeLogOptions>,
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
            native: None,
        })
    }

    /// The same, for the log files of a table, whose base files are written with these options.
    #[must_use]
    pub fn of_table(self, table: &TableConfig, base_files: &BaseFileOptions) -> Self {
        let native = || NativeLogOptions {
            files: BaseFileOptions { bloom: None, marks_distinct_keys: false, ..base_files.clone() },
            ordering: table.merge.ordering_fields.clone(),
        };
        Self { native: table.version.has_native_logs().then(native), ..self }
    }
}
