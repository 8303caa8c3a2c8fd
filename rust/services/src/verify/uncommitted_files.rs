//! Files that readers take for completed, and that no instant accounts for.
//!
//! | the instant of the file | finding |
//! |---|---|
//! | a completed rollback, active or archived, names it | `uncommitted_file`: its rows were never part of the table |
//! | nothing is known of it | `unaccounted_file`: the archive may have lost a commit |

use std::collections::BTreeSet;

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::Result;
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;
use mortice_table::timeline::{Action, Instant, Timeline};

/// Files before the start of a timeline that no archived instant wrote. Readers take an instant before the start for
/// completed, as only completed ones are archived. That one was not is known by its rollback alone.
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
    let mut unaccounted = Vec::new();
    for (partition, name, instant, status) in old {
        // A savepoint keeps its write on the timeline when the writes after it are archived.
        let is_active = timeline.writes_at(&instant).next().is_some();
        // The archive may have lost its oldest instants.
        if instant < first.requested_time || is_active || is_archived(&instant) {
            continue;
        }
        unaccounted.push((joined(partition, name), instant, status.len));
    }
    let undone = rolled_back(timeline, archived, unaccounted.iter().map(|(_, instant, _)| instant).min())?;
    let finding = |(path, instant, len): (String, RequestedTime, u64)| match undone.contains(instant.as_str()) {
        true => {
            let message =
                format!("{instant} was rolled back, but the timeline begins later: the file counts as committed");
            Finding::new(FindingKind::UncommittedFile, path, message).with_bytes(len)
        }
        false => {
            let message = format!(
                "no instant {instant} is on the timeline or in the archive, and none has rolled it back: a commit may be lost, \
                 keep the file"
            );
            Finding::new(FindingKind::UnaccountedFile, path, message).with_bytes(len)
        }
    };
    Ok(unaccounted.into_iter().map(finding).collect())
}

/// The requested times that completed rollbacks have undone, active and archived ones, since the first of the files.
fn rolled_back(timeline: &Timeline, archived: &[Instant], first: Option<&RequestedTime>) -> Result<BTreeSet<String>> {
    let mut undone = BTreeSet::new();
    let Some(first) = first else { return Ok(undone) };
    let is_rollback = |instant: &&Instant| {
        instant.action == Action::Rollback && instant.is_completed() && instant.requested_time > *first
    };
    for rollback in archived.iter().chain(timeline.instants()).filter(is_rollback) {
        let result = timeline.metadata(rollback)?;
        let times = result.as_ref().and_then(|result| result.get("commitsRollback")?.as_array());
        undone.extend(times.into_iter().flatten().filter_map(|time| time.as_str().map(str::to_owned)));
    }
    Ok(undone)
}
