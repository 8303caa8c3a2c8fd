//! Metadata of instants, typed, whether they are active or archived.

use mortice_base::error::Result;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, Timeline};

/// Returns the metadata of an instant; `None` if its file is empty or missing.
pub(super) fn metadata_of<T: TimelineMetadata>(timeline: &Timeline, instant: &Instant) -> Result<Option<T>> {
    let json = timeline.metadata(instant)?;
    json.map(|json| T::from_json(json.to_string().as_bytes())).transpose()
}

/// Returns the plan of an instant; `None` if it has none.
pub(super) fn plan_of<T: TimelineMetadata>(timeline: &Timeline, instant: &Instant) -> Result<Option<T>> {
    let json = timeline.plan(instant)?;
    json.map(|json| T::from_json(json.to_string().as_bytes())).transpose()
}

/// Returns the commit metadata of a write, empty if its file is.
pub(super) fn commit_of(timeline: &Timeline, instant: &Instant) -> Result<HoodieCommitMetadata> {
    metadata_of(timeline, instant).map(Option::unwrap_or_default)
}

/// The statistics of a commit's files, with the partitions.
pub(super) fn stats(commit: &HoodieCommitMetadata) -> impl Iterator<Item = (&str, &HoodieWriteStat)> {
    let partitions = commit.partition_to_write_stats.iter().flat_map(|stats| stats.iter());
    partitions.flat_map(|(partition, stats)| stats.iter().map(move |stat| (partition, stat)))
}

/// The sum of a number of files' statistics.
pub(super) fn sum<'a>(
    stats: impl Iterator<Item = (&'a str, &'a HoodieWriteStat)>,
    number: impl Fn(&HoodieWriteStat) -> Option<i64>,
) -> i64 {
    stats.fold(0, |sum, (_, stat)| sum.saturating_add(number(stat).unwrap_or(0)))
}

/// Whether a file is the first one of its file group.
pub(super) fn is_new_group(stat: &HoodieWriteStat) -> bool {
    stat.prev_commit.as_deref() == Some("null")
}

/// The completed instants of an action, the newest first: active ones, or archived ones.
pub(super) fn newest_first(timeline: &Timeline, archived: bool, action: Action) -> Result<Vec<&Instant>> {
    let instants = if archived { timeline.archived()? } else { timeline.instants() };
    Ok(instants.iter().rev().filter(|one| one.action == action && one.is_completed()).collect())
}

/// The completed write of a requested time.
pub(super) fn completed_write<'a>(timeline: &'a Timeline, time: &str) -> Option<&'a Instant> {
    timeline.completed_writes().find(|one| one.requested_time == *time)
}
