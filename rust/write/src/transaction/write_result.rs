//! What a write or a table service did.

use super::Committed;
use crate::rows::RefusedRows;

/// What a write did.
#[derive(Debug, Clone)]
pub struct WriteResult {
    /// The commit.
    pub committed: Committed,
    /// Rows that were left out, as they could not be written.
    pub refused: RefusedRows,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}
