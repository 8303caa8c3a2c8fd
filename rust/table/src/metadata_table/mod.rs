//! The metadata table under `.hoodie/metadata`: itself a merge-on-read table of HFiles (`HoodieBackedTableMetadata`).
//!
//! | file | contents |
//! |---|---|
//! | `open` | the metadata table of a table, as far as the table's timeline has its instants |
//! | `index_files` | whether an index has the files of all commits to it |
//! | `init_instant` | the instants at which its partitions were initialised |
//! | `complete` | whether it has all writes of the table |
//! | `log_files` | whether it has all files that its timeline needs |
//! | `files` | partitions and their files, from the partition `files` |
//! | `column_stats` | skips files without matching rows, from the partition `column_stats` |
//! | `column_bounds` | the reliable bounds in such a record |
//! | `early_bounds` | bounds of early dates and times, which may be of either calendar |
//! | `index_key` | the keys of such records: hashes of names |
//! | `index_definitions` | the definitions of secondary indexes and of other indexes that users create |
//! | `indexed_strings` | values as the strings that keys of indexes have |
//! | `secondary_key` | keys of secondary indexes: a value and a record key |
//! | `shard` | the file groups of a partition with given keys |
//! | `record_index` | the file groups of given record keys, from the partition `record_index` |
//! | `secondary_index` | the record keys of given values, from a partition `secondary_index_…` |
//! | `bloom_filters` | files that cannot have given record keys, from the partition `bloom_filters` |
//! | `partition_stats` | skips partitions without matching rows, from the partition `partition_stats` |
//!
//! It contains the same listing as storage. On an unexpected record, callers fall back to listing storage.

pub mod shard;

mod bloom_filters;
mod column_bounds;
mod column_stats;
mod complete;
mod early_bounds;
mod files;
mod index_definitions;
mod index_files;
mod index_key;
mod indexed_strings;
mod init_instant;
mod log_files;
mod open;
mod partition_stats;
mod record_index;
mod secondary_index;
mod secondary_key;

pub use bloom_filters::BLOOM_FILTERS;
pub use column_stats::{COLUMN_STATS, DataSkipping};
pub use complete::{check_complete, has_write};
pub use files::{ALL_PARTITIONS, ChoosePartitions, EachPartition, FILES, PartitionListing};
pub use index_definitions::{DEFINITIONS, IndexDefinition, IndexDefinitions, unreadable_definitions};
pub use index_files::{ReadCommits, check_index_files};
pub use index_key::{ColumnKeys, bloom_filter_key, partition_name};
pub use indexed_strings::indexed_strings;
pub use init_instant::is_init_instant;
pub use log_files::{check_log_files, is_empty_first_log};
pub use open::{EachBatch, KEY, KeyPrefixes, MetadataRows, MetadataTable, SelectedRows, pending};
pub use partition_stats::PARTITION_STATS;
pub use record_index::{EachLocation, KeyLocation, RECORD_INDEX, StoredGroups};
pub use secondary_index::SECONDARY_INDEX_PREFIX;
pub use secondary_key::{SecondaryIndexVersion, secondary_key, split_secondary_key, value_prefix};
pub use shard::PartitionPart;

/// The folder of the metadata table, relative to the table.
pub const FOLDER: &str = ".hoodie/metadata";

/// Returns the URI of the metadata table of the table at a URI.
#[must_use]
pub fn uri_of(uri: &str) -> String {
    format!("{}/{FOLDER}", uri.trim_end_matches('/'))
}
