//! How many rows a merge inserted, updated and deleted, as the write statistics of a commit have it.

use super::super::outcome::MergeOutcome;

/// Counts of a merge so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Base rows.
    pub base_rows: u64,
    /// Base rows that a record, or what was folded of several, has replaced.
    pub updates: u64,
    /// Base rows that were deleted.
    pub deletes: u64,
    /// Rows of keys that no base row has.
    pub inserts: u64,
    /// Deletes of keys that no base row has.
    pub unmatched_deletes: u64,
}

impl MergeCounts {
    pub(super) fn add_base(&mut self, outcomes: impl Iterator<Item = MergeOutcome>) {
        let (replaced, deleted) = counted(outcomes);
        self.updates = self.updates.saturating_add(replaced);
        self.deletes = self.deletes.saturating_add(deleted);
    }

    pub(super) fn add_unmatched(&mut self, outcomes: impl Iterator<Item = MergeOutcome>) {
        let (replaced, deleted) = counted(outcomes);
        self.inserts = self.inserts.saturating_add(replaced);
        self.unmatched_deletes = self.unmatched_deletes.saturating_add(deleted);
    }
}

/// How many outcomes replace, and how many delete.
fn counted(outcomes: impl Iterator<Item = MergeOutcome>) -> (u64, u64) {
    outcomes.fold((0, 0), |(replaced, deleted), outcome| match outcome {
        MergeOutcome::Keep => (replaced, deleted),
        MergeOutcome::Replace(_) => (replaced + 1, deleted),
        MergeOutcome::Delete(_) => (replaced, deleted + 1),
    })
}
