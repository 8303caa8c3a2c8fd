//! Log files of one file group, written by one task (`HoodieAppendHandle`).
//!
//! | file | job |
//! |---|---|
//! | `options` | the format and size of blocks and files |
//! | `target` | which files are written: names by table version |
//! | `column_ranges` | column ranges of the records of a file |
//! | `pending` | records that wait for their block |
//! | `log_file` | one log file: blocks, counts |
//! | `native_logs` | native logs of table version 10, in place of all that |
//! | `handle` | records to blocks, blocks to files |

mod column_ranges;
mod handle;
mod log_file;
mod native_logs;
mod options;
mod pending;
mod target;

pub use handle::{AppendHandle, LogRows};
pub use options::{AppendOptions, LogFormat, NativeLogOptions};
pub(in crate::write) use target::native_log_name;
pub use target::{LogNaming, LogTarget, SliceNames};
