//! Reading: a split becomes a stream of record batches.
//!
//! | folder or file | job |
//! |---|---|
//! | `columns/` | which columns are delivered, decoded and constant |
//! | `logs/` | the log blocks of a slice and their records |
//! | `base/` | the base file of a slice |
//! | `slice/` | one file slice, merged |
//! | `changes/` | what a commit changed |
//! | `rows/` | rows merged without a table |
//! | `stream/` | one split or several, read by threads |
//! | `file_schema` | the schema that files hold, if commits hold none |
//! | `memory` | what a merge may keep in memory, and what it spills |
//! | `reader_threads` | the threads of a stream |
//! | `report` | what a read found |
//!
//! Folders import each other in this order only: `columns`, `logs`, `base`, `slice`, then the others.

mod base;
mod changes;
mod columns;
mod file_schema;
mod logs;
mod memory;
mod reader_threads;
mod report;
mod rows;
mod slice;
mod stream;

pub use file_schema::newest_schema;
pub use report::{Corrupt, Report, SharedReport};
pub use rows::rows_merge::{RowsMerge, RowsMergeOptions};
pub use stream::pool::Stream;
pub use stream::split_reader::SplitReader;
