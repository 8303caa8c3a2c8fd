//! Takes a table back to a savepoint (`BaseHoodieWriteClient.restoreToSavepoint`).
//!
//! The metadata table is rolled back with each write, if it has what was undone in logs. Otherwise it is deleted before
//! anything is undone, and built again from a listing afterwards: one that was compacted or built since cannot be
//! undone. Readers list the storage meanwhile. Up to table version 7 it is always built again. Hudi restores it to the
//! savepoint, and then compares it with a listing of the table; one that was compacted after the savepoint, but not
//! before it, Hudi deletes, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::leftovers::remove_leftovers;
use super::readable_without::check_readable_without;
use super::requested_rollback::{RollbackResult, preview};
use super::requested_time;
use super::restore::BegunRestore;
use super::rollback::{Rollbacks, UndoneFiles};
use super::savepoint::check_completed;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_commit::metadata_upkeep::{MetadataOptions, MetadataUpkeep};
use mortice_commit::writable_table::{TableLocation, TableState, WritableTable};
use mortice_formats::filter::Filter;
use mortice_storage::Storage;
use mortice_table::file_group::files_of;
use mortice_table::timeline::{Instant, Timeline};

/// A table that was restored, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreResult {
    /// The instant that it was restored to.
    pub instant: RequestedTime,
    /// The requested time of the restore; none if nothing was done.
    pub restore: Option<RequestedTime>,
    /// The instants that were undone, newest first. Those that an earlier attempt has undone are not among them.
    pub undone: Vec<RollbackResult>,
}

