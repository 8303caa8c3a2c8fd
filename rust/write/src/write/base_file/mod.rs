//! Base files: parquet as Hudi's Avro writer makes it (`HoodieAvroParquetWriter`, `HoodieBaseParquetWriter`).
//!
//! Footer keys: `parquet.avro.schema`, `writer.model.name`, `org.apache.spark.version`; with a Bloom filter
//! `org.apache.hudi.bloomfilter`, `hoodie_bloom_filter_type_code` (not of a simple one), `hoodie_min_record_key`,
//! `hoodie_max_record_key`; with vectors `hoodie.vector.columns`; of merge-on-read tables `mortice.distinct.keys`
//! (`distinct_keys`); last the footer's checksum, `mortice.footer.crc32`.
//!
//! | file | job |
//! |---|---|
//! | `options` | sizes, compression, Bloom filter |
//! | `key_summary` | the keys of a file: least, greatest, Bloom filter |
//! | `distinct_keys` | whether no two rows of a file have the same key |
//! | `statistics` | column ranges from a file's own metadata |
//! | `writer` | one file |

mod distinct_keys;
mod key_summary;
mod options;
mod statistics;
mod writer;

pub use distinct_keys::DISTINCT_KEYS;
pub use options::BaseFileOptions;
pub(crate) use options::codec;
pub use writer::{BaseFileTarget, BaseFileWriter, WrittenBaseFile};
