//! Compactions of the metadata table (`HoodieBackedTableMetadataWriter.compactIfNecessary`): all file groups with logs,
//! at once.
//!
//! | | table version 8 and later | up to 7 |
//! |---|---|---|
//! | instant | a new time; with an instant that is pending in the table and completed here, the millisecond before the first such | that of the last delta commit, and `001` |
//! | not while | | an instant of the table is pending that is not later than the last delta commit |
//!
//! So an instant that may yet be rolled back is in no base file: its logs begin the next slice.
//!
//! | # | operation | if the process stops after it |
//! |---|---|---|
//! | 1 | `t.compaction.requested`: the plan | the next writer executes it |
//! | 2 | `t.compaction.inflight` | the same |
//! | 3 | for each file group: the marker, then the base file | the same: base files of the instant are deleted first |
//! | 4 | `t_c.commit` | the compaction is complete |
//! | 5 | markers are deleted | the next compaction leaves them; they are empty files |

use std::collections::BTreeSet;

use bytes::Bytes;

use super::compact_group::GroupCompaction;
use super::options::MetadataServiceOptions;
use crate::compaction::planning::{operation_of, plan_of, planned_groups, planned_slices, slices_to_compact};
use crate::service_table::ServiceTable;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::{Clock, millisecond_before};
use mortice_commit::metadata_upkeep::{METADATA_ROOT, RecordSchema};
use mortice_merge::config::TimelineZone;
use mortice_storage::{PutOutcome, parallel};
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, OrderedMap, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, InstantState, Timeline, WriteOperation};

/// What compactions up to table version 7 have behind the time of the last delta commit (`OperationSuffix.COMPACTION`).
const SUFFIX: &str = "001";
/// The size that Hudi expects of a base file (`hoodie.parquet.max.file.size`), for the metrics of plans.
const EXPECTED_BYTES: u64 = 120 << 20;
/// Delta commits that the write is about to add.
const AHEAD: u64 = 1;

/// Compacts a metadata table.
pub(super) struct MetadataCompaction<'a> {
    /// The timeline of the table.
    pub(super) data: &'a Timeline,
    pub(super) clock: &'a Clock,
    /// The folders of partitions.
    pub(super) partitions: &'a [String],
    pub(super) options: &'a MetadataServiceOptions,
}

