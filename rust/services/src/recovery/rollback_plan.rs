//! Plans of rollbacks (`MarkerBasedRollbackStrategy`, `ListingBasedRollbackStrategy`).
//!
//! | the instant's file | version 8 and later | up to version 7 |
//! |---|---|---|
//! | base file | deleted | deleted |
//! | log file whose name has the instant | deleted | deleted: its slice began with the instant |
//! | log file of an older slice | – | a rollback block is appended to the slice |
//!
//! Files of a pending instant are those of its markers, files of a completed one those of its commit metadata, as its
//! markers are gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::data_paths::{DataPath, plan_path};
use crate::listings::Listings;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStore, Storage};
use mortice_table::timeline::metadata::{HoodieInstantInfo, HoodieRollbackPlan, HoodieRollbackRequest, OrderedMap};
use mortice_table::timeline::{CommitMetadata, Instant};
use mortice_write::write::{Marker, MarkerKind};

/// A slice that gets a rollback block, and the log files with blocks of the failed instant, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRollback {
    pub(crate) partition: String,
    pub(crate) file_id: String,
    pub(crate) base_instant: RequestedTime,
    pub(crate) logs: BTreeMap<String, u64>,
}

impl LogRollback {
    fn key(&self) -> SliceKey {
        (self.partition.clone(), self.file_id.clone(), self.base_instant.clone())
    }

    /// Its log files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = DataPath> + '_ {
        self.logs.keys().map(|name| DataPath { partition: self.partition.clone(), name: name.clone() })
    }
}

/// What undoes an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Undo {
    /// Files to delete.
    pub(crate) deletions: BTreeSet<DataPath>,
    /// Slices that get a rollback block.
    pub(crate) logs: Vec<LogRollback>,
}

/// A slice of log files: partition, file group, base instant.
type SliceKey = (String, String, RequestedTime);
/// Names of log files by slice. None are known by markers of old releases, which have the name of the base file.
type Slices = BTreeMap<SliceKey, BTreeSet<String>>;

impl Undo {
    /// By the markers of a pending instant.
    pub(crate) fn from_markers(
        config: &TableConfig,
        instant: &RequestedTime,
        markers: &BTreeSet<Marker>,
        listings: &mut Listings<'_>,
    ) -> Result<Self> {
        let mut undo = Self::default();
        let mut slices = Slices::new();
        for marker in markers {
            let path = DataPath::parse(&marker.data_path)?;
            if is_log_of_slice(config, instant, marker, &path) {
                let (key, log) = appended(path)?;
                slices.entry(key).or_default().extend(log);
            } else {
                path.check_is_of(instant)?;
                undo.deletions.insert(path);
            }
        }
        undo.add_slices(slices, listings)?;
        Ok(undo)
    }

    /// By the commit metadata of a completed instant.
    pub(crate) fn from_commit(
        config: &TableConfig,
        instant: &RequestedTime,
        commit: &CommitMetadata,
        listings: &mut Listings<'_>,
    ) -> Result<Self> {
        let mut undo = Self::default();
        let mut slices = Slices::new();
        let stats = commit.write_stats.values().flatten();
        let change_logs = stats.clone().flat_map(|stat| stat.cdc_stats.iter().flat_map(BTreeMap::keys));
        for path in stats.filter_map(|stat| stat.path.as_ref()).chain(change_logs) {
            let path = DataPath::parse(path)?;
            let is_log = LogFileName::parse(&path.name).is_some();
            if config.layout() == TimelineLayout::V1 && is_log && !path.is_of(instant) {
                let (key, log) = appended(path)?;
                slices.entry(key).or_default().extend(log);
            } else {
                path.check_is_of(instant)?;
                undo.deletions.insert(path);
            }
        }
        undo.add_slices(slices, listings)?;
        if config.layout() == TimelineLayout::V1 {
            undo.add_logs_of_new_slices(instant, commit, listings)?;
        }
        Ok(undo)
    }

