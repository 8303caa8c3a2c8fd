//! Table services that run: what `services` has planned is executed as a transaction, and tables are verified and taken back.
//!
//! | file | job |
//! |---|---|
//! | `compaction/` | merges logs into base files, and logs into logs |
//! | `clustering/` | file groups rewritten in another order and size |
//! | `recovery/` | rollback, savepoints and restore |
//! | `verify/` | whether a table agrees with itself |
//! | `bucket_merge/` | buckets with several file groups, made one again |
//! | `build_metadata` | the metadata table that a user asks for |
//! | `cleaning`, `archival` | files of old slices are deleted, old instants archived |
//! | `request` | what is asked of a service that is planned and executed |
//! | `open` | opens a table for a service |
//! | `inline_services` | table services after a write |

mod archival;
mod bucket_merge;
mod build_metadata;
mod cleaning;
pub mod clustering;
pub mod compaction;
mod inline_services;
mod open;
mod recovery;
mod request;
pub mod verify;

pub use archival::{ArchivalResult, plan_archival, run_archival};
pub use bucket_merge::{BucketMergeResult, plan_bucket_merge, run_bucket_merge};
pub use build_metadata::run_metadata_build_with;
pub use build_metadata::{MetadataBuildRequest, MetadataBuildResult, plan_metadata_build, run_metadata_build};
pub use cleaning::{CleaningResult, plan_cleaning, run_cleaning};
pub use clustering::{ClusteringResult, plan_clustering, run_clustering};
pub use compaction::{
    CompactionResult, PlannedCompaction, plan_compaction, plan_log_compaction, run_compaction, run_log_compaction,
};
pub use inline_services::execute_in_process;
pub use inline_services::run_inline_services;
pub use recovery::{
    KeptFiles, RestoreResult, RollbackResult, SavepointRequest, SavepointResult, plan_restore, plan_rollback,
    plan_savepoint, plan_savepoint_deletion, run_restore, run_rollback, run_savepoint, run_savepoint_deletion,
};
pub use request::ServiceRequest;
pub use verify::{
    Finding, FindingKind, RepairResult, VerifyOptions, VerifyReport, plan_repair, remedy, run_repair, verify,
};
