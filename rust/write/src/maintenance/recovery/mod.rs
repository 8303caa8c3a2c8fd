//! What takes a table back to an earlier state, and what makes that possible.
//!
//! | file | job |
//! |---|---|
//! | `locked_table` | a table that is opened for such an action, under its lock |
//! | `rollback` | undoes one instant |
//! | `restore` | undoes all instants after a savepoint |
//! | `savepoint` | keeps the state at an instant, until it is deleted |

mod locked_table;
mod restore;
mod rollback;
mod savepoint;
#[cfg(test)]
mod tests;

pub(super) use locked_table::{LockedTable, ServiceRequest};
pub use restore::{RestoredTable, restore};
pub use rollback::{UndoneInstant, rollback};
pub use savepoint::{CreatedSavepoint, KeptFiles, SavepointNote, create_savepoint, delete_savepoint};
