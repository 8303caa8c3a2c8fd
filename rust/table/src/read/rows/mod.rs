//! Merges rows of Arrow batches like those of a table, without a table.
//!
//! | file | contents |
//! |---|---|
//! | `rows_merge` | the merge |
//! | `merge_rules` | how rows merge, as a caller says it |
//! | `row_columns` | the columns of rows: which are required, and their types |
//! | `commit_order` | rows sorted by commit |

pub(in crate::read) mod commit_order;
pub(in crate::read) mod merge_rules;
pub(in crate::read) mod row_columns;
pub(in crate::read) mod rows_merge;
