//! Deletes what stopped writers left and nobody needs, in the table and in its metadata table: markers and heartbeats
//! of instants that are not pending, files that no instant accounts for, files that were not finished, and the
//! completed instants of writes that had been rolled back before.
//!
//! A file is deleted only if it is older than every pending instant, and was so by its modification time for some time:
//! a writer creates its instant before its files, but the clocks of the two may differ. What else a verification finds
//! is not repaired: the rows are gone, or another service brings them back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::findings::{Finding, FindingKind};
use super::stored_files::instant_of;
use super::temporary_files::TemporaryFile;
use super::undone_writes::{undone_findings, without_undone};
use super::verify::{VerifiedFiles, files_and_timeline};
use crate::recovery::check_no_restore;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::delete_heartbeat;
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_commit::writable_table::{TableLocation, TableState, WritableTable};
use mortice_storage::FileStatus;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;
use mortice_write::write::Markers;

/// How old an orphan must be.
const LEAST_AGE: Duration = Duration::from_secs(3600);
const UNKNOWN_AGE: &str = "it stays, as its age is not known";

/// What was repaired, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairResult {
    /// What was deleted, or would be.
    pub repaired: Vec<Finding>,
    /// What is wrong besides, and stays.
    pub left: Vec<Finding>,
}

/// Repairs a table as far as that is safe.
///
/// Args:
///     location: Where the table is.
///     options: Options by Hudi's names, such as those of the lock.
///
/// # Errors
/// `Unsupported`, by name, for a table of a version that is not written; `InvalidTable` if a file is not a regular file
/// of the table: nothing is deleted then; those of the storage, after which it can be repeated.
pub fn run_repair(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<RepairResult> {
    repair(location, options, false)
}

/// What [`run_repair`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_repair`].
pub fn plan_repair(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<RepairResult> {
    repair(location, options, true)
}

fn repair(location: &TableLocation, options: &BTreeMap<String, String>, is_dry_run: bool) -> Result<RepairResult> {
    let target = WritableTable::open(location, options, "repair")?;
    let repaired = take_off_undone(&target, is_dry_run).and_then(|(table, undone)| match is_dry_run {
        true => repair_locked(&target.examined_state(table)?, undone, true),
        false => target.locked_state(|state| repair_locked(state, undone, false)),
    });
    repaired.map_err(|error| error.in_file(location.uri()))
}

/// Takes writes off the timeline that had been rolled back before they were completed: the metadata table lacks them,
/// and is sound without them. Returns the table as it is then, and what was taken off, or would be.
fn take_off_undone(target: &WritableTable, is_dry_run: bool) -> Result<(Arc<OpenTable>, Vec<Finding>)> {
    let (without, undone) = without_undone(target.store(), target.latest())?;
    let findings = undone_findings(&undone, &without);
    if is_dry_run || undone.is_empty() {
        return Ok((without, findings));
    }
    check_no_restore(&without.timeline)?;
    target.locked(|table, _| target.remove_undone(&table)).map(drop)?;
    Ok((target.reopen()?, findings))
}

fn repair_locked(state: &TableState, undone: Vec<Finding>, is_dry_run: bool) -> Result<RepairResult> {
    check_no_restore(&state.table.timeline)?;
    let files = VerifiedFiles::list(&state.store, &state.table)?;
    let (report, _) = files_and_timeline(&state.store, &state.table, &files)?;
    let is_defect = state.defect.is_some();
    let mut result = RepairResult { repaired: undone, left: Vec::new() };
    if let Some(defect) = &state.defect {
        result.repaired.push(Finding::new(FindingKind::UnreadableMetadataTable, METADATA_ROOT, defect.as_str()));
    }
    for finding in report.findings.into_iter().filter(|finding| !(is_defect && is_of_metadata(finding))) {
        let kept = match finding.kind {
            FindingKind::StaleMarkers | FindingKind::DeadHeartbeat => None,
            FindingKind::OrphanFile => why_orphan_stays(state, &files, &finding),
            FindingKind::TemporaryFile => match files.temporary.get(&finding.path) {
                Some(file) => why_unfinished_stays(state, file),
                None => Some(UNKNOWN_AGE),
            },
            _ => Some(""),
        };
        match kept {
            None => result.repaired.push(finding),
            Some("") => result.left.push(finding),
            Some(reason) => result.left.push(Finding { message: format!("{}; {reason}", finding.message), ..finding }),
        }
    }
    let is_file = |finding: &&Finding| matches!(finding.kind, FindingKind::OrphanFile | FindingKind::TemporaryFile);
    for finding in result.repaired.iter().filter(is_file) {
        state.store.check_removable(&finding.path)?;
    }
    // Files before markers, by which they are found.
    result.repaired.sort();
    result.left.sort();
    if !is_dry_run {
        result.repaired.iter().try_for_each(|finding| delete(state, finding))?;
    }
    Ok(result)
}

/// Whether a finding is of a metadata table, which goes with it.
fn is_of_metadata(finding: &Finding) -> bool {
    use FindingKind::{ListedLength, ListedNotStored, ListedUncommitted, StoredNotListed, UnreadableMetadataTable};
    let is_listed = matches!(finding.kind, ListedNotStored | ListedUncommitted | StoredNotListed | ListedLength);
    is_listed || finding.kind == UnreadableMetadataTable || finding.path.starts_with(METADATA_ROOT)
}

/// Why an orphan is not deleted; none if it is older than every pending instant, and than [`LEAST_AGE`].
fn why_orphan_stays(state: &TableState, files: &VerifiedFiles, finding: &Finding) -> Option<&'static str> {
    let (partition, name) = finding.path.rsplit_once('/').unwrap_or(("", &finding.path));
    let in_metadata = || files.metadata.as_ref().and_then(|metadata| metadata.stored.get(partition, name));
    let status = files.stored.get(partition, name).or_else(in_metadata);
    match status.zip(instant_of(name)) {
        Some((status, instant)) => why_young(state, status, Some(&instant)),
        None => Some(UNKNOWN_AGE),
    }
}

/// Why a file that was not finished is not deleted; none if nobody goes on with it: its instant is completed, or it is
/// old.
fn why_unfinished_stays(state: &TableState, file: &TemporaryFile) -> Option<&'static str> {
    let timeline = &state.table.timeline;
    let is_completed = |instant: &RequestedTime| {
        let instants = timeline.instants_at(instant);
        !instants.is_empty() && instants.iter().all(Instant::is_completed)
    };
    if file.instant.as_ref().is_some_and(is_completed) {
        return None;
    }
    why_young(state, &file.status, file.instant.as_ref())
}

