//! Writes a commit's part of the metadata table (`HoodieBackedTableMetadataWriter`).
//!
//! ```text
//! WriteStatus* ─> files, column_stats, partition_stats, bloom_filters, record_index ─> records ─> delta_commit
//! ```
//! | file | job |
//! |---|---|
//! | `partition_kind` | the partitions that can be maintained, and which ones a table has |
//! | `record_schema` | schema strings of records |
//! | `record_bytes` | records as Avro bytes |
//! | `column_kind` | how bounds of a column are stored, by its type |
//! | `records` | the records of a commit |
//! | `metadata_folder` | properties, timeline and file groups of the metadata table; names of its next log files |
//! | `delta_commit` | writes records as a delta commit |
//! | `indexed_columns` | the columns that have statistics |
//! | `commit_update` | what a commit changed |
//! | `files` | records of the partition `files` |
//! | `removed_partitions` | files that records of a partition that was removed still list |
//! | `column_stats` | records of statistics of files |
//! | `stored_statistics` | statistics that the metadata table has |
//! | `partition_stats` | records of statistics of partitions |
//! | `bloom_filters` | records of Bloom filters of base files |
//! | `group_records` | records of one file group |
//! | `record_index` | records of record keys' locations |
//! | `key_locations` | these records, set aside in files, by file group |
//! | `file_keys` | record keys of files, read from them |
//! | `wanted_partitions` | which partitions options ask for |
//! | `file_ranges` | ranges of columns of files that are there already |
//! | `listing_records` | records of a table, from a listing |
//! | `base_hfile`, `new_partition`, `new_metadata_table` | a new metadata table |
//! | `defects` | why one cannot be maintained, and its deletion then |
//! | `drop_metadata_table` | deletes it, or partitions of it |
//! | `change_partitions` | adds indexes to it, and drops them, as options ask |
//! | `clean` | what a clean does to it |
//! | `roll_back` | what a rollback does to it |
//! | `leftovers` | what stopped writers left in it |
//! | `upkeep` | the entry point: [`MetadataUpkeep`] |
//!
//! A commit whose records are incomplete loses rows in filtered queries of Hudi (measured: a stale range of a partition prunes it). So
//! every partition that the table's properties name is written, or the commit is refused.

mod base_hfile;
mod bloom_filters;
mod change_partitions;
mod clean;
mod column_kind;
mod column_stats;
mod commit_update;
mod defects;
mod delta_commit;
mod drop_metadata_table;
mod file_keys;
mod file_ranges;
mod files;
mod group_records;
mod indexed_columns;
mod key_locations;
mod leftovers;
mod listing_records;
mod metadata_folder;
mod new_metadata_table;
mod new_partition;
mod partition_kind;
mod partition_stats;
mod record_bytes;
mod record_index;
mod record_schema;
mod records;
mod removed_partitions;
mod roll_back;
mod stored_statistics;
mod upkeep;
mod wanted_partitions;

pub use base_hfile::BaseHFile;
pub(crate) use bloom_filters::keeps_blooms;
pub use commit_update::CommitUpdate;
pub use defects::FoundMetadata;
pub use indexed_columns::is_record_index_partitioned;
pub use leftovers::MetadataLeftovers;
pub use metadata_folder::{ROOT as METADATA_ROOT, is_defect};
pub use partition_kind::maintained_partitions;
pub use record_schema::RecordSchema;
pub use upkeep::{MetadataUpkeep, PlannedPartitions};
