//! The files that a clean is to delete (`CleanPlanner`).
//!
//! | policy | slices of file groups that are live | replaced file groups |
//! |---|---|---|
//! | by commits, by hours | before the earliest instant, but for the newest of these, which queries at that instant read | replaced before it |
//! | by file versions | all but the newest so many | all |
//!
//! The newest slice of a group, slices that pending compactions and clustering read, those that pending writes may
//! read, and slices with files of a savepoint stay.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::earliest::earliest_to_retain;
use super::options::{CleaningOptions, CleaningPolicy};
use crate::needed_by_pending::first_needed;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::TimelineWriter;
use mortice_merge::config::{TableConfig, TableType};
use mortice_table::file_group::{FileSystemView, GroupVersions, PartitionFiles, SliceFiles};
use mortice_table::timeline::metadata::{HoodieCleanMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, MetadataPart, Timeline};

/// Where plans and results of cleans name the savepoints that they kept.
pub(crate) const SAVEPOINTS: &str = "savepointed_timestamps";

/// Lists the files of partitions, or of all.
pub(crate) type ListFiles<'a> = dyn Fn(Option<&BTreeSet<String>>) -> Result<Vec<PartitionFiles>> + 'a;

/// A table that is to be cleaned.
pub(crate) struct CleanPlanner<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) config: &'a TableConfig,
    pub(crate) writer: TimelineWriter,
    pub(crate) options: &'a CleaningOptions,
    pub(crate) list: &'a ListFiles<'a>,
}

/// What a clean is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilesToClean {
    /// The earliest write that stays readable; none by file versions.
    pub(crate) earliest: Option<Instant>,
    /// The files to delete by partition, with their sizes by name.
    pub(crate) partitions: BTreeMap<String, BTreeMap<String, u64>>,
    /// Partitions that have no data files then.
    pub(crate) empty_partitions: Vec<String>,
    /// The savepoints that were looked at.
    pub(crate) savepoints: Vec<String>,
}

/// File groups with an instant.
type GroupInstants = BTreeMap<(String, String), RequestedTime>;

/// What keeps slices from being deleted.
struct KeptSlices {
    earliest: Option<RequestedTime>,
    /// The first instant that pending writes need.
    needed: Option<RequestedTime>,
    /// File groups that pending compactions read, with the oldest slice that these need; none if the plan does not say.
    compacted: BTreeMap<(String, String), Option<RequestedTime>>,
    /// File groups of pending clustering.
    clustered: BTreeSet<(String, String)>,
    replaced: GroupInstants,
    /// Names of files of savepoints, by partition.
    savepointed: BTreeMap<String, BTreeSet<String>>,
}

