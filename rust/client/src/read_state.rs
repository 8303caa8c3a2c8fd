//! Writes of rows that were made from rows of the table (`MERGE INTO`): what was read has to be what is there when the
//! write begins.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_table::plan::OpenTable;

/// What a write of merged rows has to know of the rows that it was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeSource {
    /// The completed writes of the table that rows were read from, by requested time.
    commits: BTreeSet<String>,
    /// The columns that the merge has changed in rows that are marked as updates.
    updated: Vec<String>,
}

impl MergeSource {
    /// Rows of a table in its present state, of which these columns are changed.
    #[must_use]
    pub fn new(table: &OpenTable, updated: &[String]) -> Self {
        let commits = table.timeline.completed_writes().map(|instant| instant.requested_time.to_string()).collect();
        Self { commits, updated: updated.to_vec() }
    }

    /// The columns that the merge has changed.
    pub(super) fn updated(&self) -> &[String] {
        &self.updated
    }

    /// Makes sure that no write was completed, or rolled back, since the rows were read.
    pub(super) fn check_unchanged(&self, table: &OpenTable) -> Result<()> {
        let now: BTreeSet<&str> =
            table.timeline.completed_writes().map(|instant| instant.requested_time.as_str()).collect();
        // Older ones may have been archived.
        let first = now.first().copied().unwrap_or_default();
        let gone = self.commits.iter().map(String::as_str);
        let gone = gone.filter(|time| now.is_empty() || *time >= first).find(|time| !now.contains(time));
        match now.iter().copied().find(|time| !self.commits.contains(*time)).or(gone) {
            None => Ok(()),
            Some(time) => {
                let message = "another writer has changed the table since its rows were read; merge again, or run the statement again";
                Err(Error::new(ErrorKind::WriteConflict, message).in_file(&table.uri).at_instant(time))
            }
        }
    }
}
