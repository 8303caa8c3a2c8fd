//! Restores: undo all instants after one, newest first (`RestorePlanActionExecutor`, `BaseRestoreActionExecutor`).
//!
//! | # | operation |
//! |---|---|
//! | 1 | `r.restore.requested` with the plan: the instants, and the one to restore to; `r.restore.inflight` |
//! | 2 | for each instant of the plan that is on the timeline: a rollback, whose plan is later than `r` and is not completed |
//! | 3 | the completed restore |
//! | 4 | rollbacks after the instant that was restored to leave the timeline |
//!
//! A restore that was stopped goes on at 2. The metadata table is rolled back with each instant, before that leaves the
//! timeline; or, if the caller has none ([`Rollbacks::metadata`]), readers must not use one from before 2 on.
//!
//! Which instants are undone (`RestoreInstantComparatorFactory`): up to table version 7 those requested later. From
//! version 8 on those completed later, and all pending writes; but of a merge-on-read table the compactions that were
//! requested later: logs of delta commits before the instant may be in slices that an earlier plan began.

use bytes::Bytes;

use super::rollback::Rollbacks;
use super::rollback_plan::instant_info;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{TableType, TimelineLayout};
use mortice_table::timeline::metadata::{
    HoodieInstantInfo, HoodieRestoreMetadata, HoodieRestorePlan, HoodieRollbackMetadata, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{Action, Instant, Timeline};

/// Attempts to find a requested time that no other writer has.
/// `RestorePlanActionExecutor.LATEST_RESTORE_PLAN_VERSION`.
const PLAN_VERSION: i32 = 2;

/// A restore that was begun and not completed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BegunRestore {
    /// The restore.
    pub restore: RequestedTime,
    /// The instant that it restores to.
    pub restored_to: RequestedTime,
    /// The instants to undo, in this order. Some may be gone from the timeline already.
    pub instants: Vec<HoodieInstantInfo>,
}

