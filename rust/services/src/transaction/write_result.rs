//! What a write or a table service did.

use super::Committed;
use mortice_write::rows::{RefusedRows, SchemaChange};

/// What a write did.
#[derive(Debug, Clone)]
pub struct WriteResult {
    /// The commit.
    pub committed: Committed,
    /// Rows that were left out, as they could not be written.
    pub refused: RefusedRows,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
    /// How often it was tried: more than once after conflicts with other writers.
    pub attempts: u32,
    /// What it has changed of the table's columns.
    pub schema_changes: Vec<SchemaChange>,
}

impl WriteResult {
    /// A commit at the first attempt, of which there is nothing else to say.
    #[must_use]
    pub fn new(committed: Committed) -> Self {
        Self {
            committed,
            refused: RefusedRows::default(),
            warnings: Vec::new(),
            attempts: 1,
            schema_changes: Vec::new(),
        }
    }
}
