//! Changes of rows by expressions: `update_where`, and a merge by any condition with several clauses.
//!
//! ```text
//! clauses ─> merge_plan ─> stored ─> pairs ─> check ─> apply ─> merge ─> write_changes
//!                          update_where ────────────────────────────────┘
//! ```
//! | file | job |
//! |---|---|
//! | `clauses` | the clauses of a merge, as a user gives them |
//! | `sides` | the rows of table and source, beside each other |
//! | `assignments` | the values that columns get, checked against the table |
//! | `condition` | by which values rows match, and what is left to be evaluated for each pair |
//! | `merge_plan` | the clauses, checked against the columns of table and source |
//! | `given_rows` | the rows of a merge, by the values that they are joined by |
//! | `pairs` | which rows match which stored ones |
//! | `one_batch` | batches as one, where its columns hold all values |
//! | `literals` | values of a column, for filters |
//! | `stored_query` | which stored rows are read |
//! | `stored_batches` | these rows, in batches of so many rows or bytes |
//! | `made_rows` | rows to write |
//! | `apply` | what the first clause whose condition is true makes of each row |
//! | `check` | stored rows that several given ones match |
//! | `merge` | from given rows to the commit |
//! | `update_where` | from a condition to the commit |
//! | `write` | writes changed rows, unless there are none |

mod apply;
mod assignments;
mod check;
mod clauses;
mod condition;
mod given_rows;
mod literals;
mod made_rows;
mod merge;
mod merge_plan;
mod one_batch;
mod pairs;
mod sides;
mod stored_batches;
mod stored_query;
#[cfg(test)]
mod testing;
mod update_where;
mod write;

pub use clauses::{ClauseAction, ClauseSide, ClauseValues, MatchedBy, NewValue, RowClause};
pub use merge::merge;
pub use update_where::{UpdatedRows, update_where};
pub use write::RowsChanged;
