//! What a program calls to change a table: writes of rows, changes of its schema and its files, and the same by the
//! tasks of an engine.
//!
//! | file | job |
//! |---|---|
//! | `read_state` | writes that were made from rows of the table |
//! | `pending_clustering` | updates of file groups that a pending clustering is to replace |
//! | `profile` | what a write is about to do, for other writers |
//! | `tasks` | the rows of one file group, written |
//! | `retries` | writes that are repeated after a conflict |
//! | `alter_schema` | changes columns |
//! | `delete_partitions` | deletes partitions |
//! | `delete_where` | deletes the rows that a filter selects |
//! | `merge_into/` | SQL's `MERGE INTO` |
//! | `row_changes/` | changes of rows by expressions, and a merge by any condition |
//! | `bootstrap/` | tables that are made of folders of Parquet files |
//! | `bulk_insert/` | rows that go to new file groups, streamed |
//! | `write_input` | what a user gives to a write |
//! | `write` | from a user's rows to the commit |
//! | `create_for_write` | the table that a write creates |
//! | `statement_options` | what options say of Spark's `INSERT` and `CREATE TABLE` |
//! | `stream_batches` | batches of streams, each of which is written once |
//! | `distributed/` | writes whose rows are in other processes |

mod alter_schema;
mod bootstrap;
mod bulk_insert;
mod create_for_write;
mod delete_partitions;
mod delete_where;
pub mod distributed;
mod merge_into;
mod pending_clustering;
mod profile;
mod read_state;
mod retries;
mod row_changes;
pub mod statement_options;
mod stream_batches;
mod tasks;
mod write;
mod write_input;

pub use alter_schema::{ColumnChanges, alter};
pub use bootstrap::bootstrap;
pub use bulk_insert::bulk_insert;
pub use create_for_write::{create_table_for_write, forget_schema};
pub use delete_partitions::delete_partitions;
pub use delete_where::delete_where;
pub use merge_into::{
    ACTION_COLUMN, DELETES_COLUMN, GIVEN_PREFIX, KEY_COLUMN, MISFIT_COLUMN, MergeClauses, MergePlan, NotMatched,
    PATH_COLUMN, REPEATED, RowAction, STORED_PREFIX, UPDATES_COLUMN, matched_twice, merge_into,
};
pub use read_state::MergeSource;
pub use retries::pause_after_conflict;
pub use row_changes::{
    ClauseAction, ClauseSide, ClauseValues, MatchedBy, NewValue, RowClause, RowsChanged, UpdatedRows, merge,
    update_where,
};
pub use stream_batches::StreamBatch;
pub use write::write;
pub use write_input::WriteInput;

#[cfg(test)]
mod tests;
