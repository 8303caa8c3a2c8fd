//! What the merge makes of a base row, or of a log record without one.

use super::input::RowRef;

/// The outcome for one key. A log record that no base row matches is a [`MergeOutcome::Replace`] if it is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The base row stays.
    Keep,
    /// A log record is the row.
    Replace(RowRef),
    /// The row is deleted by this log record.
    Delete(RowRef),
}