impl CleanPlanner<'_> {
    /// Whether enough commits have been made since the last clean.
    pub(super) fn is_due(&self) -> bool {
        let last = self.last_clean().map(|clean| &clean.requested_time);
        let since =
            self.timeline.completed_writes().filter(|write| last.is_none_or(|last| write.requested_time > *last));
        since.count() as u64 >= self.options.trigger_commits
    }

    /// Whether there may be files to delete, by the timeline alone: a table with fewer commits than stay readable has
    /// none.
    pub(super) fn may_find(&self, now: DateTime<Utc>) -> Result<bool> {
        let by_versions = matches!(self.options.policy, CleaningPolicy::LatestFileVersions(_));
        // Pending writes need this or more.
        let needed = self.timeline.pending_writes().next().map(|pending| &pending.requested_time);
        let zone = self.config.timeline_zone;
        let earliest = || earliest_to_retain(self.timeline, self.options.policy, needed, now, zone);
        Ok(self.timeline.latest_visible().is_some() && (by_versions || earliest()?.is_some()))
    }

    /// Chooses the files.
    pub(crate) fn plan(&self, now: DateTime<Utc>) -> Result<FilesToClean> {
        let needed = first_needed(self.timeline, &self.writer)?;
        let zone = self.config.timeline_zone;
        let earliest = earliest_to_retain(self.timeline, self.options.policy, needed.as_ref(), now, zone)?;
        let by_versions = matches!(self.options.policy, CleaningPolicy::LatestFileVersions(_));
        let mut found = FilesToClean { earliest: earliest.cloned(), ..FilesToClean::default() };
        let Some(latest) = self.timeline.latest_visible().filter(|_| by_versions || earliest.is_some()) else {
            return Ok(found);
        };
        // Hudi names them for partitioned tables alone; archival needs them for all.
        found.savepoints = self.timeline.savepoints().map(|one| one.requested_time.to_string()).collect();
        let wanted = self.changed_partitions(earliest, &found.savepoints)?;
        let kept = self.kept(earliest, needed)?;
        let view = FileSystemView::with_replaced(self.timeline, self.config, latest)?;
        for files in (self.list)(wanted.as_ref())? {
            let groups = view.versions(&files)?;
            let doomed = doomed_names(&groups, &files.partition, &kept, self.options.policy);
            let sizes = sizes_of(&files, &doomed);
            let is_whole = sizes.len() == files.base_files.len().saturating_add(files.log_files.len());
            // A writer may have created the partition for files that it has not written yet.
            if is_whole && !files.partition.is_empty() && self.timeline.pending_writes().next().is_none() {
                found.empty_partitions.push(files.partition.clone());
            }
            if !sizes.is_empty() {
                found.partitions.insert(files.partition, sizes);
            }
        }
        Ok(found)
    }

    fn last_clean(&self) -> Option<&Instant> {
        self.timeline.instants().iter().rfind(|instant| instant.action == Action::Clean && instant.is_completed())
    }

    /// The partitions that have changed since the last clean looked at all before it; none if all are to be looked at.
    fn changed_partitions(
        &self,
        earliest: Option<&Instant>,
        savepoints: &[String],
    ) -> Result<Option<BTreeSet<String>>> {
        let (Some(earliest), true) = (earliest, self.options.is_incremental) else { return Ok(None) };
        let Some(clean) = self.last_clean() else { return Ok(None) };
        let bytes = self.writer.read(&clean.file_name)?.unwrap_or_default();
        let Some(last) =
            HoodieCleanMetadata::from_bytes(&bytes).map_err(|error| error.at_instant(&clean.requested_time))?
        else {
            return Ok(None);
        };
        let from = RequestedTime::parse(&last.earliest_commit_to_retain);
        let Some(from) = from.filter(|from| !self.timeline.is_before_start(from)) else { return Ok(None) };
        let known = last.extra_metadata.as_ref().and_then(|extra| extra.get(SAVEPOINTS)).map_or("", String::as_str);
        if known.split(',').any(|known| !known.is_empty() && !savepoints.iter().any(|savepoint| savepoint == known)) {
            // Files that a savepoint kept may be deleted now that it is gone.
            return Ok(None);
        }
        let mut changed = BTreeSet::new();
        for write in self.timeline.completed_writes() {
            if write.requested_time < from || write.requested_time >= earliest.requested_time {
                continue;
            }
            let Some(commit) = self.timeline.commit_metadata(write, MetadataPart::All)? else { return Ok(None) };
            changed.extend(commit.write_stats.into_keys().chain(commit.replaced.into_keys()));
        }
        Ok(Some(changed))
    }

    fn kept(&self, earliest: Option<&Instant>, needed: Option<RequestedTime>) -> Result<KeptSlices> {
        let mut kept = KeptSlices {
            needed,
            earliest: earliest.map(|earliest| earliest.requested_time.clone()),
            compacted: BTreeMap::new(),
            clustered: BTreeSet::new(),
            replaced: GroupInstants::new(),
            savepointed: BTreeMap::new(),
        };
        let plans = [self.timeline.pending_compactions()?, self.timeline.pending_log_compactions()?];
        for operation in plans.into_iter().flatten().flat_map(|plan| plan.operations) {
            let oldest = kept
                .compacted
                .entry((operation.partition, operation.file_id))
                .or_insert(operation.base_instant.clone());
            *oldest = std::mem::take(oldest).min(operation.base_instant);
        }
        for group in self.timeline.file_groups_in_pending_clustering()? {
            kept.clustered.insert((group.partition, group.file_id));
        }
        for group in self.timeline.replaced_file_groups()? {
            kept.replaced.insert((group.partition, group.file_id), group.instant);
        }
        let has_logs = self.config.table_type == TableType::MergeOnRead;
        for savepoint in self.timeline.savepoints() {
            for (partition, names) in self.timeline.files_of_savepoint(savepoint, has_logs)? {
                kept.savepointed.entry(partition).or_default().extend(names);
            }
        }
        Ok(kept)
    }
}

