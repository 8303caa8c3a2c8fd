//! Instants that must not be archived, nor any later one (`TimelineArchiverV2.getCommitInstantsToArchive`).

use crate::cleaning::SAVEPOINTS;
use crate::compaction::planning::last_completed_compaction;
use crate::needed_by_pending::first_needed;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::TimelineWriter;
use mortice_merge::config::{TableConfig, TableType};
use mortice_table::timeline::metadata::{HoodieCleanMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, Timeline};

/// The limit of what is pending: the last completed write before the first pending instant, or that instant.
pub(super) fn before_pending(timeline: &Timeline) -> Option<RequestedTime> {
    let pending = timeline.instants().iter().find(|instant| !instant.is_completed())?;
    let before = timeline.completed_writes().rfind(|write| write.requested_time < pending.requested_time);
    Some(before.unwrap_or(pending).requested_time.clone())
}

/// The delta commits that the next compaction is to merge, at most `commits` of them, with the last compaction
/// (`CompactionUtils.getEarliestInstantToRetainForCompaction`).
pub(super) fn for_compaction(timeline: &Timeline, commits: u64) -> Option<RequestedTime> {
    let last = last_completed_compaction(timeline);
    let is_later = |instant: &&Instant| {
        last.is_none_or(|last| match &instant.completion_time {
            Some(completed) => {
                last.requested_time.compare_to_completion(completed).is_none_or(std::cmp::Ordering::is_lt)
            }
            None => instant.requested_time > last.requested_time,
        })
    };
    let deltas = timeline.completed_writes().filter(|instant| instant.action == Action::DeltaCommit).filter(is_later);
    let deltas: Vec<&Instant> = deltas.collect();
    let skipped = deltas.len().checked_sub(usize::try_from(commits).unwrap_or(usize::MAX));
    let oldest = match skipped {
        Some(skipped) => deltas.get(skipped).copied(),
        None => last.or(deltas.first().copied()),
    };
    oldest.map(|oldest| oldest.requested_time.clone())
}

/// The first replace commit whose replaced files may not have been cleaned: without it readers would take these for
/// live (`ClusteringUtils.getEarliestInstantToRetainForClustering`).
pub(super) fn for_replaced_files(timeline: &Timeline, writer: &TimelineWriter) -> Result<Option<RequestedTime>> {
    let is_replace = |instant: &&Instant| instant.action.completes_as() == Action::ReplaceCommit;
    let mut replaces = timeline.instants().iter().filter(is_replace);
    let retained = match last_clean(timeline) {
        Some(clean) => {
            let metadata = metadata_of_clean(clean, writer)?.unwrap_or_default();
            let earliest = RequestedTime::parse(&metadata.earliest_commit_to_retain);
            let saved = earliest.as_ref().and_then(|earliest| savepoint_before(timeline, &metadata, earliest));
            saved.or(earliest).or_else(|| Some(clean.requested_time.clone()))
        }
        None => None,
    };
    let first = replaces.find(|replace| retained.as_ref().is_none_or(|retained| replace.requested_time >= *retained));
    Ok(first.map(|first| first.requested_time.clone()))
}

/// The oldest savepoint that a clean kept, if a file group was replaced between it and the earliest instant that the
/// clean retained: the clean kept files of replaced groups for it
/// (`ClusteringUtils.getEarliestReplacedSavepointInClean`).
fn savepoint_before(
    timeline: &Timeline,
    clean: &HoodieCleanMetadata,
    earliest: &RequestedTime,
) -> Option<RequestedTime> {
    let savepoints = clean.extra_metadata.as_ref()?.get(SAVEPOINTS)?;
    let oldest = savepoints.split(',').filter_map(RequestedTime::parse).min()?;
    let mut replaces = timeline.completed_writes().filter(|write| write.action == Action::ReplaceCommit);
    let is_between = |replace: &Instant| replace.requested_time >= oldest && replace.requested_time <= *earliest;
    replaces.any(is_between).then_some(oldest)
}

/// The earliest instant that the last clean retained.
pub(super) fn of_last_clean(timeline: &Timeline, writer: &TimelineWriter) -> Result<Option<RequestedTime>> {
    let Some(clean) = last_clean(timeline) else { return Ok(None) };
    let metadata = metadata_of_clean(clean, writer)?;
    Ok(metadata.and_then(|metadata| RequestedTime::parse(&metadata.earliest_commit_to_retain)))
}

fn last_clean(timeline: &Timeline) -> Option<&Instant> {
    timeline.instants().iter().rfind(|instant| instant.action == Action::Clean && instant.is_completed())
}

fn metadata_of_clean(clean: &Instant, writer: &TimelineWriter) -> Result<Option<HoodieCleanMetadata>> {
    let bytes = writer.read(&clean.file_name)?.unwrap_or_default();
    HoodieCleanMetadata::from_bytes(&bytes).map_err(|error| error.at_instant(&clean.requested_time))
}

/// All limits that the table's own timeline sets.
pub(crate) fn of_timeline(
    timeline: &Timeline,
    config: &TableConfig,
    writer: &TimelineWriter,
    compaction_commits: u64,
) -> Result<Vec<RequestedTime>> {
    let mut limits: Vec<RequestedTime> = before_pending(timeline).into_iter().collect();
    limits.extend(first_needed(timeline, writer)?);
    limits.extend(timeline.savepoints().next().map(|savepoint| savepoint.requested_time.clone()));
    limits.extend(for_replaced_files(timeline, writer)?);
    if config.table_type == TableType::MergeOnRead {
        limits.extend(for_compaction(timeline, compaction_commits));
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::timeline;

    #[test]
    fn pending_instants_keep_the_write_before_them() {
        let limit = |names: &[&str]| before_pending(&timeline(names)).map(|limit| limit.to_string());
        assert_eq!(limit(&["1_2.commit", "3_4.commit", "5.clean.requested", "6_7.commit"]).as_deref(), Some("3"));
        assert_eq!(limit(&["1.deltacommit.inflight", "3_4.commit"]).as_deref(), Some("1"));
        assert_eq!(limit(&["1_2.commit"]), None);
    }

    #[test]
    fn delta_commits_stay_until_they_are_compacted() {
        let limit = |names: &[&str]| for_compaction(&timeline(names), 2).map(|limit| limit.to_string());
        assert_eq!(limit(&["1_2.deltacommit", "3_4.deltacommit", "5_6.deltacommit"]).as_deref(), Some("3"));
        assert_eq!(limit(&["1_2.deltacommit", "3_4.commit", "5_6.deltacommit"]).as_deref(), Some("3"));
        assert_eq!(limit(&["1_2.commit", "3_4.commit"]).as_deref(), Some("3"));
        assert_eq!(limit(&["1_9.deltacommit", "3_4.commit", "5_6.deltacommit"]).as_deref(), Some("1"));
    }
}
