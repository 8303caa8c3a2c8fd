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
//! | `open` | opens a table for a service |
//! | `inline_services` | table services after a write |

mod bucket_merge;
mod build_metadata;
mod clustering;
pub(crate) mod compaction;
mod inline_services;
mod open;
mod recovery;
mod verify;

pub use bucket_merge::{MergedBuckets, merge_buckets};
pub use build_metadata::{BuiltMetadata, MetadataRequest, build_metadata, planned_metadata};
pub use clustering::{ClusterResult, ClusteringSteps, cluster, clustering_preview};
pub use compaction::{
    CompactRequest, Compacted, PlannedCompaction, compact, log_compact, planned_compactions, planned_log_compactions,
};
pub(crate) use inline_services::run_inline_services;
pub use recovery::{
    CreatedSavepoint, KeptFiles, RestoredTable, SavepointNote, UndoneInstant, create_savepoint, delete_savepoint,
    restore, rollback,
};
pub use verify::{Finding, FindingKind, RepairResult, VerifyOptions, VerifyReport, repair, verify};
