//! The metadata table: what a table keeps of itself under `.hoodie/metadata`, itself a merge-on-read table of HFiles
//! (`HoodieBackedTableMetadata`).
//!
//! | file | job |
//! |---|---|
//! | `open` | the metadata table of a table, as far as the table's own timeline has it |
//! | `files` | partitions and their files, from the partition `files` |
//! | `column_stats` | what files can hold no row of a filter, from the partition `column_stats` |
//! | `column_bounds` | the bounds of a column that such a record holds, as far as they can be relied on |
//! | `index_key` | the keys of such records: hashes of names |
//! | `shard` | the file groups of a partition that hold given keys |
//! | `record_index` | the file groups of given keys, from the partition `record_index` |
//!
//! By contract it tells what a listing of storage tells, so that whoever meets something unexpected in it can go there instead.

pub mod shard;

mod column_bounds;
mod column_stats;
mod files;
mod index_key;
mod open;
mod record_index;

pub use column_stats::{COLUMN_STATS, Skipping};
pub use files::{ALL_PARTITIONS, FILES, Listed};
pub use index_key::{ColumnKeys, bloom_filter_key, partition_name};
pub use open::{KEY, MetadataRows, MetadataTable, pending};
pub use record_index::{KeyLocation, RECORD_INDEX};
