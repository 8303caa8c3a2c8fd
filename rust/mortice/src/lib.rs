//! mortice reads and writes Apache Hudi tables, and runs table services on them.
//!
//! This crate is the facade of the crates below it, which have one layer each: `mortice-base`, `mortice-storage`,
//! `mortice-avro`, `mortice-formats`, `mortice-expr`, `mortice-merge`, `mortice-table`, `mortice-catalog`,
//! `mortice-write`, `mortice-commit`, `mortice-services` and `mortice-client`. It contains no code, so that a program
//! depends on one crate, and the names of modules do not change when a module moves to another crate. Cargo holds
//! crates to their order, `tests/rust/layering.rs` the modules within them (see `ARCHITECTURE.md`).

pub use mortice_avro as avro;
pub use mortice_base::{cursor, error, names, progress, protobuf, time};
pub use mortice_catalog as catalog;
pub use mortice_client as client;
pub use mortice_commit::{commit, metadata_upkeep, writable_table};
pub use mortice_expr as expr;
pub use mortice_formats::{avro_parquet, base_file, bloom, filter, hfile, log, orc};
pub use mortice_merge::{config, keys, merge, spill};
pub use mortice_services as services;
pub use mortice_services::transaction;
pub use mortice_storage as storage;
pub use mortice_table::{bootstrap, file_group, metadata_table, plan, read, schema, split, timeline};
pub use mortice_write::{assign, index, row_set, rows, settings, write};

pub use crate::commit::{NewTable, create_table};
pub use crate::config::{LogScan, MergeSemantics, OnCorrupt, OnDamage, ReadOptions};
pub use crate::file_group::FileSlice;
pub use crate::plan::{
    CommitBounds, Follower, FullScanFallback, IncrementalRange, IncrementalRows, OpenTable, PlainFiles, QueryKind,
    QueryOptions, QueryPlan, Scan, SkippedWrites, SnapshotRows, StartPosition, UnreadCommit,
};
pub use crate::read::{DamagedFile, ReadReport, RowsMerge, RowsMergeOptions, Stream};
pub use crate::split::{MergerHandle, Query, Split};
pub use crate::storage::RequestCounts;
pub use crate::timeline::HollowCommitPolicy;
pub use mortice_base::{BatchLimit, Error, ErrorKind, Result, caught};
pub use mortice_table::Table;
