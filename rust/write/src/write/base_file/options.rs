//! How base files are written.

use std::collections::BTreeMap;

use mortice_base::error::Result;
use mortice_formats::avro_parquet::{ListStructure, ParquetCodec};
use mortice_formats::bloom::{BloomOptions, BloomType};
use mortice_merge::config::option_values::{boolean, number, positive};

/// Options of base files; the defaults are Hudi's.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseFileOptions {
    /// `hoodie.parquet.compression.codec`.
    pub codec: ParquetCodec,
    /// `hoodie.parquet.block.size`: bytes of an encoded row group.
    pub block_bytes: usize,
    /// `hoodie.parquet.page.size`: bytes of a page, and of a dictionary.
    pub page_bytes: usize,
    /// `hoodie.parquet.dictionary.enabled`.
    pub dictionary: bool,
    /// The size at which a file is full (`hoodie.parquet.max.file.size`, and a tenth more for compression, as Hudi allows).
    pub max_file_bytes: u64,
    /// The Bloom filter of record keys, and their range; none by `hoodie.parquet.bloom.filter.enabled=false`.
    pub bloom: Option<BloomOptions>,
    /// How lists are stored.
    pub lists: ListStructure,
}

const MEBI: usize = 1 << 20;

impl Default for BaseFileOptions {
    fn default() -> Self {
        Self {
            codec: ParquetCodec::Gzip,
            block_bytes: 120 * MEBI,
            page_bytes: MEBI,
            dictionary: true,
            max_file_bytes: 132 * MEBI as u64,
            bloom: Some(BloomOptions::default()),
            lists: ListStructure::ThreeLevels,
        }
    }
}

impl BaseFileOptions {
    /// Reads the options that concern base files; others are passed over.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that are not of its type or make no file.
    pub fn from_hudi_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let default = Self::default();
        let ratio: f64 = number(options, "hoodie.parquet.compression.ratio", 0.1)?;
        let max_file = positive(options, "hoodie.parquet.max.file.size", 120 * MEBI)? as u64;
        let bloom = BloomOptions::default();
        let bloom = BloomOptions {
            kind: match options.get("hoodie.bloom.index.filter.type") {
                Some(name) => BloomType::parse(name.trim())?,
                None => bloom.kind,
            },
            entries: number(options, "hoodie.index.bloom.num_entries", bloom.entries)?,
            error_rate: number(options, "hoodie.index.bloom.fpp", bloom.error_rate)?,
            max_entries: number(options, "hoodie.bloom.index.filter.dynamic.max.entries", bloom.max_entries)?,
        };
        Ok(Self {
            codec: match options.get("hoodie.parquet.compression.codec") {
                Some(name) => ParquetCodec::parse(name.trim())?,
                None => default.codec,
            },
            block_bytes: positive(options, "hoodie.parquet.block.size", default.block_bytes)?,
            page_bytes: positive(options, "hoodie.parquet.page.size", default.page_bytes)?,
            dictionary: boolean(options, "hoodie.parquet.dictionary.enabled", true)?,
            max_file_bytes: with_ratio(max_file, ratio),
            bloom: boolean(options, "hoodie.parquet.bloom.filter.enabled", true)?.then_some(bloom),
            lists: match boolean(options, "parquet.avro.write-old-list-structure", false)? {
                true => ListStructure::TwoLevels,
                false => ListStructure::ThreeLevels,
            },
        })
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
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        BaseFileOptions::from_hudi_options(&options)
    }

    #[test]
    fn options_have_hudis_names_and_defaults() {
        assert_eq!(parse(&[]).unwrap(), BaseFileOptions::default());
        let options = parse(&[
            ("hoodie.parquet.compression.codec", "ZSTD"),
            ("hoodie.parquet.max.file.size", "1000"),
            ("hoodie.parquet.bloom.filter.enabled", "false"),
            ("hoodie.parquet.dictionary.enabled", "False"),
        ])
        .unwrap();
        assert_eq!((options.codec, options.max_file_bytes, options.bloom), (ParquetCodec::Zstd, 1100, None));
        assert!(!options.dictionary);
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
