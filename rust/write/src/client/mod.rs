//! Writes of users' rows.
//!
//! | file | job |
//! |---|---|
//! | `schema` | the columns of a write |
//! | `evolve` | columns of the table that a write changes |
//! | `input_rows` | a user's rows as they are read |
//! | `delete_marks` | which rows are deletes |
//! | `conform` | a user's columns in the table's types |
//! | `given_rows` | rows that are compared with stored ones before they are written |
//! | `read_rows` | a user's batches in the table's types, with their keys |
//! | `read_state` | writes that were made from rows of the table |
//! | `refused_rows` | rows that cannot be written, left out |
//! | `required` | nulls where the table requires a value |
//! | `duplicates` | inserted rows whose keys are in the table |
//! | `combine` | rows of one write that have the same key |
//! | `prepare` | the rows of a write before any is written |
//! | `pending_clustering` | updates of file groups that a pending clustering is to replace |
//! | `profile` | what a write is about to do, for other writers |
//! | `tasks` | the rows of one file group, written |
//! | `replaced_groups` | file groups that a write replaces |
//! | `delete_partitions` | deletes partitions |
//! | `delete_where` | deletes the rows that a filter selects |
//! | `row_sorter` | rows sorted, set aside in files where they are many |
//! | `sort_mode` | the order of the rows of a bulk insert |
//! | `bulk_insert/` | rows that go to new file groups, streamed |
//! | `compaction/` | merges logs into base files, and logs into logs |
//! | `inline_services` | table services after a write |
//! | `build_metadata` | the metadata table that a user asks for |
//! | `clustering/` | file groups rewritten in another order and size |
//! | `write` | from a user's rows to the commit |
//! | `create_for_write` | the table that a write creates |
//! | `distributed/` | writes whose rows are in other processes |
//! | `recovery/` | rollback, savepoints and restore |
//! | `verify/` | whether a table agrees with itself |
//! | `transaction/` | one write, from its requested instant to its completed one, or back |

mod build_metadata;
mod bulk_insert;
mod clustering;
mod combine;
mod compaction;
mod conform;
mod create_for_write;
mod delete_marks;
mod delete_partitions;
mod delete_where;
pub mod distributed;
mod duplicates;
mod evolve;
mod given_rows;
mod inline_services;
mod input_rows;
mod new_keys;
mod operations;
mod partial_update;
mod pending_clustering;
mod prepare;
mod profile;
mod read_rows;
mod read_state;
mod recovery;
mod refused_rows;
mod replaced_groups;
mod required;
mod row_sorter;
mod row_source;
mod schema;
mod sort_mode;
mod tasks;
mod transaction;
mod verify;
mod write;

#[cfg(test)]
mod guarded_services;
#[cfg(test)]
mod service_tests;
#[cfg(test)]
mod stalled_services;
#[cfg(test)]
mod stopped_services;

pub use build_metadata::{BuiltMetadata, MetadataRequest, build_metadata, planned_metadata};
pub use bulk_insert::bulk_insert;
pub use clustering::{ClusterResult, ClusteringSteps, cluster, clustering_preview};
pub use compaction::{
    CompactRequest, Compacted, PlannedCompaction, compact, log_compact, planned_compactions, planned_log_compactions,
};
pub use create_for_write::{create_table_for_write, forget_schema};
pub use delete_partitions::delete_partitions;
pub use delete_where::delete_where;
pub use given_rows::{GivenKeys, columns_of_table, selected_rows};
pub use input_rows::WriteInput;
pub use recovery::{
    CreatedSavepoint, KeptFiles, RestoredTable, SavepointNote, UndoneInstant, create_savepoint, delete_savepoint,
    restore, rollback,
};
pub use refused_rows::RefusedRows;
pub use transaction::{CommitExtra, CommitValidator, Committed, Transaction, with_validator};
pub use verify::{Finding, FindingKind, RepairResult, VerifyOptions, VerifyReport, repair, verify};
pub use write::{WriteResult, write};
