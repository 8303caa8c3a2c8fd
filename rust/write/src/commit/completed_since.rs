//! Writes that others have completed since a write began.

use super::conflicts::ConflictCheck;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_table::timeline::{CommitMetadata, Instant, MetadataPart, WriteVisitor};

impl ConflictCheck<'_> {
    /// Visits the writes that were not completed when this write began and are now, each once, those that were archived since as well.
    ///
    /// # Errors
    /// Errors of `visit`; `WriteConflict` if one of them is rolled back meanwhile; those of reading the timeline and the archive.
    pub fn visit_completed_since(&self, visit: &mut WriteVisitor<'_>) -> Result<()> {
        let is_new = |other: &&Instant| {
            other.requested_time != *self.instant && !self.before.is_completed(&other.requested_time)
        };
        for other in self.now.completed_writes().filter(is_new) {
            if let Some(metadata) = self.metadata_of(other)? {
                visit(other, metadata)?;
            }
        }
        self.now.visit_archived_since(self.before, visit)
    }

    /// A writer that was taken for dead completes its instant and deletes it again once it sees the rollback.
    fn metadata_of(&self, other: &Instant) -> Result<Option<CommitMetadata>> {
        self.now.commit_metadata(other, MetadataPart::All).map_err(|error| match error.kind() {
            ErrorKind::FileCleaned => {
                let message =
                    format!("{other} of another writer was rolled back meanwhile; nothing was committed, write again");
                Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant).caused_by(error)
            }
            _ => error,
        })
    }
}
