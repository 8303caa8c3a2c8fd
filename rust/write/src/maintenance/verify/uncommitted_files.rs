//! Files of instants that were not completed and that readers take for completed.

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::Result;
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;
use mortice_table::timeline::Timeline;

/// Files before the start of a timeline that no archived instant wrote. Readers take an instant before the start for completed, as only
/// completed ones are archived: these files were left by an instant that was not.
///
/// # Errors
/// Those of reading the archive.
pub(super) fn uncommitted_files(
    timeline: &Timeline,
    stored: &StoredFiles,
    layout: TimelineLayout,
) -> Result<Vec<Finding>> {
    let is_by_slice = |name: &str| layout == TimelineLayout::V1 && LogFileName::parse(name).is_some();
    let mut old = stored
        .data_files()
        .filter(|(_, name, instant, _)| timeline.is_before_start(instant) && !is_by_slice(name))
        .peekable();
    if old.peek().is_none() {
        return Ok(Vec::new());
    }
    let archived = timeline.archived()?;
    let Some(first) = archived.first() else { return Ok(Vec::new()) };
    let is_archived = |time: &RequestedTime| {
        let at = archived.partition_point(|instant| instant.requested_time < *time);
        let of_time = archived.get(at..).unwrap_or_default().iter().take_while(|one| one.requested_time == *time);
        of_time.map(|instant| instant.action).any(|action| action.is_write())
    };
    let mut found = Vec::new();
    for (partition, name, instant, status) in old {
        // A savepoint keeps its write on the timeline when the writes after it are archived.
        let is_active = timeline.writes_at(&instant).next().is_some();
        // The archive may have lost its oldest instants.
        if instant < first.requested_time || is_active || is_archived(&instant) {
            continue;
        }
        let message = format!(
            "no instant {instant} is on the timeline or in the archive, but the timeline begins later: the file counts as committed"
        );
        found.push(Finding::new(FindingKind::UncommittedFile, joined(partition, name), message).with_bytes(status.len));
    }
    Ok(found)
}
