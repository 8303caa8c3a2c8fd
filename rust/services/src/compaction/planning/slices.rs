//! The file slices that a compaction may take (`BaseHoodieCompactionPlanGenerator.generateCompactionPlan`): the latest
//! of each file group that is in no other plan, with the log files of what was completed before the compaction.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::service_table::ServiceTable;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;
use mortice_table::bootstrap;
use mortice_table::file_group::{FileSlice, FileSystemView, LogFile, PartitionFiles};
use mortice_table::timeline::{CompletionStatus, PendingCompaction, Timeline};

/// File groups that are in a plan, by partition.
pub(crate) type PlannedGroups = BTreeMap<String, BTreeSet<String>>;

/// The file groups of pending compactions and clustering. Those of log compactions may be compacted: these are given up
/// then.
pub(crate) fn planned_groups(timeline: &Timeline) -> Result<PlannedGroups> {
    let mut groups = groups_of(timeline.pending_compactions()?);
    for group in timeline.file_groups_in_pending_clustering()? {
        groups.entry(group.partition).or_default().insert(group.file_id);
    }
    Ok(groups)
}

/// The same, and those of pending log compactions.
pub(super) fn planned_groups_and_logs(timeline: &Timeline) -> Result<PlannedGroups> {
    let mut groups = planned_groups(timeline)?;
    for (partition, file_ids) in groups_of(timeline.pending_log_compactions()?) {
        groups.entry(partition).or_default().extend(file_ids);
    }
    Ok(groups)
}

fn groups_of(plans: Vec<PendingCompaction>) -> PlannedGroups {
    let mut groups = PlannedGroups::new();
    for operation in plans.into_iter().flat_map(|plan| plan.operations) {
        groups.entry(operation.partition).or_default().insert(operation.file_id);
    }
    groups
}

/// The slices of partitions that a compaction at `instant` may take, those with log files.
pub(crate) fn slices_to_compact<'a>(
    table: &ServiceTable,
    partitions: impl IntoIterator<Item = &'a PartitionFiles>,
    planned: &PlannedGroups,
    instant: &RequestedTime,
) -> Result<Vec<FileSlice>> {
    let view = FileSystemView::new(&table.timeline, &table.config, None)?;
    let mut slices = Vec::new();
    for files in partitions {
        let is_planned = |slice: &FileSlice| {
            planned.get(&slice.partition).is_some_and(|groups| groups.contains(slice.file_id.as_str()))
        };
        for mut slice in view.slices(files)? {
            if is_planned(&slice) {
                continue;
            }
            if table.config.layout() == TimelineLayout::V2 {
                let base = slice.base_file.as_ref().map(|base| &base.instant);
                slice.log_files =
                    completed_before(&table.timeline, std::mem::take(&mut slice.log_files), base, instant)?;
            }
            if !slice.log_files.is_empty() {
                slices.push(slice);
            }
        }
    }
    bootstrap::attach(table.storage.as_ref(), &table.config, &mut slices)?;
    Ok(slices)
}

/// The log files of delta commits that were completed before the compaction begins. Others belong to the slice that it
/// begins.
fn completed_before(
    timeline: &Timeline,
    logs: Vec<LogFile>,
    base_instant: Option<&RequestedTime>,
    instant: &RequestedTime,
) -> Result<Vec<LogFile>> {
    let mut kept = Vec::with_capacity(logs.len());
    for log in logs {
        let unnamed = || Error::internal(format_args!("log file {:?} of a slice has no name of a log file", log.path));
        let name = LogFileName::parse(log.name()).ok_or_else(unnamed)?;
        // Written before the table was upgraded to version 8: the name has the base instant.
        let is_of_slice = base_instant == Some(&name.instant);
        let is_before = match timeline.completion_time(&name.instant)? {
            CompletionStatus::At(completed) => instant.compare_to_completion(completed).is_some_and(Ordering::is_gt),
            CompletionStatus::Archived => true,
            CompletionStatus::Pending => false,
        };
        if is_before || is_of_slice {
            kept.push(log);
        }
    }
    Ok(kept)
}