    /// Adds the logs of slices that an instant began, up to table version 7. Later instants wrote them, which are
    /// undone already: without the slice's base file their blocks have nothing to apply to.
    fn add_logs_of_new_slices(
        &mut self,
        instant: &RequestedTime,
        commit: &CommitMetadata,
        listings: &mut Listings<'_>,
    ) -> Result<()> {
        for partition in commit.write_stats.keys() {
            let logs = listings.files(partition)?.keys().filter(|name| LogFileName::parse(name).is_some());
            let path = |name: &String| DataPath { partition: partition.clone(), name: name.clone() };
            self.deletions.extend(logs.map(path).filter(|path| path.is_of(instant)));
        }
        Ok(())
    }

    /// Adds all data files of the table whose names have an instant.
    pub(crate) fn add_files_of(&mut self, instant: &RequestedTime, listings: &mut Listings<'_>) -> Result<()> {
        for partition in listings.partitions()? {
            let path = |name: &String| DataPath { partition: partition.clone(), name: name.clone() };
            let files = listings.files(&partition)?.keys().map(path);
            self.deletions.extend(files.filter(|path| path.is_of(instant)));
        }
        Ok(())
    }

    /// Adds what another plan undoes and this one does not.
    pub(crate) fn add_missing(&mut self, other: Self) {
        self.deletions.extend(other.deletions);
        let planned: BTreeSet<SliceKey> = self.logs.iter().map(LogRollback::key).collect();
        self.logs.extend(other.logs.into_iter().filter(|slice| !planned.contains(&slice.key())));
    }

    /// By a plan on the timeline, of this or of another writer.
    pub(crate) fn from_plan(config: &TableConfig, instant: &RequestedTime, plan: &HoodieRollbackPlan) -> Result<Self> {
        let mut undo = Self::default();
        // Hudi has a request for each log file, and a slice needs one block.
        let mut slices: BTreeMap<SliceKey, BTreeMap<String, u64>> = BTreeMap::new();
        for request in plan.rollback_requests.iter().flatten() {
            for path in &request.files_to_be_deleted {
                let path = DataPath::of_plan(&request.partition_path, path)?;
                path.check_is_of(instant)?;
                undo.deletions.insert(path);
            }
            let logs = request.log_blocks_to_be_deleted.iter().flat_map(OrderedMap::iter);
            let log = |(log, len): (&str, &i64)| {
                let name = DataPath::of_plan(&request.partition_path, log)?.name;
                // Hudi has -1 where it goes by markers, which have no lengths (`MarkerBasedRollbackStrategy`).
                Ok((name, u64::try_from(*len).unwrap_or_default()))
            };
            let logs: Result<BTreeMap<String, u64>> = logs.map(log).collect();
            let logs = logs?;
            if logs.is_empty() {
                continue;
            }
            if config.layout() != TimelineLayout::V1 {
                let message =
                    "the plan of a rollback appends rollback blocks, which tables from version 8 on do not have";
                return Err(Error::invalid_table(message).at_instant(instant));
            }
            slices.entry(slice_key(request)?).or_default().extend(logs);
        }
        let slice = |((partition, file_id, base_instant), logs)| LogRollback { partition, file_id, base_instant, logs };
        undo.logs.extend(slices.into_iter().map(slice));
        Ok(undo)
    }

    /// Makes sure that nothing but regular files of the table would be deleted or written to, before anything is.
    pub(crate) fn check_removable(&self, store: &dyn FileStore) -> Result<()> {
        self.deletions.iter().try_for_each(|path| store.check_removable(&path.path()))?;
        let mut logs = self.logs.iter().flat_map(LogRollback::paths);
        logs.try_for_each(|path| store.check_removable(&path.path()))
    }

    /// Adds slices whose log files were written. A marker says only that a file may have been.
    fn add_slices(&mut self, slices: Slices, listings: &mut Listings<'_>) -> Result<()> {
        for ((partition, file_id, base_instant), names) in slices {
            let found = listings.logs(&partition, &file_id, &base_instant)?;
            let failed = found.into_iter().filter(|(log, _)| names.is_empty() || names.contains(&log.name));
            let logs: BTreeMap<String, u64> = failed.map(|(log, len)| (log.name, len)).collect();
            if !logs.is_empty() {
                self.logs.push(LogRollback { partition, file_id, base_instant, logs });
            }
        }
        Ok(())
    }