impl MetadataCompaction<'_> {
    /// Whether there is a plan to execute, or one is due.
    pub(super) fn is_due(&self, metadata: &Timeline, zone: TimelineZone) -> Result<bool> {
        if metadata.pending(Action::Compaction).next().is_some() {
            return Ok(true);
        }
        let now = self.clock.requested_time(&[self.data, metadata])?;
        // A commit that fills the number would make the next rollback by Hudi compact first, and then refuse to undo
        // what is in a base file: the metadata table is compacted one commit before that.
        Ok(self.options.trigger.is_due(metadata, &now, zone, AHEAD))
    }

    /// Executes the plans that are on the timeline, oldest first. Returns whether it executed one.
    pub(super) fn execute_pending(&self, metadata: &mut ServiceTable) -> Result<bool> {
        let pending: Vec<Instant> = metadata.timeline.pending(Action::Compaction).cloned().collect();
        let mut is_changed = false;
        for instant in pending {
            is_changed |= self.execute(metadata, &instant.requested_time)?;
        }
        Ok(is_changed)
    }

    /// Plans a compaction and executes it, if one is due. Returns whether it did.
    pub(super) fn compact(&self, metadata: &mut ServiceTable) -> Result<bool> {
        let timeline = &metadata.timeline;
        let services = [Action::Compaction, Action::LogCompaction];
        if services.iter().any(|action| timeline.pending(*action).next().is_some()) {
            return Ok(false);
        }
        let Some(instant) = self.next_instant(metadata)? else { return Ok(false) };
        if !self.options.trigger.is_due(timeline, &instant, metadata.config.timeline_zone, AHEAD) {
            return Ok(false);
        }
        let files = self.partitions.iter().map(|partition| metadata.files(partition)).collect::<Result<Vec<_>>>()?;
        let slices = slices_to_compact(metadata, &files, &planned_groups(timeline)?, &instant)?;
        if slices.is_empty() {
            return Ok(false);
        }
        let plan = plan_of(slices.iter().map(|slice| operation_of(slice, EXPECTED_BYTES)).collect());
        let put = metadata.timeline_writer().request(&instant, Action::Compaction, &Bytes::from(plan.to_avro()?))?;
        if put == PutOutcome::Refused {
            let message = "another writer compacts the metadata table at the same time";
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(METADATA_ROOT).at_instant(&instant));
        }
        metadata.reload()?;
        self.execute(metadata, &instant)
    }

    /// The instant of a new compaction; none if it has to wait.
    fn next_instant(&self, metadata: &ServiceTable) -> Result<Option<RequestedTime>> {
        let timeline = &metadata.timeline;
        if metadata.is_v1() {
            let Some(last) = last_delta_commit(timeline) else { return Ok(None) };
            if self.pending().any(|time| time <= last) {
                self.check_piled_up(timeline)?;
                return Ok(None);
            }
            let instant = RequestedTime::from_metadata("compaction instant", &format!("{last}{SUFFIX}"))?;
            return Ok(Some(instant).filter(|instant| timeline.instants_at(instant).is_empty()));
        }
        let completed = |time: &&RequestedTime| timeline.instants_at(time).iter().any(Instant::is_completed);
        let Some(first) = self.pending().filter(completed).min() else {
            return self.clock.requested_time(&[self.data, timeline]).map(Some);
        };
        let before = millisecond_before(first);
        let is_free = |time: &RequestedTime| {
            let mut compactions = timeline.completed_writes().filter(|instant| instant.action == Action::Commit);
            timeline.instants_at(time).is_empty() && compactions.all(|instant| instant.requested_time < *time)
        };
        Ok(before.filter(is_free))
    }

    /// Requested times of the table's pending instants.
    fn pending(&self) -> impl Iterator<Item = &RequestedTime> {
        self.data.instants().iter().filter(|instant| !instant.is_completed()).map(|instant| &instant.requested_time)
    }

    fn check_piled_up(&self, timeline: &Timeline) -> Result<()> {
        let last =
            crate::compaction::planning::last_completed_compaction(timeline).map(|instant| &instant.requested_time);
        let is_later = |instant: &&Instant| {
            instant.action == Action::DeltaCommit && last.is_none_or(|last| instant.requested_time > *last)
        };
        let count = timeline.instants().iter().filter(is_later).count() as u64;
        if count <= self.options.max_when_pending {
            return Ok(());
        }
        let message = format!(
            "the metadata table has {count} delta commits that cannot be compacted while an instant of the table is pending (at most {}): \
             complete or roll back the pending instant, or raise hoodie.metadata.max.deltacommits.when_pending",
            self.options.max_when_pending
        );
        Err(Error::invalid_table(message).in_file(METADATA_ROOT))
    }

    /// Executes a plan. Returns false if it has to wait: an instant of the plan's logs is pending in the table.
    ///
    /// # Errors
    /// As for [`planned_slices`] and [`GroupCompaction::run`]; the compaction stays pending.
    fn execute(&self, metadata: &mut ServiceTable, instant: &RequestedTime) -> Result<bool> {
        let slices = planned_slices(metadata, instant, Action::Compaction)?;
        let pending: BTreeSet<&RequestedTime> = self.pending().collect();
        if self.has_to_wait(metadata, &slices, &pending, instant) {
            return Ok(false);
        }
        if metadata.timeline.instants_at(instant).iter().any(|instant| instant.state == InstantState::Inflight) {
            delete_base_files(metadata, &slices, instant)?;
        }
        let writer = metadata.timeline_writer();
        writer.start(instant, Action::Compaction, &Bytes::new())?;
        let timeline = &metadata.timeline;
        let latest = timeline.completed_writes().next_back().map_or(instant, |latest| &latest.requested_time);
        let is_committed = |time: &RequestedTime| timeline.is_completed(time) && !pending.contains(time);
        let groups = GroupCompaction { table: metadata, instant, latest, is_committed: &is_committed };
        let threads = parallel::cores();
        let stats = parallel::map(&slices, threads, |slice| groups.run(slice))?;
        let content = writer.commit_content(&commit_metadata(metadata, stats))?;
        let completion = self.clock.completion_time(instant, &[self.data, timeline])?;
        writer.complete_or_fail(instant, Action::Compaction, &completion, &content)?;
        metadata.markers(instant).remove()?;
        metadata.reload()?;
        Ok(true)
    }

    fn has_to_wait(
        &self,
        metadata: &ServiceTable,
        slices: &[FileSlice],
        pending: &BTreeSet<&RequestedTime>,
        instant: &RequestedTime,
    ) -> bool {
        if metadata.is_v1() {
            return pending.iter().any(|time| *time <= instant);
        }
        let mut logs = slices.iter().flat_map(|slice| &slice.log_files);
        logs.any(|log| LogFileName::parse(log.name()).is_some_and(|name| pending.contains(&name.instant)))
    }
}

fn last_delta_commit(timeline: &Timeline) -> Option<&RequestedTime> {
    let mut delta_commits = timeline.completed_writes().filter(|instant| instant.action == Action::DeltaCommit);
    delta_commits.next_back().map(|instant| &instant.requested_time)
}

/// Deletes what an attempt that was stopped has written: base files of the planned groups with the compaction's
/// instant.
fn delete_base_files(metadata: &ServiceTable, slices: &[FileSlice], instant: &RequestedTime) -> Result<()> {
    let partitions: BTreeSet<&str> = slices.iter().map(|slice| slice.partition.as_str()).collect();
    for partition in partitions {
        for base in metadata.files(partition)?.base_files {
            let is_planned =
                slices.iter().any(|slice| slice.partition == partition && slice.file_id == base.name.file_id);
            if is_planned && base.name.instant == *instant {
                metadata.delete(&format!("{partition}/{}", base.name.name))?;
            }
        }
    }
    Ok(())
}

fn commit_metadata(metadata: &ServiceTable, stats: Vec<HoodieWriteStat>) -> HoodieCommitMetadata {
    let mut by_partition: OrderedMap<Vec<HoodieWriteStat>> = OrderedMap::new();
    for stat in stats {
        let partition = stat.partition_path.clone().unwrap_or_default();
        match by_partition.get_mut(&partition) {
            Some(stats) => stats.push(stat),
            None => by_partition.insert(partition, vec![stat]),
        }
    }
    let schema = RecordSchema::of_version(metadata.config.version).commit.to_owned();
    HoodieCommitMetadata {
        partition_to_write_stats: Some(by_partition),
        compacted: Some(true),
        extra_metadata: Some(OrderedMap::from_iter([("schema", schema)])),
        operation_type: Some(WriteOperation::Compact.name().to_owned()),
        ..HoodieCommitMetadata::default()
    }
}
