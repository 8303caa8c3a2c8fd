//! Writes a commit's part of the metadata table (`HoodieBackedTableMetadataWriter`).
//!
//! ```text
//! WriteStatus* ─> files, column_stats, partition_stats, bloom_filters, record_index ─> records ─> delta_commit
//! ```
//! | file | job |
//! |---|---|
//! | `records` | the records of each partition, and their Avro bytes |
//! | `build` | new metadata tables and partitions, and their deletion |
//! | `partition_kind` | the partitions that can be maintained, and which ones a table has |
//! | `options` | what options say of the metadata table |
//! | `metadata_folder` | properties, timeline and file groups of the metadata table; names of its next log files |
//! | `delta_commit` | writes records as a delta commit |
//! | `log_files` | writes its log files |
//! | `native_logs` | its log files from table version 10 on |
//! | `upkeep` | the entry point: [`MetadataUpkeep`] |
//! | `clean` | what a clean does to it |
//! | `roll_back` | what a rollback does to it |
//! | `defects` | why one cannot be maintained, and its deletion then |
//! | `leftovers` | what stopped writers left in it |
//! | `table_version` | what an upgrade of the table does to it |
//!
//! A commit whose records are incomplete loses rows in filtered queries of Hudi (measured: a stale range of a partition
//! prunes it). So every partition that the table's properties name is written, or the commit is refused.

mod build;
mod clean;
mod defects;
mod delta_commit;
mod leftovers;
mod log_files;
mod metadata_folder;
mod native_logs;
mod options;
mod partition_kind;
mod records;
mod roll_back;
mod table_version;
mod upkeep;

pub use build::base_hfile::BaseHFileUpload;
pub use build::index_builder::{BloomText, IndexBuilder, IndexedFile, LocalIndexBuilder};
pub use build::record_index_files::{IndexFiles, IndexTarget, IndexedGroup, NewRecordIndex};
pub use defects::FoundMetadata;
pub use leftovers::MetadataLeftovers;
pub use metadata_folder::{ROOT as METADATA_ROOT, is_defect};
pub use options::{MetadataOptions, split_column};
pub use partition_kind::maintained_partitions;
pub use records::bloom_filters::keeps_blooms;
pub use records::commit_update::CommitUpdate;
pub use records::indexed_columns::is_record_index_partitioned;
pub use records::record_schema::RecordSchema;
pub use upkeep::{MetadataUpkeep, PlannedPartitions};

#[cfg(test)]
mod tests;
