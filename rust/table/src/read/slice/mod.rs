//! One file slice: base rows and log records, merged.
//!
//! | file | contents |
//! |---|---|
//! | `slice_files` | the first requests of a slice, sent together |
//! | `merge_input` | the input of a merge, and the merge mode in the table's configuration |
//! | `merge_columns` | the columns that it reads, and the keys and base rows that it needs |
//! | `spilled_merge` | merges keys that do not fit in memory in passes |
//! | `log_index` | the logs indexed by key |
//! | `base_parts` | base rows in parts that fit a batch when they are merged |
//! | `slice_merge` | merges base rows and log records of a slice |
//! | `earlier_rows` | the rows before the range of an incremental query, for its partial records |
//! | `whole_records` | the log records of a changelog as whole rows |
//! | `base_filter` | the terms of a filter that may exclude base rows before the merge |
//! | `file_slice` | reads the slice of a split |

pub(in crate::read) mod base_parts;
pub(in crate::read) mod file_slice;
pub(in crate::read) mod merge_input;
pub(in crate::read) mod slice_merge;

mod base_filter;
mod earlier_rows;
mod log_index;
mod merge_columns;
mod slice_files;
mod spilled_merge;
mod whole_records;
