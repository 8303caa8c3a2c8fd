//! Whether another writer wrote to the same file groups while a write was under way
//! (`SimpleConcurrentFileWritesConflictResolutionStrategy`).
//!
//! | the other instant | is compared |
//! |---|---|
//! | completed since this write began | its file groups, written and replaced |
//! | the same, a compaction, from table version 8 on | only with base files that this write merged into existing groups |
//! | the same, a compaction, up to version 7 | if its requested time is later than this write's |
//! | pending clustering | the groups of its plan |
//! | pending replacement, requested since this write began | the groups that it announced |
//! | pending compaction, planned since this write began | up to version 7 all groups; from 8 on as above |
//! | a rollback of this write | conflicts in any case |
//!
//! Hudi takes completed instants by requested time and those that were pending when the write began; here they are those that the
//! timeline at the beginning did not have as completed, which is the same set.

use std::collections::BTreeSet;

use super::timeline_writer::TimelineWriter;
use crate::config::{TableConfig, TableType, TimelineLayout};
use crate::error::{Error, Kind, Result};
use crate::names::RequestedTime;
use crate::timeline::metadata::{HoodieCommitMetadata, HoodieRequestedReplaceMetadata, HoodieRollbackPlan, Metadata};
use crate::timeline::{Action, Instant, Part, Timeline};

/// File groups that an error names; of more it names the first.
const NAMED: usize = 5;

/// Partition and file id of file groups.
type Groups = BTreeSet<(String, String)>;

/// The file groups of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenGroups {
    /// All that it writes or replaces.
    pub all: Groups,
    /// Those among them that get a base file which is merged from an earlier slice.
    pub merged: Groups,
}

/// What is checked before a write is completed, under the lock.
pub struct ConflictCheck<'a> {
    /// The timeline's files.
    pub writer: &'a TimelineWriter,
    /// The table.
    pub config: &'a TableConfig,
    /// The timeline when the write began.
    pub before: &'a Timeline,
    /// The timeline as it is now.
    pub now: &'a Timeline,
    /// The write.
    pub instant: &'a RequestedTime,
    /// Its file groups.
    pub groups: &'a WrittenGroups,
}

