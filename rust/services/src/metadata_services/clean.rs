//! Cleans of the metadata table (`HoodieBackedTableMetadataWriter.cleanIfNecessary`): the last two versions of each
//! file group stay.
//!
//! A clean waits for a few instants after a compaction, as readers may still read what it has merged. Up to table
//! version 7 its instant is that of the last delta commit, and `002`.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::cleaning::{CheckedPlan, CleanPlanner, CleaningOptions, CleaningPolicy, clean_metadata_of, plan_of};
use crate::compaction::planning::last_completed_compaction;
use crate::data_paths::DataPath;
use crate::service_table::ServiceTable;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{CleanedFiles, Clock};
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_merge::config::TimelineLayout;
use mortice_storage::PutOutcome;
use mortice_table::file_group::PartitionFiles;
use mortice_table::timeline::metadata::{HoodieCleanerPlan, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, Timeline};

/// Versions of a file group that stay.
const VERSIONS: u64 = 2;
/// Instants after a compaction before a clean.
const WAIT: usize = 3;
/// What cleans up to table version 7 have behind the time of the last delta commit (`OperationSuffix.CLEAN`).
const SUFFIX: &str = "002";

/// Whether a clean is pending, or there is a compaction that no clean has followed.
pub(super) fn is_due(metadata: &Timeline) -> bool {
    if metadata.pending(Action::Clean).next().is_some() {
        return true;
    }
    let Some(compaction) = last_completed_compaction(metadata) else { return false };
    let completed = || metadata.instants().iter().filter(|instant| instant.is_completed());
    let is_later = |instant: &&Instant| instant.requested_time > compaction.requested_time;
    completed().filter(is_later).count() >= WAIT
        && !completed().filter(is_later).any(|instant| instant.action == Action::Clean)
}

/// Completes pending cleans, and runs a new one if it is due. Returns whether anything changed.
pub(super) fn clean(
    metadata: &mut ServiceTable,
    clock: &Clock,
    data: &Timeline,
    partitions: &[String],
) -> Result<bool> {
    let pending: Vec<RequestedTime> =
        metadata.timeline.pending(Action::Clean).map(|clean| clean.requested_time.clone()).collect();
    let mut is_changed = false;
    for instant in &pending {
        execute(metadata, instant, clock, data)?;
        is_changed = true;
    }
    if !is_due(&metadata.timeline) {
        return Ok(is_changed);
    }
    let options = CleaningOptions {
        policy: CleaningPolicy::LatestFileVersions(VERSIONS),
        trigger_commits: 1,
        is_incremental: false,
    };
    let table = &*metadata;
    let list = |_: Option<&BTreeSet<String>>| -> Result<Vec<PartitionFiles>> {
        partitions.iter().map(|partition| table.files(partition)).collect()
    };
    let writer = table.timeline_writer();
    let planner =
        CleanPlanner { timeline: &table.timeline, config: &table.config, writer, options: &options, list: &list };
    let mut found = planner.plan(table.store.time().now())?;
    found.empty_partitions.clear();
    let Some(instant) = next_instant(table, clock, data)?.filter(|_| !found.partitions.is_empty()) else {
        return Ok(is_changed);
    };
    let plan = plan_of(&found, &table.timeline, &options, table.storage.as_ref());
    let content = Bytes::from(plan.to_avro()?);
    if table.timeline_writer().request(&instant, Action::Clean, &content)? == PutOutcome::Refused {
        let message = "another writer cleans the metadata table at the same time";
        return Err(Error::new(ErrorKind::WriteConflict, message).in_file(METADATA_ROOT).at_instant(&instant));
    }
    execute(metadata, &instant, clock, data)?;
    Ok(true)
}

/// The instant of a new clean; none if it has to wait.
fn next_instant(table: &ServiceTable, clock: &Clock, data: &Timeline) -> Result<Option<RequestedTime>> {
    if !table.is_v1() {
        return clock.requested_time(&[data, &table.timeline]).map(Some);
    }
    let mut deltas = table.timeline.completed_writes().filter(|instant| instant.action == Action::DeltaCommit);
    let Some(last) = deltas.next_back() else { return Ok(None) };
    let instant = RequestedTime::from_metadata("clean instant", &format!("{}{SUFFIX}", last.requested_time))?;
    Ok(Some(instant).filter(|instant| table.timeline.instants_at(instant).is_empty()))
}

fn execute(metadata: &mut ServiceTable, instant: &RequestedTime, clock: &Clock, data: &Timeline) -> Result<()> {
    let time = metadata.store.time();
    let started = time.monotonic();
    let writer = metadata.timeline_writer();
    let bytes = writer.read_requested(instant, Action::Clean)?.unwrap_or_default();
    let plan = HoodieCleanerPlan::from_bytes(&bytes).map_err(|error| error.at_instant(instant))?;
    let Some(plan) = plan else {
        // Its writer died while it wrote the file.
        writer.delete_instant(instant, Action::Clean)?;
        return metadata.reload();
    };
    let plan = CheckedPlan::parse(plan, instant)?;
    let inflight = if metadata.config.layout() == TimelineLayout::V1 { bytes } else { Bytes::new() };
    writer.start(instant, Action::Clean, &inflight)?;
    let done = delete_files(metadata, &plan)?;
    let millis = time.millis_since(started);
    let content = Bytes::from(clean_metadata_of(instant, &plan, &done, &BTreeSet::new(), millis).to_avro()?);
    let completion = clock.completion_time(instant, &[data, &metadata.timeline])?;
    writer.complete_or_fail(instant, Action::Clean, &completion, &content)?;
    metadata.reload()
}

fn delete_files(metadata: &ServiceTable, plan: &CheckedPlan) -> Result<CleanedFiles> {
    let paths: Vec<DataPath> = plan.files().collect();
    for path in &paths {
        metadata.store.check_removable(&metadata.in_store(&path.path()))?;
    }
    let mut done = CleanedFiles::default();
    for path in paths {
        metadata.delete(&path.path())?;
        done.partitions.entry(path.partition).or_default().files.push(path.name);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::timeline;

    #[test]
    fn a_clean_follows_a_compaction_after_three_instants() {
        for (names, due) in [
            (&["1_2.deltacommit", "3_4.deltacommit"][..], false),
            (&["1_2.commit", "3_4.deltacommit", "5_6.deltacommit"][..], false),
            (&["1_2.commit", "3_4.deltacommit", "5_6.deltacommit", "7_8.deltacommit"][..], true),
            (&["1_2.commit", "3_4.deltacommit", "5_6.deltacommit", "7_8.deltacommit", "9_10.clean"][..], false),
            (&["1_2.commit", "3.clean.requested"][..], true),
        ] {
            assert_eq!(is_due(&timeline(names)), due, "{names:?}");
        }
    }
}
