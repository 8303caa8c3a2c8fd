//! Planning: from an opened table and a query to the splits that are read.
//!
//! | file | contents |
//! |---|---|
//! | `open_table` | an opened table: its properties and its timeline |
//! | `pinned_table` | an opened table as a value that is sent to other processes |
//! | `known_schema` | a cache of its schema |
//! | `query_kind` | the kinds of queries, each with its own options |
//! | `query_options` | the options of all kinds |
//! | `query_plan` | a query that is not planned yet, and its schema |
//! | `query` | combines schema, columns and slices to a planned query |
//! | `columns` | the columns of the result |
//! | `path_columns` | the partition columns whose values come from paths |
//! | `snapshot` | snapshots and read-optimized queries |
//! | `file_slices` | the file slices of a query, and where they were listed |
//! | `write_view` | the file slices that a writer works on |
//! | `logs_beside_compaction` | of these the logs whose keys may be missing in base files |
//! | `slices` | chooses them, and prunes them by the query's filters |
//! | `lost_files` | refuses slices whose files were cleaned |
//! | `partition_filter` | which partitions can hold a matching row, derived from their paths |
//! | `lister` | lists files, by the metadata table or in storage |
//! | `metadata` | opens the metadata table and reads its rows as those of any table |
//! | `incremental` | queries of what a range of commits wrote |
//! | `written_files` | the files that the commits of a range wrote |
//! | `changes` | queries of what a range of commits changed, row by row |
//! | `changed_files` | the files that hold these changes |
//! | `follow` | commits one by one, as they complete |
//! | `base_rows` | the rows of a base file that is rewritten |
//! | `base_share` | the share of base files that a query reads, estimated |
//! | `record_keys` | the record keys of some file groups |
//! | `scan` | a planned query |

mod base_rows;
mod base_share;
mod changed_files;
mod changes;
mod columns;
mod file_slices;
mod follow;
mod incremental;
mod known_schema;
mod lister;
mod logs_beside_compaction;
mod lost_files;
mod metadata;
mod open_table;
mod partition_filter;
mod path_columns;
mod pinned_table;
mod query;
mod query_kind;
mod query_options;
mod query_plan;
mod record_keys;
mod scan;
mod slices;
mod snapshot;
mod write_view;
mod written_files;

pub use follow::{Follower, StartPosition, UnreadCommit};
pub use open_table::OpenTable;
pub use pinned_table::PinnedTable;
pub use query_kind::{CommitBounds, FullScanFallback, IncrementalRange, IncrementalRows, QueryKind, SnapshotRows};
pub use query_options::QueryOptions;
pub use query_plan::QueryPlan;
pub use scan::Scan;
pub use write_view::WriteView;
pub use written_files::SkippedWrites;
