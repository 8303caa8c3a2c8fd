//! What takes a table back to an earlier state, and what makes that possible.
//!
//! | file | job |
//! |---|---|
//! | `rollback` | undoes one instant |
//! | `restore` | undoes all instants after a savepoint |
//! | `readable_without` | whether the table can be read after it |
//! | `savepoint` | keeps the state at an instant, until it is deleted |

mod readable_without;
mod restore;
mod rollback;
mod savepoint;
#[cfg(test)]
mod tests;

pub use restore::{RestoreResult, plan_restore, run_restore};
pub use rollback::{RollbackResult, plan_rollback, run_rollback};
pub use savepoint::{
    KeptFiles, SavepointRequest, SavepointResult, plan_savepoint, plan_savepoint_deletion, run_savepoint,
    run_savepoint_deletion,
};

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// The requested time that a user names.
///
/// # Errors
/// `InvalidArgument` if the text is no instant.
fn requested_time(text: &str) -> Result<RequestedTime> {
    RequestedTime::parse(text).ok_or_else(|| {
        Error::invalid_argument(format!("{text:?} is not the requested time of an instant, such as 20240101120000000"))
    })
}
