//! What a catalog has of a Hudi table, as Hudi's sync tools register it (`org.apache.hudi.hive.HiveSyncTool`,
//! `org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool`), and what a sync changes of it. Clients of catalogs are the
//! callers'.

mod columns;
mod entries;
mod nullability;
mod options;
mod partitions;

pub use entries::{CatalogTable, Entries, OUTPUT_FORMAT, SERDE, entries};
pub use options::{SyncOptions, is_sync_option};
pub use partitions::{Partition, PartitionChanges, partition_changes};
