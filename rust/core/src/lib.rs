//! mortice reads and writes Apache Hudi tables, and runs table services on them.
//!
//! Modules import downwards only (see `ARCHITECTURE.md`; `tests/rust/layering.rs` holds them to it).

pub mod assign;
pub mod avro;
pub mod avro_parquet;
pub mod base_file;
pub mod bloom;
pub mod bootstrap;
pub mod client;
pub mod commit;
pub mod config;
pub mod cursor;
pub mod edit_distance;
pub mod error;
pub mod file_group;
pub mod filter;
pub mod hfile;
pub mod index;
pub mod keys;
pub mod log;
pub mod merge;
pub mod metadata_table;
pub mod metadata_upkeep;
pub mod names;
pub mod orc;
pub mod plan;
pub mod progress;
pub mod protobuf;
pub mod read;
pub mod schema;
pub mod services;
pub mod spill;
pub mod split;
pub mod storage;
pub mod timeline;
pub mod write;

mod gzip;
mod merge_plan;
mod table;
mod trusted;
mod zone_rules;

pub use commit::{NewTable, create_table};
pub use config::{LogScan, MergeSemantics, OnCorrupt, ReadOptions};
pub use error::{Error, ErrorKind, Result};
pub use file_group::FileSlice;
pub use plan::{
    CommitBounds, Follower, FullScanFallback, IncrementalRange, IncrementalRows, OpenTable, QueryKind, QueryOptions,
    QueryPlan, Scan, SkippedWrites, SnapshotRows, StartPosition, UnreadCommit,
};
pub use read::{ReadReport, RowsMerge, RowsMergeOptions, Stream};
pub use split::{MergerHandle, Query, Split};
pub use storage::RequestCounts;
pub use table::Table;
pub use timeline::HollowCommitPolicy;
