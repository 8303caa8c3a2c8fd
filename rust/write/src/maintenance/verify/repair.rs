//! Deletes what stopped writers left and nobody needs: markers and heartbeats of instants that are not pending, and data files that no
//! instant accounts for.
//!
//! A file is deleted only if it is older than every pending instant, and was so by its modification time for some time: a writer creates
//! its instant before its files, but the clocks of the two may differ. What else a verification finds is not repaired: the rows are
//! gone, or another service brings them back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, instant_of};
use super::verify::files_and_timeline;
use crate::commit::delete_heartbeat;
use crate::metadata_upkeep::METADATA_ROOT;
use crate::services::check_no_restore;
use crate::writable_table::{TableLocation, TableState, WritableTable};
use crate::write::Markers;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// How old an orphan must be.
const LEAST_AGE: Duration = Duration::from_secs(3600);

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
///     is_dry_run: Only find out what would be done.
///
/// # Errors
/// `Unsupported`, by name, for a table of a version that is not written; `InvalidTable` if a file is not a regular file of the table:
/// nothing is deleted then; those of the storage, after which it can be repeated.
pub fn repair(location: &TableLocation, options: &BTreeMap<String, String>, is_dry_run: bool) -> Result<RepairResult> {
    let target = WritableTable::open(location, options, "repair")?;
    let repaired = target.examined(is_dry_run, |state| repair_locked(state, is_dry_run));
    repaired.map_err(|error| error.in_file(location.uri()))
}

fn repair_locked(state: &TableState, is_dry_run: bool) -> Result<RepairResult> {
    check_no_restore(&state.table.timeline)?;
    let report = files_and_timeline(&state.store, &state.table)?;
    let stored = StoredFiles::list(&state.store)?;
    let is_defect = state.defect.is_some();
    let mut result = RepairResult::default();
    if let Some(defect) = &state.defect {
        result.repaired.push(Finding::new(FindingKind::UnreadableMetadataTable, METADATA_ROOT, defect.as_str()));
    }
    for finding in report.findings.into_iter().filter(|finding| !(is_defect && is_of_metadata(finding))) {
        let is_safe = match finding.kind {
            FindingKind::StaleMarkers | FindingKind::DeadHeartbeat => true,
            FindingKind::OrphanFile => is_old(state, &stored, &finding),
            _ => false,
        };
        if is_safe { result.repaired.push(finding) } else { result.left.push(finding) }
    }
    for finding in result.repaired.iter().filter(|finding| finding.kind == FindingKind::OrphanFile) {
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
    use FindingKind::{ListedLength, ListedNotStored, StoredNotListed, UnreadableMetadataTable};
    matches!(finding.kind, UnreadableMetadataTable | ListedNotStored | StoredNotListed | ListedLength)
}

/// Whether an orphan is older than every pending instant, and than [`LEAST_AGE`].
fn is_old(state: &TableState, stored: &StoredFiles, finding: &Finding) -> bool {
    let (partition, name) = finding.path.rsplit_once('/').unwrap_or(("", &finding.path));
    let (Some(status), Some(instant)) = (stored.get(partition, name), instant_of(name)) else { return false };
    let timeline = &state.table.timeline;
    let mut pending = timeline.instants().iter().filter(|instant| !instant.is_completed());
    if pending.any(|pending| pending.requested_time <= instant) {
        return false;
    }
    // A rollback of an instant that was completed in the metadata table alone may still need it.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = u64::try_from(status.modified_ms).ok().filter(|millis| *millis > 0).map(Duration::from_millis);
    modified.is_some_and(|modified| now.saturating_sub(modified) > LEAST_AGE)
}

fn delete(state: &TableState, finding: &Finding) -> Result<()> {
    let instant = || {
        let name = finding.path.rsplit('/').next().and_then(RequestedTime::parse);
        name.ok_or_else(|| Error::internal("markers or a heartbeat without an instant").in_file(&finding.path))
    };
    match finding.kind {
        FindingKind::OrphanFile => state.store.delete(&finding.path),
        FindingKind::StaleMarkers => Markers::new(Arc::clone(&state.store), &instant()?).remove(),
        FindingKind::DeadHeartbeat => delete_heartbeat(&*state.store, &instant()?),
        // It was deleted when the table was opened, and is built again at the end.
        FindingKind::UnreadableMetadataTable => Ok(()),
        _ => Err(Error::internal("a finding that is not repaired").in_file(&finding.path)),
    }
}
