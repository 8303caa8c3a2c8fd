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

pub use restore::{RestoredTable, restore};
pub use rollback::{UndoneInstant, rollback};
pub use savepoint::{CreatedSavepoint, KeptFiles, SavepointNote, create_savepoint, delete_savepoint};

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
