//! SQL's `MERGE INTO`: the rows that a merge writes, made of given rows and the stored rows of their keys.
//!
//! Rows are matched by record key and partition path, as the table's key generator makes them. Values of partition
//! columns do not suffice: queries take them from the path, which does not say all of them (an empty string, a
//! timestamp). Stored rows are read with filters on both, so that other partitions and file groups are skipped. Matched
//! rows are written with all their columns, as one upsert with the rows that are inserted and deleted.
//!
//! ```text
//! clauses ─> plan ─┬─> run: keys ─> stored_rows ─> matching ─> chosen_rows ─> write        one process
//!                  └─> keyed rows ─> (a join of another engine) ─> chosen_rows             mortice.spark
//! ```
//! | file | job |
//! |---|---|
//! | `clauses` | what a merge is to do |
//! | `spelling` | names of columns, where case is ignored |
//! | `refusals` | tables and options that cannot be merged into |
//! | `plan` | the clauses, resolved against the table and the columns of the rows |
//! | `table_types` | rows in the table's types |
//! | `given_keys` | keys and partition paths of rows, without the table |
//! | `keyed_rows` | those of given rows, by the columns that match |
//! | `key_text` | the key of a row, for messages |
//! | `repeated_keys` | several rows of one key |
//! | `stored_rows` | the stored rows of keys |
//! | `matching` | which given row matches which stored row |
//! | `partitions` | stored rows whose paths do not say the values of their partition columns |
//! | `set_rows` | rows that are set in a column of flags |
//! | `selected_rows` | which rows a filter selects |
//! | `ordering` | updates that readers would not show |
//! | `shadowed` | inserts that readers would not show |
//! | `chosen_rows` | rows to write, by the actions that are chosen for given rows beside stored ones |
//! | `chosen_columns` | such rows of another engine, as one batch |
//! | `chosen_checks` | what is written of them, checked against what was stored |
//! | `merged_rows` | rows to write, of all given rows |
//! | `run` | from given rows to the commit |
//! | `changed_rows` | rows that another module has changed, by expressions |

mod changed_rows;
mod chosen_checks;
mod chosen_columns;
mod chosen_rows;
mod clauses;
mod given_keys;
mod key_text;
mod keyed_rows;
mod matching;
mod merged_rows;
mod ordering;
mod partitions;
mod plan;
mod refusals;
mod repeated_keys;
mod run;
mod selected_rows;
mod set_rows;
mod shadowed;
mod spelling;
mod stored_rows;
mod table_types;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use changed_rows::{check_changes, rows_of_keys, write_changes};
pub use chosen_checks::{REPEATED, matched_twice};
pub use chosen_columns::{ACTION_COLUMN, GIVEN_PREFIX, MISFIT_COLUMN, STORED_PREFIX};
pub use chosen_rows::{DELETES_COLUMN, UPDATES_COLUMN};
pub use clauses::{ClauseAction, MergeClauses, NotMatched, RowAction};
pub(crate) use key_text::key_value;
pub use keyed_rows::{KEY_COLUMN, PATH_COLUMN};
pub use plan::MergePlan;
pub use run::merge_into;
pub(crate) use run::read_for_changes;
pub(crate) use set_rows::{only, set_values};
pub(crate) use shadowed::{ShadowRules, refuse_shadowed};
pub(crate) use table_types::own_columns;
