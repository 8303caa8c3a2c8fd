//! How base files are written.

use mortice_base::error::Result;
use mortice_formats::avro_parquet::{Dictionaries, ListStructure, ParquetCodec};
use mortice_formats::bloom::{BloomOptions, BloomType};
use mortice_merge::config::{TableType, TimelineLayout, WriteOptions, option_names};

/// Options of base files; the defaults are Hudi's.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseFileOptions {
    /// `hoodie.parquet.compression.codec`.
    pub codec: ParquetCodec,
    /// `hoodie.parquet.block.size`: bytes of an encoded row group.
    pub block_bytes: usize,
    /// `hoodie.parquet.page.size`: bytes of a page, and of a dictionary.
    pub page_bytes: usize,
    /// `hoodie.parquet.dictionary.enabled`; by default, columns have one where their values repeat.
    pub dictionaries: Dictionaries,
    /// The size at which a file is full (`hoodie.parquet.max.file.size`, and a tenth more for compression, as Hudi
    /// allows).
    pub max_file_bytes: u64,
    /// `hoodie.parquet.compression.ratio`: the share that is more.
    pub size_ratio: f64,
    /// The Bloom filter of record keys, and their range; none by `hoodie.parquet.bloom.filter.enabled=false`.
    pub bloom: Option<BloomOptions>,
    /// Whether the footer says that keys are distinct: writers of logs read it.
    pub marks_distinct_keys: bool,
    /// How lists are stored: elements may be null. No option of a write says otherwise; Hudi takes the structure from
    /// Hadoop's configuration (`parquet.avro.write-old-list-structure`), and reads both.
    pub lists: ListStructure,
}

/// As without options.
#[cfg(test)]
impl Default for BaseFileOptions {
    fn default() -> Self {
        Self::resolve(&WriteOptions::default(), TimelineLayout::V2).unwrap()
    }
}

impl BaseFileOptions {
    /// Reads the options that concern base files; others are passed over.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that are not of its type or make no file.
    pub fn resolve(options: &WriteOptions, layout: TimelineLayout) -> Result<Self> {
        let size_ratio = options.number(option_names::PARQUET_COMPRESSION_RATIO)?;
        let page_bytes = options.integer(option_names::PARQUET_PAGE_SIZE)?;
        let bloom = BloomOptions {
            kind: BloomType::parse(options.word(option_names::BLOOM_INDEX_FILTER_TYPE)?)?,
            entries: options.integer(option_names::INDEX_BLOOM_NUM_ENTRIES)?,
            error_rate: options.number(option_names::INDEX_BLOOM_FPP)?,
            max_entries: options.integer(option_names::BLOOM_INDEX_FILTER_DYNAMIC_MAX_ENTRIES)?,
        };
        Ok(Self {
            codec: codec(options, layout)?,
            block_bytes: options.integer(option_names::PARQUET_BLOCK_SIZE)?,
            page_bytes,
            dictionaries: match options.given_boolean(option_names::PARQUET_DICTIONARY_ENABLED)? {
                Some(true) => Dictionaries::All,
                Some(false) => Dictionaries::None,
                None => Dictionaries::WhereTheyPay(page_bytes),
            },
            max_file_bytes: with_ratio(options.integer(option_names::PARQUET_MAX_FILE_SIZE)?, size_ratio),
            size_ratio,
            bloom: options.boolean(option_names::PARQUET_BLOOM_FILTER_ENABLED)?.then_some(bloom),
            marks_distinct_keys: false,
            lists: ListStructure::ThreeLevels,
        })
    }

    /// The same, for files of a table of this type.
    #[must_use]
    pub fn of_table_type(self, table_type: TableType) -> Self {
        Self { marks_distinct_keys: table_type == TableType::MergeOnRead, ..self }
    }

    /// The same, for files of another size than the option's.
    #[must_use]
    pub fn of_size(self, max_file: u64) -> Self {
        Self { max_file_bytes: with_ratio(max_file, self.size_ratio), ..self }
    }
}

/// The codec of a table's parquet files and blocks. By default it is Zstandard, at the size of gzip, Hudi's default,
/// for a fraction of the time; gzip in tables that releases before 1.0 read, whose Spark may lack the other.
pub(crate) fn codec(options: &WriteOptions, layout: TimelineLayout) -> Result<ParquetCodec> {
    match (options.given_text(option_names::PARQUET_COMPRESSION_CODEC), layout) {
        (Some(name), _) => ParquetCodec::parse(name.trim()),
        (None, TimelineLayout::V1) => Ok(ParquetCodec::Gzip),
        (None, TimelineLayout::V2) => Ok(ParquetCodec::Zstd),
    }
}

/// The size and its share of `ratio`, as far as the numbers make sense.
fn with_ratio(size: u64, ratio: f64) -> u64 {
    let more = (size as f64 * ratio).round();
    size.saturating_add(if more > 0.0 { more as u64 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<BaseFileOptions> {
        let options = WriteOptions::resolve(options.iter().copied())?;
        BaseFileOptions::resolve(&options, TimelineLayout::V2)
    }

    #[test]
    fn options_have_hudis_names_and_defaults() {
        let default = parse(&[]).unwrap();
        assert_eq!((default.codec, default.max_file_bytes), (ParquetCodec::Zstd, 132 << 20));
        assert_eq!(default.bloom, Some(BloomOptions::default()));
        let options = parse(&[
            ("hoodie.parquet.compression.codec", "SNAPPY"),
            ("hoodie.parquet.max.file.size", "1000"),
            ("hoodie.parquet.bloom.filter.enabled", "false"),
            ("hoodie.parquet.dictionary.enabled", "False"),
        ])
        .unwrap();
        assert_eq!((options.codec, options.max_file_bytes, options.bloom), (ParquetCodec::Snappy, 1100, None));
        assert_eq!(options.dictionaries, Dictionaries::None);
    }

    #[test]
    fn the_codec_depends_on_the_releases_that_read_the_table() {
        let options = WriteOptions::default();
        assert_eq!(codec(&options, TimelineLayout::V1).unwrap(), ParquetCodec::Gzip);
        assert_eq!(codec(&options, TimelineLayout::V2).unwrap(), ParquetCodec::Zstd);
        let options = WriteOptions::resolve([("hoodie.parquet.compression.codec", " gzip ")]).unwrap();
        assert_eq!(codec(&options, TimelineLayout::V2).unwrap(), ParquetCodec::Gzip);
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        for (name, value) in [
            ("hoodie.parquet.block.size", "0"),
            ("hoodie.parquet.page.size", "1 MB"),
            ("hoodie.parquet.dictionary.enabled", "yes"),
            ("hoodie.index.bloom.num_entries", "-1"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(parse(&[("hoodie.parquet.compression.codec", "rar")]).is_err());
    }
}
