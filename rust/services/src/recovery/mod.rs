//! What undoes writes, and what makes that possible: rollbacks, restores, savepoints, and what stopped writers leave.
//!
//! | file | job |
//! |---|---|
//! | `rollback_plan` | what undoes an instant: by its markers, or by its commit metadata |
//! | `undo_files` | executes such a plan: deletes files, appends rollback blocks |
//! | `rollback` | the action: plan, files, metadata table, completed instant |
//! | `rollback_checks` | which instants may be rolled back |
//! | `restore` | undoes all instants after one |
//! | `failed_writes` | which pending instants have failed |
//! | `late_files` | data files that a writer put after it was rolled back |
//! | `late_logs` | log files that a writer added after it was rolled back, up to table version 7 |
//! | `leftovers` | markers and heartbeats that a writer left behind |
//! | `requested_rollback`, `requested_restore` | rollbacks and restores that a user asks for |
//! | `readable_without` | whether the table can be read after a rollback |
//! | `savepoint` | keeps the state at an instant, until it is deleted |

mod failed_writes;
mod late_files;
mod late_logs;
mod leftovers;
mod readable_without;
mod requested_restore;
mod requested_rollback;
mod restore;
mod rollback;
mod rollback_checks;
mod rollback_plan;
mod savepoint;
mod undo_files;

#[cfg(test)]
mod rollback_tests;
#[cfg(test)]
mod tests;

pub(crate) use failed_writes::failed_writes;
pub(crate) use failed_writes::{refused_by_metadata, roll_back_failed_writes};
pub(crate) use late_files::{delete_late_files, delete_late_files_of_metadata};
pub(crate) use leftovers::{remove_files_of_attempt, remove_leftovers};
pub use requested_restore::{RestoreResult, plan_restore, run_restore};
pub use requested_rollback::{RollbackResult, plan_rollback, run_rollback};
pub(crate) use restore::check_no_restore;
pub(crate) use rollback::Rollbacks;
pub use savepoint::{
    KeptFiles, SavepointRequest, SavepointResult, plan_savepoint, plan_savepoint_deletion, run_savepoint,
    run_savepoint_deletion,
};

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// The requested time that a user names.
fn requested_time(text: &str) -> Result<RequestedTime> {
    RequestedTime::parse(text).ok_or_else(|| {
        Error::invalid_argument(format!("{text:?} is not the requested time of an instant, such as 20240101120000000"))
    })
}
