//! Reading: a split becomes a stream of record batches.
//!
//! | folder or file | contents |
//! |---|---|
//! | `columns/` | the columns of a read: projected, decoded, constant |
//! | `logs/` | the log blocks of a slice and their records |
//! | `base/` | the base file of a slice |
//! | `slice/` | one file slice, merged |
//! | `changes/` | the changes of a commit |
//! | `rows/` | rows merged without a table |
//! | `stream/` | reads one or several splits with threads |
//! | `file_schema` | the schema in files, if commits have none |
//! | `log_check` | whether logs have what completed writes wrote |
//! | `log_contents` | the log blocks of a slice, without their records |
//! | `memory` | the memory limit of a merge, and spilling |
//! | `plain_base_file` | whether another Parquet reader returns the rows of a split |
//! | `missing_file` | whether a file that is not there was removed, or is lost |
//! | `reader_threads` | the threads of a stream |
//! | `report` | statistics of a read |
//!
//! Folders import each other in this order only: `columns`, `logs`, `base`, `slice`, then the others.

mod base;
mod changes;
mod columns;
mod file_schema;
mod log_check;
mod log_contents;
mod logs;
mod memory;
mod missing_file;
mod plain_base_file;
mod reader_threads;
mod report;
mod rows;
mod slice;
mod stream;

pub use changes::changed_rows::{ChangedRows, RowsChanged};
pub use file_schema::{has_column, newest_schema};
pub use log_check::{LogCheck, check_logs, damage_of_log};
pub use log_contents::{LogContents, log_contents};
pub use plain_base_file::{PlainParquet, PlainQuery};
pub use report::{CorruptRange, DamagedFile, ReadReport, SharedReport};
pub use rows::merge_rules::{RowsMergeRules, needs_commit_order};
pub use rows::rows_merge::{RowsMerge, RowsMergeOptions};
pub use stream::pool::Stream;
pub use stream::split_reader::SplitReader;
