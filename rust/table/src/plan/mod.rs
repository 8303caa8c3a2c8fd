//! Planning: from an opened table and a query to the splits that are read.
//!
//! | file | contents |
//! |---|---|
//! | `open_table` | an opened table: its properties and its timeline |
//! | `pinned_table` | an opened table as a value that is sent to other processes |
//! | `known_schema` | a cache of its schema |
//! | `slices/` | the file slices of a query, or of a writer: listed, pruned, checked |
//! | `indexes/` | the indexes of the metadata table, which leave out file slices |
//! | `ranges/` | queries of a range of commits |
//! | `query_kind` | the kinds of queries, each with its own options |
//! | `query_options` | the options of all kinds |
//! | `query_plan` | a query that is not planned yet, and its schema |
//! | `query` | combines schema, columns and slices to a planned query |
//! | `columns` | the columns of the result |
//! | `path_columns` | the partition columns whose values come from paths |
//! | `snapshot` | snapshots and read-optimized queries |
//! | `scan` | a planned query |
//! | `plain_files` | the splits whose rows another Parquet reader returns |
//! | `base_share` | the share of base files that a query reads, estimated |
//! | `base_rows` | the rows of a base file that is rewritten |
//! | `record_keys` | the record keys of some file groups |
//! | `pending_rows` | rows as they are once a pending write is complete |

mod base_rows;
mod base_share;
mod columns;
mod indexes;
mod known_schema;
mod open_table;
mod path_columns;
mod pending_rows;
mod pinned_table;
mod plain_files;
mod query;
mod query_kind;
mod query_options;
mod query_plan;
mod ranges;
mod record_keys;
mod scan;
mod slices;
mod snapshot;

pub use open_table::OpenTable;
pub use pinned_table::PinnedTable;
pub use plain_files::PlainFiles;
pub use query_kind::{CommitBounds, FullScanFallback, IncrementalRange, IncrementalRows, QueryKind, SnapshotRows};
pub use query_options::QueryOptions;
pub use query_plan::QueryPlan;
pub use ranges::follow::{Follower, StartPosition, UnreadCommit};
pub use ranges::written_files::SkippedWrites;
pub use record_keys::RecordKeyScan;
pub use scan::Scan;
pub use slices::write_view::WriteView;
pub use snapshot::ListedSlices;
