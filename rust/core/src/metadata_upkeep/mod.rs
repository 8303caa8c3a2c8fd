//! Writes a commit's part of the metadata table (`HoodieBackedTableMetadataWriter`).
//!
//! ```text
//! WriteStatus* ─> files, column_stats, partition_stats, bloom_filters, record_index ─> records ─> delta_commit
//! ```
//! | file | job |
//! |---|---|
//! | `partition_kind` | the partitions that can be maintained, and which ones a table has |
//! | `record_schema` | schema texts of records |
//! | `record_bytes` | records as Avro bytes |
//! | `column_kind` | how bounds of a column are stored, by its type |
//! | `records` | the records of a commit |
//! | `metadata_folder` | properties, timeline and file groups of the metadata table; names of its next log files |
//! | `delta_commit` | writes records as a delta commit |
//! | `indexed_columns` | the columns that have statistics |
//! | `commit_update` | what a commit changed |
//! | `files` | records of the partition `files` |
//! | `column_stats` | records of statistics of files |
//! | `stored_statistics` | statistics that the metadata table has |
//! | `partition_stats` | records of statistics of partitions |
//! | `bloom_filters` | records of Bloom filters of base files |
//! | `record_index` | records of record keys' locations |
//! | `file_keys` | record keys of files, read from them |
//! | `upkeep` | the entry point: [`MetadataUpkeep`] |
//!
//! A commit whose records are incomplete loses rows in filtered queries of Hudi (measured: a stale range of a partition prunes it). So
//! every partition that the table's properties name is written, or the commit is refused.

mod bloom_filters;
mod column_kind;
mod column_stats;
mod commit_update;
mod delta_commit;
mod file_keys;
mod files;
mod indexed_columns;
mod metadata_folder;
mod partition_kind;
mod partition_stats;
mod record_bytes;
mod record_index;
mod record_schema;
mod records;
mod stored_statistics;
mod upkeep;

pub use commit_update::CommitUpdate;
pub use upkeep::MetadataUpkeep;
