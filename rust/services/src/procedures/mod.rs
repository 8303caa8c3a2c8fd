//! Hudi's procedures of `CALL`: their names, arguments and columns, and the rows of those that this crate computes.
//!
//! | file | contents |
//! |---|---|
//! | `catalogue.tsv`, `catalogue` | all procedures |
//! | `arguments`, `value` | what a call gives, and the values of rows |
//! | `call` | a call: its table, its arguments |
//! | `run` | what computes the rows of each procedure |
//! | `services` | services that need nothing of an engine: savepoints, rollbacks, restores, versions |
//! | `metadata` | metadata of instants, typed |
//! | `commits`, `commit_files` | `show_commits…`, `show_archived_commits…`, `show_commit_…`, `stats_wa`, `commits_compare` |
//! | `cleans`, `rollbacks`, `plans` | what table services did and plan; the rows of `run_clean`, `run_compaction`, `run_clustering` |
//! | `instants`, `export` | `show_timeline`; instants as files |
//! | `file_slices`, `file_sizes`, `file_status` | slices and files of the table |
//! | `paths` | folders and files by patterns |
//! | `metadata_table`, `column_bounds` | what the metadata table contains |
//! | `log_files`, `records_as_json` | blocks and records of log files |
//! | `bootstrap`, `repairs`, `lock_audit`, `help` | the others |
//!
//! Rows are those of Hudi 1.2 but for their order where Hudi's is that of a Java hash map: here they are sorted.

mod arguments;
mod bootstrap;
mod call;
mod catalogue;
mod cleans;
mod column_bounds;
mod commit_files;
mod commits;
mod export;
mod file_sizes;
mod file_slices;
mod file_status;
mod help;
mod instants;
mod lock_audit;
mod log_files;
mod metadata;
mod metadata_table;
mod paths;
mod plans;
mod records_as_json;
mod repairs;
mod rollbacks;
mod run;
mod services;
mod value;

pub use arguments::Arguments;
pub use catalogue::{ArgumentType, Parameter, Procedure, ProcedureKind, procedures};
pub use run::{rows_of_service, run_procedure};
pub use services::{ServiceRows, run_service};
pub use value::{ProcedureRow, ProcedureValue};
