//! Writes that others have completed since a write began.

use super::conflicts::ConflictCheck;
use mortice_base::error::Result;
use mortice_table::timeline::{Instant, MetadataPart, WriteVisitor};

impl ConflictCheck<'_> {
    /// Visits the writes that were not completed when this write began and are now, each once, those that were archived since as well.
    ///
    /// # Errors
    /// Errors of `visit`; those of reading the timeline and the archive.
    pub fn visit_completed_since(&self, visit: &mut WriteVisitor<'_>) -> Result<()> {
        let is_new =
            |other: &&Instant| self.is_other(&other.requested_time) && !self.before.is_completed(&other.requested_time);
        for other in self.now.completed_writes().filter(is_new) {
            if let Some(metadata) = self.now.commit_metadata(other, MetadataPart::All)? {
                visit(other, metadata)?;
            }
        }
        self.now.visit_archived_since(self.before, &mut |other, metadata| match self.is_other(&other.requested_time) {
            true => visit(other, metadata),
            false => Ok(()),
        })
    }
}
