//! SQL's `MERGE INTO`: the rows that a merge writes, made of given rows and the stored rows of their keys.
//!
//! Rows are matched by record key and partition path, as the table's key generator makes them. Values of partition
//! columns do not suffice: queries take them from the path, which does not say all of them (an empty string, a
//! timestamp). Stored rows are read with filters on both, so that other partitions and file groups are skipped. Matched
//! rows are written with all their columns, as one upsert with the rows that are inserted and deleted.
//!
//! ```text
//! clauses ─> plan ─┬─> run: keys ─> stored_rows ─> matching ─> joined_rows ─> write        one process
//!                  └─> keyed rows ─> (a join of another engine) ─> joined_rows             mortice.spark
//! ```
//! | file | job |
//! |---|---|
//! | `clauses` | what a merge is to do |
//! | `spelling` | names of columns, where case is ignored |
//! | `refusals` | tables and options that cannot be merged into |
//! | `plan` | the clauses, resolved against the table and the columns of the rows |

mod clauses;
mod plan;
mod refusals;
mod spelling;
#[cfg(test)]
mod testing;

pub use clauses::{MergeClauses, NotMatched};
pub use plan::MergePlan;