/// Restores a table to a savepoint, or to another completed write whose files are all there: undoes all later writes,
/// newest first. No other writer may be writing. A restore that was stopped goes on.
///
/// Args:
///     location: Where the table is.
///     instant: The requested time of the write.
///     options: Options by Hudi's names, such as those of the lock and of the metadata table.
///
/// # Errors
/// `InvalidArgument` if there is no such write, a later one is savepointed, or another restore is not completed;
/// `FileCleaned` if files of the write were cleaned; `Unsupported` if a later write is archived. Nothing is changed
/// then. Those of the storage, after which the restore can be repeated.
pub fn run_restore(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<RestoreResult> {
    restore(location, instant, options, false)
}

/// What [`run_restore`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_restore`].
pub fn plan_restore(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<RestoreResult> {
    restore(location, instant, options, true)
}

fn restore(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<RestoreResult> {
    let time = requested_time(instant)?;
    let target = WritableTable::open(location, options, "restore")?;
    let restored = target.examined(is_dry_run, |state| {
        let (restored, metadata) = restore_locked(&target, state, &time, is_dry_run)?;
        // One that was kept is changed as options say.
        if let Some(options) = metadata {
            MetadataUpkeep::initialize(target.store(), &target.reopen()?, &options)?;
        }
        Ok(restored)
    });
    restored.map_err(|error| error.in_file(location.uri()))
}

/// Undoes the instants. Returns also the options of the metadata table afterwards: with them one that was deleted is
/// built again.
fn restore_locked(
    table: &WritableTable,
    state: &TableState,
    time: &RequestedTime,
    is_dry_run: bool,
) -> Result<(RestoreResult, Option<MetadataOptions>)> {
    let (rollbacks, timeline) = (Rollbacks::new(state), &state.table.timeline);
    let begun = rollbacks.begun_restore(timeline)?;
    if let Some(other) = begun.as_ref().filter(|begun| begun.restored_to != *time) {
        let message =
            format!("the restore {} to {} is not completed: run it again first", other.restore, other.restored_to);
        return Err(Error::invalid_argument(message).at_instant(time));
    }
    check_restorable(state, time, begun.as_ref())?;
    let instants = match &begun {
        Some(begun) => on_timeline(timeline, begun),
        None => rollbacks.instants_after(timeline, time)?,
    };
    let undone: Result<Vec<RollbackResult>> =
        instants.iter().map(|instant| preview(state, instant, UndoneFiles::OfInstantAndItsSlices)).collect();
    let mut restored = RestoreResult { instant: time.clone(), restore: None, undone: undone? };
    check_readable_without(state, &instants)?;
    if is_dry_run {
        return Ok((restored, None));
    }
    let keeps_metadata = state.metadata.as_ref().is_some_and(|metadata| {
        let gone = begun.iter().flat_map(|begun| gone_from(timeline, begun));
        metadata.can_undo(&instants, &gone.collect::<Vec<_>>())
    });
    let (rollbacks, options) = match keeps_metadata {
        true => (rollbacks, table.metadata_options().clone()),
        false => {
            let again = MetadataUpkeep::drop_to_rebuild(&state.store, &state.table, table.metadata_options())?;
            (Rollbacks::without_metadata(state), again)
        }
    };
    let begun = match begun {
        Some(begun) => begun,
        None => rollbacks.begin_restore(rollbacks.timeline()?, time, &instants)?,
    };
    rollbacks.run_restore(&begun)?;
    // Of an attempt that was stopped once an instant had left the timeline.
    remove_leftovers(&rollbacks, table.concurrency().heartbeat)?;
    restored.restore = Some(begun.restore);
    Ok((restored, Some(options)))
}

/// The instants of a plan that are on the timeline still.
fn on_timeline(timeline: &Timeline, begun: &BegunRestore) -> Vec<Instant> {
    let planned = begun.instants.iter().filter_map(|info| RequestedTime::parse(&info.commit_time));
    planned.filter_map(|time| timeline.writes_at(&time).next().cloned()).collect()
}

/// The instants of a plan that are on the timeline no more.
fn gone_from<'a>(timeline: &'a Timeline, begun: &'a BegunRestore) -> impl Iterator<Item = RequestedTime> + 'a {
    let planned = begun.instants.iter().filter_map(|info| RequestedTime::parse(&info.commit_time));
    planned.filter(|time| timeline.writes_at(time).next().is_none())
}

/// Returns true for a file of an instant of the plan, which an earlier attempt may have deleted: a savepoint also names
/// logs that later writes have added to its slices.
fn is_undone(begun: Option<&BegunRestore>, name: &str) -> bool {
    let instant = LogFileName::parse(name).map(|log| log.instant).or_else(|| Some(BaseFileName::parse(name)?.instant));
    let Some((begun, instant)) = begun.zip(instant) else { return false };
    begun.instants.iter().any(|info| instant == info.commit_time.as_str())
}

/// Makes sure that the table has all files that it had at an instant, and that all later instants can be undone. A
/// restore that was stopped is checked as well: something else may have cleaned the table meanwhile.
fn check_restorable(state: &TableState, time: &RequestedTime, begun: Option<&BegunRestore>) -> Result<()> {
    let timeline = &state.table.timeline;
    let is_later = |instant: &&Instant| instant.action.is_write() && instant.requested_time > *time;
    if let Some(archived) = timeline.archived()?.iter().find(is_later) {
        let message = format!("{archived} is later and archived: it cannot be undone any more");
        return Err(Error::unsupported(message).at_instant(time));
    }
    let savepoint = timeline.savepoints().find(|savepoint| savepoint.requested_time == *time);
    let Some(savepoint) = savepoint else {
        check_completed(timeline, time)?;
        // Refused if a clean may have removed files of it.
        return state.table.file_slices(Some(time.as_str()), &Filter::default()).map(|_| ());
    };
    let place: Arc<dyn Storage> = Arc::<_>::clone(&state.store) as _;
    for (partition, names) in timeline.files_of_savepoint(savepoint, true)? {
        let files = files_of(place.as_ref(), &partition)?;
        let bases = files.base_files.iter().map(|base| base.name.name.as_str());
        let found: std::collections::BTreeSet<&str> =
            bases.chain(files.log_files.iter().map(|log| log.name.name.as_str())).collect();
        let is_missing = |name: &&String| !found.contains(name.as_str()) && !is_undone(begun, name);
        if let Some(missing) = names.iter().find(is_missing) {
            let message = "a file that the savepoint keeps is not there: the table cannot be restored to it";
            return Err(Error::new(mortice_base::error::ErrorKind::FileCleaned, message)
                .in_file(format!("{partition}/{missing}"))
                .at_instant(time));
        }
    }
    Ok(())
}
