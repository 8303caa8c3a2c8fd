//! Failed writes: pending instants that nobody goes on with (`BaseHoodieTableServiceClient.rollbackFailedWrites`).
//!
//! Only writes of rows fail. A pending compaction, log compaction or clustering is a plan that is executed later.

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{FailedWrites, HeartbeatOptions, Heartbeats};
use mortice_storage::FileStore;
use mortice_table::timeline::{Action, Timeline};

use super::rollback::Rollbacks;

/// What became of failed writes.
#[derive(Debug, Default)]
pub(crate) struct RolledBack {
    /// Whether rollbacks that others had begun were completed.
    has_finished_others: bool,
    /// The requested times of the writes that were rolled back.
    pub instants: Vec<RequestedTime>,
}

impl RolledBack {
    /// Whether the table's timeline is another one than before.
    #[must_use]
    pub(crate) fn is_changed(&self) -> bool {
        self.has_finished_others || !self.instants.is_empty()
    }
}

/// Rolls failed writes back, newest first. `timeline` was read just before.
///
/// With several writers the caller holds the lock, under which writers create heartbeat and instant, and complete it.
pub(crate) fn roll_back_failed_writes(
    rollbacks: &Rollbacks<'_>,
    timeline: &Timeline,
    policy: FailedWrites,
    heartbeat: HeartbeatOptions,
) -> Result<RolledBack> {
    let has_finished_others = policy != FailedWrites::Never && finish_rollbacks(rollbacks, timeline, policy)?;
    let mut instants = match has_finished_others {
        true => failed_writes(&**rollbacks.store, &rollbacks.timeline()?, policy, heartbeat)?,
        false => failed_writes(&**rollbacks.store, timeline, policy, heartbeat)?,
    };
    // Newest first, as Hudi does: rollback blocks undo the newest blocks of a log first.
    instants.reverse();
    for instant in &instants {
        rollbacks.roll_back_failed(instant)?;
    }
    Ok(RolledBack { has_finished_others, instants })
}

/// Why a failed write cannot be rolled back in the metadata table, if there is one. A writer that had lost its lock may
/// have completed it, and taken it off again; another one has compacted the metadata table meanwhile.
pub(crate) fn refused_by_metadata(
    rollbacks: &Rollbacks<'_>,
    timeline: &Timeline,
    policy: FailedWrites,
    heartbeat: HeartbeatOptions,
) -> Result<Option<Error>> {
    let Some(metadata) = rollbacks.metadata else { return Ok(None) };
    let pending = pending_writes(timeline)?;
    let refused: Vec<(&RequestedTime, Error)> =
        pending.iter().filter_map(|write| Some((write, metadata.check(write).err()?))).collect();
    if refused.is_empty() {
        return Ok(None);
    }
    let failed = failed_writes(&**rollbacks.store, timeline, policy, heartbeat)?;
    Ok(refused.into_iter().find(|(write, _)| failed.contains(write)).map(|(_, error)| error))
}

/// The requested times of failed writes on a timeline that was read just before, oldest first.
pub(crate) fn failed_writes(
    store: &dyn FileStore,
    timeline: &Timeline,
    policy: FailedWrites,
    heartbeat: HeartbeatOptions,
) -> Result<Vec<RequestedTime>> {
    let mut failed = pending_writes(timeline)?;
    match policy {
        FailedWrites::Never => return Ok(Vec::new()),
        FailedWrites::Eager => {}
        FailedWrites::Lazy if failed.is_empty() => {}
        // After the timeline: an instant is created after its heartbeat.
        FailedWrites::Lazy => {
            let heartbeats = Heartbeats::list(store)?;
            failed.retain(|instant| heartbeats.is_expired(instant, heartbeat));
        }
    }
    Ok(failed)
}

/// Completes the rollbacks that a writer began, also those of completed instants; with several writers only those that
/// have undone something. Those of a restore are left to the restore. Returns whether there were any.
fn finish_rollbacks(rollbacks: &Rollbacks<'_>, timeline: &Timeline, policy: FailedWrites) -> Result<bool> {
    if timeline.pending(Action::Restore).next().is_some() || timeline.pending(Action::Rollback).next().is_none() {
        return Ok(false);
    }
    rollbacks.forget_rollbacks_of_restores(timeline)?;
    if policy == FailedWrites::Lazy {
        rollbacks.give_up_unstarted()?;
    }
    rollbacks.finish_pending().map(|_| true)
}

fn pending_writes(timeline: &Timeline) -> Result<Vec<RequestedTime>> {
    let clustering = timeline.pending_clustering()?;
    let is_write = |action| matches!(action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit);
    let writes = timeline
        .pending_writes()
        .filter(|instant| is_write(instant.action) && !clustering.iter().any(|planned| planned.is_same(instant)));
    Ok(writes.map(|instant| instant.requested_time.clone()).collect())
}
