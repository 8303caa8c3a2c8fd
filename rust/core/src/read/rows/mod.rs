//! Rows of Arrow batches merged as those of a table, without one.
//!
//! | file | job |
//! |---|---|
//! | `rows_merge` | rows merged as those of a table are |
//! | `row_columns` | columns of rows that are merged without a table |
//! | `commit_order` | such rows, in the order of their commits |

pub(in crate::read) mod commit_order;
pub(in crate::read) mod row_columns;
pub(in crate::read) mod rows_merge;
