//! What a write must not have in common with others: its file groups, and the keys that it inserts.

use std::collections::BTreeSet;

use super::commit_metadata::written_groups;
use super::new_keys::NewKeys;
use super::{CommitExtra, Transaction};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{ConflictCheck, WrittenGroups};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;
use mortice_write::write::WriteStatus;

/// What is compared with other writes before this one is completed.
pub(super) struct Claims {
    /// None if they are not compared: others keep out of the way of this one.
    groups: Option<WrittenGroups>,
    new_keys: Option<NewKeys>,
    /// Whether no other write may be under way at all: without a lock, what two of them write cannot be compared.
    is_alone: bool,
}

impl Transaction {
    /// What the write claims.
    pub(super) fn claims(&self, statuses: &[WriteStatus], extra: &CommitExtra) -> Result<Claims> {
        // Writers keep out of the way of a compaction, which was planned before they began: their files belong to other
        // slices.
        let is_compaction = matches!(self.operation, WriteOperation::Compact | WriteOperation::LogCompact);
        let groups = (!is_compaction).then(|| written_groups(statuses, extra));
        let is_alone = !self.target.concurrency().has_several_writers() && !self.is_service();
        Ok(Claims { groups, new_keys: self.new_keys(statuses)?, is_alone })
    }

    /// A check of file groups against the table as it is now.
    pub(super) fn conflict_check<'a>(&'a self, now: &'a OpenTable, groups: &'a WrittenGroups) -> ConflictCheck<'a> {
        ConflictCheck {
            writer: &self.files,
            config: &self.table.config,
            before: &self.table.timeline,
            now: &now.timeline,
            instant: &self.instant,
            groups,
            unit: self.target.concurrency().conflict_unit,
            among: None,
        }
    }
}

impl Claims {
    /// Compares the inserted keys with those of writes that were completed since: all but a few, before the lock is
    /// taken.
    pub(super) fn check_early(&mut self, write: &Transaction) -> Result<()> {
        let Some(new_keys) = &mut self.new_keys else { return Ok(()) };
        if !write.has_completed_since()? {
            return Ok(());
        }
        let now = write.target.reopen()?;
        new_keys.check(&write.conflict_check(&now, &WrittenGroups::default()), &now)
    }

    /// Makes sure that the write is still pending, and has nothing in common with others.
    pub(super) fn check(&mut self, write: &Transaction, now: &OpenTable) -> Result<()> {
        let none = WrittenGroups::default();
        let check = write.conflict_check(now, self.groups.as_ref().unwrap_or(&none));
        match &self.groups {
            Some(_) => check.run()?,
            None => check.check_own_instant()?,
        }
        if self.is_alone {
            check.check_alone()?;
        }
        self.new_keys.as_mut().map_or(Ok(()), |new_keys| new_keys.check(&check, now))
    }

    /// Makes sure that the write, which is completed, has nothing in common with some others.
    ///
    /// Args:
    ///     write: This write.
    ///     now: The table, read under the lock.
    ///     among: The requested times of the others.
    pub(super) fn check_completed(
        &mut self,
        write: &Transaction,
        now: &OpenTable,
        among: &BTreeSet<RequestedTime>,
    ) -> Result<()> {
        let Some(groups) = &self.groups else { return Ok(()) };
        let check = ConflictCheck { among: Some(among), ..write.conflict_check(now, groups) };
        check.compare_groups()?;
        self.new_keys.as_mut().map_or(Ok(()), |new_keys| new_keys.check(&check, now))
    }
}
