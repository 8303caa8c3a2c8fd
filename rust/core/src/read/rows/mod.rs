//! Rows of Arrow batches merged as those of a table, without one.
//!
//! | file | job |
//! |---|---|
//! | `rows_merge` | rows merged as those of a table are |
//! | `row_columns` | their columns: which are required, and their types |
//! | `commit_order` | rows sorted by commit |

pub(in crate::read) mod commit_order;
pub(in crate::read) mod row_columns;
pub(in crate::read) mod rows_merge;