/// The names of the files of a partition that are deleted.
fn doomed_names<'a>(
    groups: &'a [GroupVersions],
    partition: &str,
    kept: &KeptSlices,
    policy: CleaningPolicy,
) -> BTreeSet<&'a str> {
    let savepointed = kept.savepointed.get(partition);
    let is_savepointed =
        |slice: &SliceFiles| savepointed.is_some_and(|names| slice.names.iter().any(|name| names.contains(name)));
    let mut doomed = BTreeSet::new();
    for group in groups {
        let id = (partition.to_owned(), group.file_id.clone());
        if kept.clustered.contains(&id) {
            continue;
        }
        let slices: Vec<&SliceFiles> = match kept.replaced.get(&id) {
            // A plan from before the replacement is executed yet.
            Some(_) if kept.compacted.contains_key(&id) => continue,
            Some(replaced) if [&kept.earliest, &kept.needed].into_iter().flatten().all(|kept| replaced < kept) => {
                group.versions.iter().collect()
            }
            Some(_) => continue,
            None => old_slices(group, &id, kept, policy),
        };
        let deleted = slices.into_iter().filter(|slice| !is_savepointed(slice));
        doomed.extend(deleted.flat_map(|slice| slice.names.iter().map(String::as_str)));
    }
    doomed
}

/// The slices of a live file group that are not kept.
fn old_slices<'a>(
    group: &'a GroupVersions,
    id: &(String, String),
    kept: &KeptSlices,
    policy: CleaningPolicy,
) -> Vec<&'a SliceFiles> {
    let is_compacted = |slice: &SliceFiles| {
        kept.compacted.get(id).is_some_and(|oldest| oldest.as_ref().is_none_or(|oldest| slice.base_instant >= *oldest))
    };
    if let CleaningPolicy::LatestFileVersions(versions) = policy {
        let versions = usize::try_from(versions).unwrap_or(usize::MAX);
        let versions = versions.saturating_sub(usize::from(kept.compacted.contains_key(id)));
        let old = group.versions.iter().filter(|slice| !is_compacted(slice)).skip(versions);
        return old.filter(|slice| !is_read_by_pending(slice, group, kept.needed.as_ref())).collect();
    }
    let Some(earliest) = &kept.earliest else { return Vec::new() };
    // The newest slice before the earliest instant is what queries at that instant read.
    let older = group.versions.iter().skip(1).filter(|slice| slice.base_instant < *earliest);
    let newest_is_older = group.versions.first().is_some_and(|newest| newest.base_instant < *earliest);
    older.skip(usize::from(!newest_is_older)).filter(|slice| !is_compacted(slice)).collect()
}

/// Whether pending writes may read a slice: it is the newest that was there when the first of them began, or a later
/// one.
fn is_read_by_pending(slice: &SliceFiles, group: &GroupVersions, needed: Option<&RequestedTime>) -> bool {
    let Some(needed) = needed else { return false };
    let newest = group.versions.iter().find(|one| one.base_instant < *needed);
    newest.is_none_or(|newest| slice.base_instant >= newest.base_instant)
}

/// The sizes of files of a listing.
fn sizes_of(files: &PartitionFiles, names: &BTreeSet<&str>) -> BTreeMap<String, u64> {
    let bases = files.base_files.iter().map(|base| (&base.name.name, base.len));
    let logs = files.log_files.iter().map(|log| (&log.name.name, log.len));
    let wanted = bases.chain(logs).filter(|(name, _)| names.contains(name.as_str()));
    wanted.map(|(name, len)| (name.clone(), len)).collect()
}
