//! Undoes one instant, at a user's request (`BaseHoodieTableServiceClient.rollback`).
//!
//! The metadata table is rolled back with it. Where that cannot be done, since it was compacted or built from a listing
//! after the completed instant, it is deleted before anything is undone, and built again afterwards, as in a restore.
//! Hudi refuses such a rollback after a compaction, and does not notice partitions that were built.

use std::collections::BTreeMap;

use super::readable_without::check_readable_without;
use super::requested_time;
use super::restore::check_no_restore;
use super::rollback::{BegunRollback, Rollbacks, UndoneFiles};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::metadata_upkeep::{MetadataOptions, MetadataUpkeep};
use mortice_commit::writable_table::{TableLocation, TableState, WritableTable};
use mortice_table::timeline::{Action, Instant, InstantState};

/// An instant that was undone, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackResult {
    /// Its requested time.
    pub instant: RequestedTime,
    /// Its action, as it was on the timeline.
    pub action: Action,
    /// Its state before.
    pub state: InstantState,
    /// The requested time of the rollback; none if nothing was done.
    pub rollback: Option<RequestedTime>,
    /// The files that were deleted, or would be: paths relative to the table, and bytes.
    pub deleted: Vec<(String, u64)>,
    /// Log files that stay and whose blocks are undone by a rollback block: up to table version 7.
    pub undone_logs: Vec<(String, u64)>,
}

/// Rolls an instant back: a pending one, or the latest completed write.
///
/// Args:
///     location: Where the table is.
///     instant: The requested time.
///     options: Options by Hudi's names, such as those of the lock.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` if the instant may not be rolled back, with the reason; `InvalidTable` if a plan
/// or a marker names files that are not the instant's. Nothing is changed then. Those of the storage, after which the
/// rollback can be repeated.
pub fn run_rollback(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<RollbackResult> {
    rollback(location, instant, options, false)
}

/// What [`run_rollback`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_rollback`].
pub fn plan_rollback(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<RollbackResult> {
    rollback(location, instant, options, true)
}

fn rollback(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<RollbackResult> {
    let time = requested_time(instant)?;
    let target = WritableTable::open(location, options, "rollback")?;
    let undone = target.examined(is_dry_run, |state| {
        let undone = roll_back(&target, state, &time, is_dry_run)?;
        if !is_dry_run {
            MetadataUpkeep::rebuild_dropped(target.store(), &target.reopen()?, target.metadata_options())?;
        }
        Ok(undone)
    });
    undone.map_err(|error| error.in_file(location.uri()))
}

fn roll_back(
    table: &WritableTable,
    state: &TableState,
    time: &RequestedTime,
    is_dry_run: bool,
) -> Result<RollbackResult> {
    check_no_restore(&state.table.timeline)?;
    let (rollbacks, timeline) = (Rollbacks::new(state), &state.table.timeline);
    if let Some(BegunRollback { rollback, target, .. }) = rollbacks.begun(timeline, time)? {
        // Its instant may be gone from the timeline already, and may have been completed before.
        let undone = preview(state, &target, UndoneFiles::OfInstant)?;
        if !is_dry_run {
            able_rollbacks(state, table.metadata_options(), &target)?.finish_pending()?;
        }
        return Ok(RollbackResult { rollback: (!is_dry_run).then_some(rollback), ..undone });
    }
    let concurrency = table.concurrency();
    let heartbeat = concurrency.has_heartbeats().then_some(concurrency.heartbeat);
    let target = rollbacks.check(timeline, time, heartbeat)?;
    if let (Some(metadata), false) = (&state.metadata, target.is_completed()) {
        metadata.check_not_compacted(time)?;
    }
    let undone = preview(state, &target, UndoneFiles::OfInstant)?;
    if target.is_completed() {
        check_readable_without(state, std::slice::from_ref(&target))?;
    }
    if is_dry_run {
        return Ok(undone);
    }
    let rollbacks =
        if target.is_completed() { able_rollbacks(state, table.metadata_options(), &target)? } else { rollbacks };
    Ok(RollbackResult { rollback: rollbacks.roll_back(time)?, ..undone })
}

/// Rollbacks with the metadata table, if an instant can be undone there. Otherwise it is deleted, and named for being
/// built again.
fn able_rollbacks<'a>(state: &'a TableState, options: &MetadataOptions, target: &Instant) -> Result<Rollbacks<'a>> {
    match &state.metadata {
        Some(metadata) if !metadata.can_roll_back(target) => {
            MetadataUpkeep::drop_to_rebuild(&state.store, &state.table, options)?;
            Ok(Rollbacks::without_metadata(state))
        }
        _ => Ok(Rollbacks::new(state)),
    }
}

/// What a rollback of an instant does.
pub(super) fn preview(state: &TableState, target: &Instant, files: UndoneFiles) -> Result<RollbackResult> {
    let files = Rollbacks::new(state).preview(target, files)?;
    Ok(RollbackResult {
        instant: target.requested_time.clone(),
        action: target.action,
        state: target.state,
        rollback: None,
        deleted: files.deleted,
        undone_logs: files.undone_logs,
    })
}
