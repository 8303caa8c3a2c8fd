//! One file slice: base rows and log records, merged.
//!
//! | file | job |
//! |---|---|
//! | `merge_plan` | how the records of a key are merged |
//! | `base_rows` | base rows folded, and what becomes of them |
//! | `base_filter` | which terms of a filter may leave out base rows |
//! | `spilled_merge` | what becomes of keys that do not fit in memory, in passes |
//! | `slice_files` | the first requests of a slice, made together |
//! | `slice_merge` | base rows and log rows of a slice, merged |
//! | `file_slice` | the slice of a split, read |

pub(in crate::read) mod base_filter;
pub(in crate::read) mod base_rows;
pub(in crate::read) mod file_slice;
pub(in crate::read) mod merge_plan;
pub(in crate::read) mod slice_files;
pub(in crate::read) mod slice_merge;
pub(in crate::read) mod spilled_merge;
