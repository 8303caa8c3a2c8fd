//! The partitions that have expired.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{PartitionAge, PartitionTtlOptions};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::epoch_millis;
use mortice_storage::FileStore;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};
use mortice_write::write::partition_created_by;

/// A partition that has expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredPartition {
    /// Its path.
    pub partition: String,
    /// The instant that its age is counted from.
    pub since: RequestedTime,
}

/// The partitions of a table that have expired at a time, in milliseconds since the epoch, and the table's files.
///
/// A partition of which a table service is pending, which needs its files, expires later, as in Hudi.
pub(super) fn expired_partitions(
    table: &OpenTable,
    store: &dyn FileStore,
    options: &PartitionTtlOptions,
    now: i64,
) -> Result<(WriteView, Vec<ExpiredPartition>)> {
    let selected: Option<BTreeSet<String>> =
        (!options.selected.is_empty()).then(|| options.selected.iter().cloned().collect());
    let view = table.write_view(selected.as_ref())?;
    let Some(ttl) = options.ttl_millis else { return Ok((view, Vec::new())) };
    let (mut found, busy) = (Vec::new(), partitions_of_pending(table)?);
    for (partition, last) in last_writes(&view.slices) {
        if found.len() >= options.limit {
            break;
        }
        let is_selected = selected.as_ref().is_none_or(|selected| selected.contains(partition));
        if !is_selected || busy.contains(partition) {
            continue;
        }
        let since = match options.age {
            PartitionAge::LastWrite => Some(last),
            PartitionAge::Creation => creation(store, partition)?,
        };
        // A time that is none, such as that of a bootstrap, says nothing of the partition's age.
        let at = since.as_ref().and_then(|since| epoch_millis(since.as_str(), table.config.timeline_zone));
        if let (Some(since), Some(at)) = (since, at)
            && at.saturating_add(ttl) < now
        {
            found.push(ExpiredPartition { partition: partition.to_owned(), since });
        }
    }
    Ok((view, found))
}

/// The last write to each partition. Hudi passes over logs, so that a partition expires to whose logs somebody writes
/// each day until they are compacted; here these writes count. Up to table version 7 names of logs do not say when they
/// were written.
fn last_writes(slices: &[FileSlice]) -> BTreeMap<&str, RequestedTime> {
    let mut last: BTreeMap<&str, RequestedTime> = BTreeMap::new();
    for slice in slices {
        let logs = slice.log_files.iter().filter_map(|log| LogFileName::parse(log.name())).map(|name| name.instant);
        for instant in logs.chain([slice.base_instant.clone()]) {
            let known = last.entry(slice.partition.as_str()).or_insert_with(|| instant.clone());
            if *known < instant {
                *known = instant;
            }
        }
    }
    last
}

fn creation(store: &dyn FileStore, partition: &str) -> Result<Option<RequestedTime>> {
    match partition_created_by(store, partition) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        created => created,
    }
}

fn partitions_of_pending(table: &OpenTable) -> Result<BTreeSet<String>> {
    let timeline = &table.timeline;
    let (compactions, log_compactions) = (timeline.pending_compactions()?, timeline.pending_log_compactions()?);
    let operations = compactions.into_iter().chain(log_compactions).flat_map(|plan| plan.operations);
    let clustered = timeline.file_groups_in_pending_clustering()?;
    Ok(operations.map(|one| one.partition).chain(clustered.into_iter().map(|one| one.partition)).collect())
}