impl Rollbacks<'_> {
    /// The instants that a restore undoes, in this order.
    pub(crate) fn instants_after(&self, timeline: &Timeline, time: &RequestedTime) -> Result<Vec<Instant>> {
        let Some(kept) = timeline.writes_at(time).find(|instant| instant.is_completed()) else {
            let message = "the active timeline has no completed write of this requested time";
            return Err(Error::invalid_argument(message).at_instant(time));
        };
        let clustering = timeline.pending_clustering()?;
        let is_clustering = |instant: &Instant| clustering.iter().any(|planned| planned.is_same(instant));
        let writes = timeline.instants().iter().filter(|instant| instant.action.is_write());
        let mut undone: Vec<Instant> = writes
            .filter(|instant| match is_clustering(instant) {
                true => instant.requested_time > *time,
                false => self.is_after(instant, kept),
            })
            .cloned()
            .collect();
        if let Some(saved) = timeline
            .savepoints()
            .find(|saved| undone.iter().any(|instant| instant.requested_time == saved.requested_time))
        {
            let message = "a later instant is savepointed: restore to it, or delete its savepoint first";
            return Err(Error::invalid_argument(message).at_instant(&saved.requested_time));
        }
        // Pending clustering first, then from the one that was completed last: logs of newer instants lie upon files of
        // older ones.
        undone.sort_by(|one, other| {
            let key = |instant: &Instant| (is_clustering(instant), !instant.is_completed());
            key(other).cmp(&key(one)).then_with(|| order(other).cmp(&order(one)))
        });
        Ok(undone)
    }

    fn is_after(&self, instant: &Instant, kept: &Instant) -> bool {
        let is_requested_later = instant.requested_time > kept.requested_time;
        if self.config.layout() == TimelineLayout::V1 {
            return is_requested_later;
        }
        let is_merge_on_read = self.config.table_type == TableType::MergeOnRead;
        let is_compaction = |one: &Instant| matches!(one.action, Action::Compaction | Action::Commit);
        let by_request = is_merge_on_read && (is_compaction(instant) || is_compaction(kept));
        match (&instant.completion_time, &kept.completion_time) {
            _ if by_request || instant.action == Action::LogCompaction => is_requested_later,
            (Some(completed), Some(limit)) => (completed, &instant.requested_time) > (limit, &kept.requested_time),
            _ => true,
        }
    }

    /// The restore that was begun and not completed.
    pub(crate) fn begun_restore(&self, timeline: &Timeline) -> Result<Option<BegunRestore>> {
        let Some(restore) = timeline.pending(Action::Restore).next() else { return Ok(None) };
        let time = &restore.requested_time;
        let bytes = self.timeline_writer().read_requested(time, Action::Restore)?.unwrap_or_default();
        let plan = HoodieRestorePlan::from_bytes(&bytes).map_err(|error| error.at_instant(time))?.unwrap_or_default();
        let Some(restored_to) = plan.savepoint_to_restore_timestamp else {
            let message = "the plan of the restore does not say to which instant: run it again with Hudi";
            return Err(Error::unsupported(message).at_instant(time));
        };
        let restored_to = RequestedTime::from_metadata("savepointToRestoreTimestamp", &restored_to)?;
        Ok(Some(BegunRestore { restore: time.clone(), restored_to, instants: plan.instants_to_rollback }))
    }

    /// Puts the plan of a restore on the timeline.
    pub(crate) fn begin_restore(
        &self,
        timeline: Timeline,
        time: &RequestedTime,
        undone: &[Instant],
    ) -> Result<BegunRestore> {
        let instants: Vec<HoodieInstantInfo> = undone.iter().map(instant_info).collect();
        let plan = HoodieRestorePlan {
            instants_to_rollback: instants.clone(),
            version: Some(PLAN_VERSION),
            savepoint_to_restore_timestamp: Some(time.to_string()),
            ..HoodieRestorePlan::default()
        };
        let content = Bytes::from(plan.to_avro()?);
        let restore = self.request(timeline, Action::Restore, &content).map_err(|error| error.at_instant(time))?;
        Ok(BegunRestore { restore, restored_to: time.clone(), instants })
    }

    /// Undoes the instants of a restore, and completes it. It can be repeated.
    pub(crate) fn run_restore(&self, begun: &BegunRestore) -> Result<()> {
        let started = self.store.time().monotonic();
        let BegunRestore { restore, restored_to, instants } = begun;
        self.check_plan(begun)?;
        let writer = self.timeline_writer();
        writer.start(restore, Action::Restore, &Bytes::new())?;
        let mut undone: Vec<(HoodieInstantInfo, HoodieRollbackMetadata)> = Vec::new();
        for info in instants {
            let time = RequestedTime::from_metadata("commitTime of a restore plan", &info.commit_time)?;
            let timeline = self.timeline()?;
            // It was undone before the restore was stopped.
            let Some(target) = timeline.writes_at(&time).next().cloned() else { continue };
            undone.push((info.clone(), self.roll_back_for_restore(target)?));
        }
        let millis = self.store.time().millis_since(started);
        let completion = self.clock.completion_time(restore, &[&self.timeline()?])?;
        let result = Bytes::from(restore_metadata(restore, undone, millis).to_avro()?);
        writer.complete_or_fail(restore, Action::Restore, &completion, &result)?;
        self.forget_rollbacks(restored_to)
    }

    /// Makes sure that a plan, which another writer may have written, undoes nothing that the table needs after the
    /// restore.
    fn check_plan(&self, begun: &BegunRestore) -> Result<()> {
        let timeline = self.timeline()?;
        let after = self.instants_after(&timeline, &begun.restored_to)?;
        for info in &begun.instants {
            let time = RequestedTime::from_metadata("commitTime of a restore plan", &info.commit_time)?;
            let found = timeline.writes_at(&time).next();
            if found.is_some_and(|found| found.is_completed() && !after.iter().any(|one| one.is_same(found))) {
                let message = format!(
                    "the plan of the restore undoes {time}, which is not after {}: nothing was undone",
                    begun.restored_to
                );
                return Err(Error::invalid_table(message).at_instant(&begun.restore));
            }
        }
        Ok(())
    }

    /// Takes rollbacks after an instant that was restored to off the timeline: those of the restore are not completed.
    fn forget_rollbacks(&self, restored_to: &RequestedTime) -> Result<()> {
        let writer = self.timeline_writer();
        let timeline = self.timeline()?;
        let rollbacks = timeline.instants().iter().rev().filter(|instant| instant.action == Action::Rollback);
        for rollback in rollbacks.filter(|rollback| rollback.requested_time > *restored_to) {
            writer.delete_instant(&rollback.requested_time, Action::Rollback)?;
        }
        Ok(())
    }

    /// Takes rollbacks off the timeline that a completed restore left, which was stopped before it did so itself.
    pub(crate) fn forget_rollbacks_of_restores(&self, timeline: &Timeline) -> Result<()> {
        let mut restores = timeline.instants().iter().filter(|instant| instant.action == Action::Restore);
        let Some(restore) = restores.rfind(|restore| restore.is_completed()) else { return Ok(()) };
        let bytes =
            self.timeline_writer().read_requested(&restore.requested_time, Action::Restore)?.unwrap_or_default();
        let Some(plan) = HoodieRestorePlan::from_bytes(&bytes)? else { return Ok(()) };
        for begun in self.all_begun(timeline)? {
            let is_planned =
                plan.instants_to_rollback.iter().any(|info| begun.target.requested_time == info.commit_time.as_str());
            let is_gone = timeline.writes_at(&begun.target.requested_time).next().is_none();
            if begun.rollback > restore.requested_time && is_planned && is_gone {
                self.timeline_writer().delete_instant(&begun.rollback, Action::Rollback)?;
            }
        }
        Ok(())
    }
}

/// Makes sure that no restore is under way: what else changes the table would delete files that the restore needs, or
/// archive instants that it is to undo.
pub(crate) fn check_no_restore(timeline: &Timeline) -> Result<()> {
    let Some(restore) = timeline.pending(Action::Restore).next() else { return Ok(()) };
    let message = format!(
        "restore {} is not completed: run it again before anything else changes the table, with Table.restore or `mortice restore`",
        restore.requested_time
    );
    Err(Error::unsupported(message).at_instant(&restore.requested_time))
}

/// The time by which newer instants are undone first.
fn order(instant: &Instant) -> (&str, &str) {
    let requested = instant.requested_time.as_str();
    (instant.completion_time.as_ref().map_or(requested, |time| time.as_str()), requested)
}

fn restore_metadata(
    restore: &RequestedTime,
    undone: Vec<(HoodieInstantInfo, HoodieRollbackMetadata)>,
    millis: i64,
) -> HoodieRestoreMetadata {
    let instants: Vec<HoodieInstantInfo> = undone.iter().map(|(info, _)| info.clone()).collect();
    let rollbacks = undone.into_iter().map(|(info, rollback)| (info.commit_time, vec![Some(rollback)]));
    HoodieRestoreMetadata {
        start_restore_time: restore.to_string(),
        time_taken_in_millis: millis,
        instants_to_rollback: instants.iter().map(|info| info.commit_time.clone()).collect(),
        hoodie_restore_metadata: rollbacks.collect::<OrderedMap<_>>(),
        version: Some(1),
        restore_instant_info: instants,
        ..HoodieRestoreMetadata::default()
    }
}