    /// The plan for the timeline.
    pub(crate) fn to_plan(&self, store: &dyn Storage, instant: &Instant) -> HoodieRollbackPlan {
        let deletions = self.deletions.iter().map(|path| {
            let base = BaseFileName::parse(&path.name).map(|name| name.file_id);
            let file_id = base.or_else(|| LogFileName::parse(&path.name).map(|name| name.file_id));
            HoodieRollbackRequest {
                partition_path: path.partition.clone(),
                file_id,
                latest_base_instant: Some(instant.requested_time.as_str().to_owned()),
                files_to_be_deleted: vec![plan_path(store, &path.path())],
                log_blocks_to_be_deleted: Some(OrderedMap::new()),
                ..HoodieRollbackRequest::default()
            }
        });
        let length = |(log, len): (&String, &u64)| (log.clone(), i64::try_from(*len).unwrap_or(i64::MAX));
        let logs = self.logs.iter().map(|slice| HoodieRollbackRequest {
            partition_path: slice.partition.clone(),
            file_id: Some(slice.file_id.clone()),
            latest_base_instant: Some(slice.base_instant.as_str().to_owned()),
            files_to_be_deleted: Vec::new(),
            log_blocks_to_be_deleted: Some(slice.logs.iter().map(length).collect()),
            ..HoodieRollbackRequest::default()
        });
        HoodieRollbackPlan {
            instant_to_rollback: Some(instant_info(instant)),
            rollback_requests: Some(deletions.chain(logs).collect()),
            version: Some(1),
            ..HoodieRollbackPlan::default()
        }
    }
}

/// The instant in plans and results of rollbacks.
pub(crate) fn instant_info(instant: &Instant) -> HoodieInstantInfo {
    HoodieInstantInfo {
        commit_time: instant.requested_time.as_str().to_owned(),
        action: instant.action.name().to_owned(),
        ..HoodieInstantInfo::default()
    }
}

/// Whether a marker is that of a log file of a slice that another instant has begun: up to table version 7.
pub(crate) fn is_log_of_slice(config: &TableConfig, instant: &RequestedTime, marker: &Marker, path: &DataPath) -> bool {
    let is_appended = config.layout() == TimelineLayout::V1 && marker.kind == MarkerKind::Append;
    is_appended && !(path.is_of(instant) && LogFileName::parse(&path.name).is_some())
}

/// The slice of a log file that was appended to, and the file's name. Markers of Hudi before 0.8 have the base file's
/// name.
fn appended(path: DataPath) -> Result<(SliceKey, Option<String>)> {
    if let Some(log) = LogFileName::parse(&path.name) {
        log.check_is_inline().map_err(|error| error.in_file(path.path()))?;
        return Ok(((path.partition, log.file_id, log.instant), Some(path.name)));
    }
    let Some(base) = BaseFileName::parse(&path.name) else {
        let message =
            "a marker or commit names a file that is neither a base file nor a log file: nothing was rolled back";
        return Err(Error::invalid_table(message).in_file(path.path()));
    };
    Ok(((path.partition, base.file_id, base.instant), None))
}

fn slice_key(request: &HoodieRollbackRequest) -> Result<SliceKey> {
    let file_id = request.file_id.clone().filter(|file_id| !file_id.is_empty());
    let base_instant = request.latest_base_instant.as_deref().unwrap_or_default();
    let base_instant = RequestedTime::from_metadata("latestBaseInstant of a rollback plan", base_instant)?;
    let file_id =
        file_id.ok_or_else(|| Error::invalid_table("a rollback plan has logs to roll back without a file id"))?;
    LogFileName::compose(&file_id, &base_instant, 1, "1-0-1")
        .map_err(|error| error.with_kind(ErrorKind::InvalidTable))?;
    Ok((request.partition_path.clone(), file_id, base_instant))
}
