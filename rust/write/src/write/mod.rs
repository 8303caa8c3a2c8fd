//! Writing: files of file groups, and what a commit has to know of them. No timeline, no index, no metadata table.
//!
//! ```text
//! record batches ─> base_file ──┐
//!                ─> log_append ─┼─> WriteStatus ─> (driver) validated, and committed
//! markers, partition_metadata ──┘ before each file
//! ```
//! | file | job |
//! |---|---|
//! | `write_token` | which attempt of which task wrote a file |
//! | `meta_columns` | the five meta columns of rows that are written |
//! | `file_upload` | a file that is written in order and visible once it is complete |
//! | `column_range` | what column statistics say of a file's column |
//! | `base_file/` | base files |
//! | `create_handle` | new base files of a partition: markers, rolling, statuses |
//! | `log_append/` | log files |
//! | `merge_handle/` | base files that are rewritten with the records of a commit |
//! | `change_log` | what a commit changed in a base file that it rewrites |
//! | `compact_handle` | base files of compactions: the merged rows of slices |
//! | `log_compact_handle` | log files of log compactions: the merged records of logs |
//! | `row_errors` | rows that are refused, separated from the others |
//! | `write_status` | what a commit has to know of a file |
//! | `partition_metadata` | the file that makes a folder a partition |
//! | `markers` | files that name the data files of a commit before these exist |

mod base_file;
mod change_log;
mod column_range;
mod compact_handle;
mod create_handle;
mod file_upload;
mod log_append;
mod log_compact_handle;
mod markers;
mod merge_handle;
mod meta_columns;
mod partition_metadata;
mod row_errors;
mod write_status;
mod write_token;

pub use base_file::{BaseFileOptions, BaseFileTarget, BaseFileWriter, DISTINCT_KEYS, WrittenBaseFile};
pub use change_log::ChangeLogFile;
pub use column_range::{ColumnRange, ColumnValue};
pub use compact_handle::{CompactHandle, CompactTarget};
pub use create_handle::{CreateHandle, CreateTarget};
pub use log_append::{
    AppendHandle, AppendOptions, LogFormat, LogNaming, LogRows, LogTarget, NativeLogOptions, SliceNames,
};
pub use log_compact_handle::{LogCompactHandle, LogCompactTarget};
pub use markers::{Marker, MarkerKind, Markers};
pub(crate) use merge_handle::several_rows;
pub use merge_handle::{MergeHandle, MergeTarget};
pub use meta_columns::MetaColumns;
pub use partition_metadata::{create_partition_metadata, partition_created_by};
pub(crate) use row_errors::write_accepted;
pub use write_status::{CompactedLogs, LogFileStatus, RowError, WriteStatus, WrittenFile};
pub use write_token::WriteToken;
