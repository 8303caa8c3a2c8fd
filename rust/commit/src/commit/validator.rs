//! Checks of the table as a write would leave it, before the write is completed (`hoodie.precommit.validators`).

use mortice_base::error::Result;
use mortice_table::plan::OpenTable;

/// A check of the table as a write would leave it.
pub trait CommitValidator: Send + Sync {
    /// Checks the table, in which the write seems to be completed.
    fn validate(&self, table: OpenTable) -> Result<()>;
}
