//! Transactions and table services: actions on a table that are not writes of a user's rows.
//!
//! | folder or file | job |
//! |---|---|
//! | `recovery/` | rollbacks, restores, savepoints, and what stopped writers leave |
//! | `cleaning/` | deletes files of old slices |
//! | `archival/` | moves old instants to the archive |
//! | `metadata_services/` | what runs on the metadata table before a write |
//! | `transaction/` | a write or a table service, from its requested instant to its completed one |
//! | `compaction/` | merges logs into base files, and logs into logs; `planning/` is below transactions |
//! | `clustering/` | file groups rewritten in another order and size; `planning/` is below transactions |
//! | `bucket_merge/` | buckets with several file groups, made one again |
//! | `verify/` | whether a table agrees with itself |
//! | `upgrade/` | table versions: upgrade and downgrade |
//! | `erasure/` | rows of which no file holds anything any more |
//! | `build_metadata` | the metadata table that a user asks for |
//! | `partition_ttl/` | partitions that expire |
//! | `partition_deletion`, `replaced_groups` | a commit that deletes partitions; file groups that a write replaces |
//! | `health` | what slows queries down, what is pending, what is wrong |
//! | `inline_options`, `inline_services` | table services after a write: which, and their run |
//! | `data_paths` | paths of plans and markers, checked before anything is deleted |
//! | `listings` | files of partitions |
//! | `needed_by_pending` | what pending writes need of the timeline and of data files |
//! | `needs` | what each service would do now, and whether it is due |
//! | `service_table` | the table or its metadata table, as services work on it |
//! | `open` | opens a table for a service |
//! | `procedures/` | Hudi's procedures of `CALL`: which there are, and rows of instants, files and statistics |
//! | `reports/` | metrics and callbacks of commits, by Hudi's options |
//! | `request` | what is asked of a service that is planned and executed |
//!
//! All services have one shape: `plan_…` says what would be done and changes nothing, `run_…` does it. Their order of
//! file operations is described in `docs/write-protocol.md`.

mod archival;
mod bucket_merge;
mod build_metadata;
mod cleaning;
pub mod clustering;
pub mod compaction;
mod data_paths;
mod erasure;
pub mod health;
mod inline_options;
mod inline_services;
mod listings;
mod metadata_services;
mod needed_by_pending;
mod needs;
mod open;
mod partition_deletion;
mod partition_ttl;
pub mod procedures;
mod recovery;
mod replaced_groups;
mod reports;
mod request;
mod service_table;
pub mod transaction;
mod upgrade;
pub mod verify;

pub use archival::{Archival, ArchivalOptions, ArchivalResult, ArchivedInstant, plan_archival, run_archival};
pub use bucket_merge::{BucketMergeResult, plan_bucket_merge, run_bucket_merge};
pub use build_metadata::{
    MetadataBuildRequest, MetadataBuildResult, MetadataIndex, indexes, plan_metadata_build, run_metadata_build,
    run_metadata_build_with,
};
pub use cleaning::{
    Clean, CleanedFile, Cleaning, CleaningOptions, CleaningPolicy, CleaningResult, plan_cleaning, run_cleaning,
};
pub use clustering::{ClusteringResult, PlannedClustering, PlannedGroup, plan_clustering, run_clustering};
pub use compaction::{
    CompactionResult, PlannedCompaction, plan_compaction, plan_log_compaction, run_compaction, run_log_compaction,
};
pub use erasure::{
    ErasedValues, ErasureReads, ErasureReport, ErasureRequest, ErasureWrites, LocalReads, distinct_values,
    is_in_records, plan_erasure, run_erasure, search_files,
};
pub use inline_options::{InlineServices, InlineStep};
pub use inline_services::{execute_in_process, run_inline_services};
pub use metadata_services::{MetadataServiceOptions, MetadataServices};
pub use needs::{MaintainedService, ServiceNeed, ServiceNeeds, grouped, service_needs};
pub use partition_deletion::delete_chosen_partitions;
pub use partition_ttl::{
    ExpiredPartition, PartitionAge, PartitionTtlOptions, PartitionTtlResult, plan_partition_ttl, run_partition_ttl,
};
pub use recovery::{
    KeptFiles, RestoreResult, RollbackResult, SavepointRequest, SavepointResult, plan_restore, plan_rollback,
    plan_savepoint, plan_savepoint_deletion, run_restore, run_rollback, run_savepoint, run_savepoint_deletion,
};
pub use replaced_groups::{ReplacedGroups, replaced_by_write};
pub use request::ServiceRequest;
pub use upgrade::{ChangedProperty, UpgradeRequest, UpgradeResult, VersionChange, plan_upgrade, run_upgrade};
pub use verify::{
    Finding, FindingKind, RepairResult, VerifyOptions, VerifyReport, plan_repair, remedy, run_repair, verify,
};
