//! One file slice: base rows and log records, merged.
//!
//! | file | job |
//! |---|---|
//! | `slice_files` | the first requests of a slice, sent together |
//! | `merge_input` | what a merge reads, and how the table's configuration has it merged |
//! | `merge_columns` | the columns that it reads, and which keys and base rows it needs |
//! | `spilled_merge` | keys that do not fit in memory, merged in passes |
//! | `log_index` | the logs indexed by key |
//! | `slice_merge` | base rows and log rows of a slice, merged |
//! | `base_filter` | which terms of a filter may exclude base rows before the merge |
//! | `file_slice` | the slice of a split, read |

pub(in crate::read) mod file_slice;
pub(in crate::read) mod merge_input;
pub(in crate::read) mod slice_merge;

mod base_filter;
mod log_index;
mod merge_columns;
mod slice_files;
mod spilled_merge;
