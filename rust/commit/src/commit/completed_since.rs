//! Writes that others have completed since a write began.

use super::conflicts::ConflictCheck;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_table::timeline::{Action, Instant, MetadataPart, WriteVisitor};

impl ConflictCheck<'_> {
    /// Visits the writes that were not completed when this write began and are now, each once, those that were archived
    /// since as well.
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

    /// Makes sure that no other write was under way at the same time as this one, services aside, whose file groups are
    /// compared.
    ///
    /// This is for writers that share no lock. Each has its instant on the timeline before it looks for others, and
    /// looks before it completes it: of two that overlap, the one whose instant came later sees the other's, pending or
    /// completed.
    ///
    /// # Errors
    /// `WriteConflict`, naming the other instant; those of reading the timeline and the archive.
    pub fn check_alone(&self) -> Result<()> {
        let clustering = self.now.pending_clustering()?;
        let is_service = |other: &Instant| {
            matches!(other.action, Action::Compaction | Action::LogCompaction | Action::Clustering)
                || clustering.iter().any(|instant| instant.is_same(other))
        };
        // What was pending when this write began is a failed write, which is rolled back, or kept by the options of
        // this one.
        let is_new = |other: &&Instant| {
            self.is_other(&other.requested_time)
                && !self.before.has_pending_at(&other.requested_time)
                && !is_service(other)
        };
        if let Some(other) = self.now.pending_writes().find(is_new) {
            return Err(self.not_alone(other));
        }
        self.visit_completed_since(&mut |other, metadata| match metadata.is_of_service() {
            true => Ok(()),
            false => Err(self.not_alone(other)),
        })
    }

    fn not_alone(&self, other: &Instant) -> Error {
        let message = format!(
            "write {} and {other} of another writer were under way at the same time, without a lock; nothing was committed: write again, or \
             have all writers share a lock (hoodie.write.concurrency.mode=optimistic_concurrency_control and hoodie.write.lock.provider)",
            self.instant
        );
        Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant)
    }
}