/// Why a file may still be in use; none if it cannot be.
fn why_young(state: &TableState, status: &FileStatus, instant: Option<&RequestedTime>) -> Option<&'static str> {
    let mut pending = state.table.timeline.instants().iter().filter(|instant| !instant.is_completed());
    if instant.is_some_and(|instant| pending.any(|pending| pending.requested_time <= *instant)) {
        return Some("it stays, as an instant before it is pending: complete that or roll it back, and repair again");
    }
    // A rollback of an instant that was completed in the metadata table alone may still need it.
    let now = state.store.time().since_epoch();
    let modified = u64::try_from(status.modified_ms).ok().filter(|millis| *millis > 0).map(Duration::from_millis);
    match modified {
        Some(modified) if now.saturating_sub(modified) > LEAST_AGE => None,
        Some(_) => Some("it stays, as it is less than an hour old and its writer may go on: repair again later"),
        None => Some(UNKNOWN_AGE),
    }
}

fn delete(state: &TableState, finding: &Finding) -> Result<()> {
    let instant = || {
        let name = finding.path.rsplit('/').next().and_then(RequestedTime::parse);
        name.ok_or_else(|| Error::internal("markers or a heartbeat without an instant").in_file(&finding.path))
    };
    let is_of_metadata = finding.path.starts_with(METADATA_ROOT);
    match finding.kind {
        FindingKind::OrphanFile | FindingKind::TemporaryFile => state.store.delete(&finding.path),
        FindingKind::StaleMarkers if is_of_metadata => {
            Markers::below(Arc::clone(&state.store), METADATA_ROOT, &instant()?).remove()
        }
        FindingKind::StaleMarkers => Markers::new(Arc::clone(&state.store), &instant()?).remove(),
        FindingKind::DeadHeartbeat if is_of_metadata => state.store.delete(&finding.path),
        FindingKind::DeadHeartbeat => delete_heartbeat(&*state.store, &instant()?),
        // It was deleted when the table was opened, and is built again at the end; a write that was undone is off the
        // timeline already.
        FindingKind::UnreadableMetadataTable | FindingKind::RollbackResult => Ok(()),
        _ => Err(Error::internal("a finding that is not repaired").in_file(&finding.path)),
    }
}