impl ConflictCheck<'_> {
    /// Makes sure that no other writer wrote to the same file groups.
    ///
    /// # Errors
    /// `WriteConflict`, naming the other instant and the file groups; those of reading the timeline.
    pub fn run(&self) -> Result<()> {
        self.check_own_instant()?;
        for other in self.now.completed_writes() {
            if other.requested_time != *self.instant && !self.before.is_completed(&other.requested_time) {
                self.check_completed(other)?;
            }
        }
        self.check_pending_replacements()?;
        self.check_pending_compactions()
    }

    /// Makes sure that the write is still pending, and that nobody has begun to roll it back.
    ///
    /// # Errors
    /// `WriteConflict` otherwise; those of reading the timeline.
    pub fn check_own_instant(&self) -> Result<()> {
        for rollback in self.now.instants().iter().filter(|instant| instant.action == Action::Rollback) {
            if rollback.requested_time < *self.instant {
                continue;
            }
            let Some(bytes) = self.writer.read_requested(&rollback.requested_time, Action::Rollback)? else { continue };
            let plan = HoodieRollbackPlan::from_bytes(&bytes)?.unwrap_or_default();
            if plan.instant_to_rollback.is_some_and(|target| self.instant == &target.commit_time.as_str()) {
                return Err(self.rolled_back(&rollback.to_string()));
            }
        }
        if self.now.writes_at(self.instant).any(|instant| !instant.is_completed()) {
            return Ok(());
        }
        Err(self.rolled_back("a rollback that is complete"))
    }

    fn rolled_back(&self, by: &str) -> Error {
        let message = format!(
            "another writer took this write for dead and rolled it back ({by}): its heartbeat had expired, or the other writer is \
             configured to be the only one; write again"
        );
        Error::new(Kind::WriteConflict, message).at_instant(self.instant)
    }

    fn check_completed(&self, other: &Instant) -> Result<()> {
        let Some(metadata) = self.now.commit_metadata(other, Part::All)? else { return Ok(()) };
        let is_merge_on_read = self.config.table_type == TableType::MergeOnRead;
        let own = match self.config.layout() {
            TimelineLayout::V2 if is_merge_on_read && other.action == Action::Commit => &self.groups.merged,
            TimelineLayout::V1 if metadata.operation == "COMPACT" && other.requested_time < *self.instant => {
                return Ok(());
            }
            _ => &self.groups.all,
        };
        let written = metadata.write_stats.iter().flat_map(|(partition, stats)| {
            stats.iter().filter_map(|stat| Some((partition.clone(), stat.file_id.clone()?)))
        });
        let replaced = metadata
            .replaced
            .iter()
            .flat_map(|(partition, file_ids)| file_ids.iter().map(|file_id| (partition.clone(), file_id.clone())));
        self.compare(own, written.chain(replaced), other)
    }

    fn check_pending_replacements(&self) -> Result<()> {
        let clustering = self.now.pending_clustering()?;
        for other in self.now.pending_writes() {
            let time = &other.requested_time;
            if clustering.iter().any(|instant| instant.is_same(other)) {
                let Some(bytes) = self.writer.read_requested(time, other.action)? else { continue };
                let plan = HoodieRequestedReplaceMetadata::from_bytes(&bytes)?.unwrap_or_default();
                self.compare(&self.groups.all, clustered(plan), other)?;
            } else if other.action == Action::ReplaceCommit && time > self.instant {
                let Some(bytes) = self.writer.read(&format!("{time}.{}.inflight", other.action))? else { continue };
                let profile = HoodieCommitMetadata::from_bytes(&bytes)?.unwrap_or_default();
                self.compare(&self.groups.all, announced(profile), other)?;
            }
        }
        Ok(())
    }

    fn check_pending_compactions(&self) -> Result<()> {
        let own = if self.config.layout() == TimelineLayout::V1 { &self.groups.all } else { &self.groups.merged };
        let is_new = |instant: &&Instant| {
            !self.before.pending(Action::Compaction).any(|known| known.requested_time == instant.requested_time)
        };
        let new: Vec<&Instant> = self.now.pending(Action::Compaction).filter(is_new).collect();
        if own.is_empty() || new.is_empty() {
            return Ok(());
        }
        for plan in self.now.pending_compactions()? {
            let Some(other) = new.iter().find(|instant| instant.requested_time == plan.instant) else { continue };
            let groups = plan.operations.into_iter().map(|operation| (operation.partition, operation.file_id));
            self.compare(own, groups, other)?;
        }
        Ok(())
    }

    fn compare(&self, own: &Groups, others: impl Iterator<Item = (String, String)>, other: &Instant) -> Result<()> {
        let common: Groups = others.filter(|group| own.contains(group)).collect();
        if common.is_empty() {
            return Ok(());
        }
        let named: Vec<String> =
            common.iter().take(NAMED).map(|(partition, file_id)| format!("{partition}/{file_id}")).collect();
        let more = common.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let state = if other.is_completed() { "completed" } else { "pending" };
        let message = format!(
            "write {} and {other} ({state}) of another writer wrote to the same file groups: {}{more}; nothing was committed, write again",
            self.instant,
            named.join(", ")
        );
        Err(Error::new(Kind::WriteConflict, message).at_instant(self.instant))
    }
}

fn clustered(plan: HoodieRequestedReplaceMetadata) -> impl Iterator<Item = (String, String)> {
    let groups = plan.clustering_plan.and_then(|plan| plan.input_groups).unwrap_or_default();
    let slices = groups.into_iter().flat_map(|group| group.slices.unwrap_or_default());
    slices.filter_map(|slice| Some((slice.partition_path.unwrap_or_default(), slice.file_id?)))
}

/// The groups of a workload profile. New groups have no file id there.
fn announced(profile: HoodieCommitMetadata) -> impl Iterator<Item = (String, String)> {
    let stats = profile.partition_to_write_stats.unwrap_or_default();
    stats.into_iter().flat_map(|(partition, stats)| {
        stats
            .into_iter()
            .filter_map(move |stat| Some((partition.clone(), stat.file_id.filter(|file_id| !file_id.is_empty())?)))
    })
}
