//! Savepoints (`SavepointActionExecutor`, `SavepointHelpers`): the files of the table at an instant, which cleaning and
//! archival keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::requested_time;
use super::restore::check_no_restore;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_commit::commit::TimelineWriter;
use mortice_commit::writable_table::{TableLocation, TableState, WritableTable};
use mortice_formats::filter::Filter;
use mortice_storage::Storage;
use mortice_table::file_group::{FileSlice, files_of};
use mortice_table::timeline::metadata::{
    HoodieSavepointMetadata, HoodieSavepointPartitionMetadata, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{Action, Instant, Timeline};

/// A savepoint that is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavepointRequest {
    /// The requested time of the write that it keeps.
    pub instant: String,
    /// The user.
    pub user: String,
    /// A comment.
    pub comment: String,
}

/// A savepoint that was made, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavepointResult {
    /// The instant that it keeps.
    pub instant: RequestedTime,
    /// When it was made; none up to table version 7, and if nothing was done.
    pub completion_time: Option<CompletionTime>,
    /// The names of the files that it keeps, by partition, with their bytes.
    pub files: KeptFiles,
}

/// Names of files by partition, with bytes.
pub type KeptFiles = BTreeMap<String, BTreeMap<String, u64>>;

/// Makes a savepoint of a completed write.
///
/// Args:
///     location: Where the table is.
///     request: The write, who keeps it, and what for.
///     options: Options by Hudi's names, such as those of the lock.
///
/// # Errors
/// `InvalidArgument` if there is no such completed write, or it is savepointed; `FileCleaned` if files of it may have
/// been cleaned; those of the storage.
pub fn run_savepoint(
    location: &TableLocation,
    request: &SavepointRequest,
    options: &BTreeMap<String, String>,
) -> Result<SavepointResult> {
    create_savepoint(location, request, options, false)
}

/// What [`run_savepoint`] would keep. Nothing is changed.
///
/// # Errors
/// As for [`run_savepoint`].
pub fn plan_savepoint(
    location: &TableLocation,
    request: &SavepointRequest,
    options: &BTreeMap<String, String>,
) -> Result<SavepointResult> {
    create_savepoint(location, request, options, true)
}

fn create_savepoint(
    location: &TableLocation,
    request: &SavepointRequest,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<SavepointResult> {
    let time = requested_time(&request.instant)?;
    let target = WritableTable::open(location, options, "savepoint")?;
    let created = target.examined(is_dry_run, |state| create(state, &time, request, is_dry_run));
    created.map_err(|error| error.in_file(location.uri()))
}

fn create(
    state: &TableState,
    time: &RequestedTime,
    request: &SavepointRequest,
    is_dry_run: bool,
) -> Result<SavepointResult> {
    check_no_restore(&state.table.timeline)?;
    let timeline = &state.table.timeline;
    check_completed(timeline, time)?;
    if timeline.savepoints().any(|savepoint| savepoint.requested_time == *time) {
        return Err(Error::invalid_argument("the instant has a savepoint already").at_instant(time));
    }
    let files = files_at(state, time)?;
    if is_dry_run {
        return Ok(SavepointResult { instant: time.clone(), completion_time: None, files });
    }
    let content = Bytes::from(metadata(request, &files, state.store.time().now()).to_avro()?);
    let writer = TimelineWriter::new(Arc::clone(&state.store), &state.table.config);
    // One that a writer left pending is completed.
    writer.start(time, Action::Savepoint, &Bytes::new())?;
    let completion = state.clock.completion_time(time, &[timeline])?;
    let created = writer.complete_or_fail(time, Action::Savepoint, &completion, &content)?;
    confirm_kept(state, &writer, &created, &files)?;
    Ok(SavepointResult { instant: time.clone(), completion_time: created.completion_time, files })
}

/// Makes sure, after a savepoint was completed, that no other writer has begun to delete its files since they were
/// listed, as the lock was lost then: cleans that are planned after this listing see the savepoint. Otherwise it is
/// deleted again.
fn confirm_kept(state: &TableState, writer: &TimelineWriter, created: &Instant, files: &KeptFiles) -> Result<()> {
    let known = &state.table.timeline;
    let deletes = |file: &Instant| matches!(file.action, Action::Clean | Action::Rollback | Action::Restore);
    let found = writer.files()?;
    let mut since =
        found.iter().filter(|file| deletes(file) && known.instants_at(&file.requested_time).is_empty()).peekable();
    if since.peek().is_none() {
        return Ok(());
    }
    let is_under_way =
        since.any(|one| !found.iter().any(|file| file.is_completed() && file.requested_time == one.requested_time));
    if !is_under_way
        && &stored(state, files)? == files
        && found
            .iter()
            .any(|file| file.requested_time == created.requested_time && file.action.is_write() && file.is_completed())
    {
        return Ok(());
    }
    writer.delete_instant(&created.requested_time, Action::Savepoint)?;
    let message = "another writer has cleaned or rolled back files of the savepoint, as the lock of this one had expired; there is no \
                   savepoint, make it again";
    Err(Error::new(ErrorKind::WriteConflict, message).at_instant(&created.requested_time))
}

pub(super) fn check_completed(timeline: &Timeline, time: &RequestedTime) -> Result<()> {
    if timeline.writes_at(time).any(|instant| instant.is_completed()) {
        return Ok(());
    }
    let newest: Vec<String> = timeline.completed_writes().rev().take(5).map(ToString::to_string).collect();
    let message = match newest.join(", ") {
        newest if newest.is_empty() => "the table has no completed write".to_owned(),
        newest => format!("the active timeline has no completed write of this requested time; the newest are {newest}"),
    };
    Err(Error::invalid_argument(message).at_instant(time))
}

/// The files of the slices at an instant. Logs that writers of version 8 and later added to them afterwards are among
/// them, as with Hudi: some may have been completed before the instant was.
fn files_at(state: &TableState, time: &RequestedTime) -> Result<KeptFiles> {
    let mut by_partition: BTreeMap<String, Vec<FileSlice>> = BTreeMap::new();
    for slice in state.table.file_slices(Some(time.as_str()), &Filter::default())? {
        by_partition.entry(slice.partition.clone()).or_default().push(slice);
    }
    let place: Arc<dyn Storage> = Arc::<_>::clone(&state.store) as _;
    let mut files = BTreeMap::new();
    for (partition, slices) in by_partition {
        let mut kept: BTreeMap<String, u64> = BTreeMap::new();
        for slice in &slices {
            kept.extend(slice.base_file.iter().map(|base| (base.name().to_owned(), base.len)));
            kept.extend(slice.log_files.iter().map(|log| (log.name().to_owned(), log.len)));
        }
        let groups: BTreeSet<&str> = slices.iter().map(|slice| slice.file_id.as_str()).collect();
        let timeline = &state.table.timeline;
        let later = files_of(place.as_ref(), &partition)?.log_files.into_iter().filter(|log| {
            let name = &log.name;
            groups.contains(name.file_id.as_str()) && name.instant > *time && timeline.is_completed(&name.instant)
        });
        kept.extend(later.map(|log| (log.name.name, log.len)));
        files.insert(partition, kept);
    }
    Ok(files)
}

fn metadata(request: &SavepointRequest, files: &KeptFiles, now: DateTime<Utc>) -> HoodieSavepointMetadata {
    let partition = |(partition, files): (&String, &BTreeMap<String, u64>)| {
        let kept = HoodieSavepointPartitionMetadata {
            partition_path: partition.clone(),
            savepoint_data_file: files.keys().cloned().collect(),
            ..HoodieSavepointPartitionMetadata::default()
        };
        (partition.clone(), kept)
    };
    HoodieSavepointMetadata {
        savepointed_by: request.user.clone(),
        savepointed_at: now.timestamp_millis(),
        comments: request.comment.clone(),
        partition_metadata: files.iter().map(partition).collect::<OrderedMap<_>>(),
        version: Some(1),
        ..HoodieSavepointMetadata::default()
    }
}

/// Deletes a savepoint. Its files stay until they are cleaned. Returns the savepoint, with those of its files that are
/// there.
///
/// Args:
///     location: Where the table is.
///     instant: The requested time of the write that it keeps.
///     options: Options by Hudi's names, such as those of the lock.
///
/// # Errors
/// `InvalidArgument` if there is no such savepoint; those of the storage.
pub fn run_savepoint_deletion(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<SavepointResult> {
    delete_savepoint(location, instant, options, false)
}

/// What [`run_savepoint_deletion`] would delete. Nothing is changed.
///
/// # Errors
/// As for [`run_savepoint_deletion`].
pub fn plan_savepoint_deletion(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
) -> Result<SavepointResult> {
    delete_savepoint(location, instant, options, true)
}

fn delete_savepoint(
    location: &TableLocation,
    instant: &str,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<SavepointResult> {
    let time = requested_time(instant)?;
    let target = WritableTable::open(location, options, "delete_savepoint")?;
    let deleted = target.examined(is_dry_run, |state| delete(state, &time, is_dry_run));
    deleted.map_err(|error| error.in_file(location.uri()))
}

fn delete(state: &TableState, time: &RequestedTime, is_dry_run: bool) -> Result<SavepointResult> {
    check_no_restore(&state.table.timeline)?;
    let timeline = &state.table.timeline;
    // A pending one as well: a savepoint that was not completed, or whose deletion was stopped.
    let Some(savepoint) = timeline.instants_at(time).iter().find(|instant| instant.action == Action::Savepoint) else {
        let known: Vec<&str> = timeline.savepoints().map(|savepoint| savepoint.requested_time.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("there is no savepoint of this instant; the table's savepoints: {known}");
        return Err(Error::invalid_argument(message).at_instant(time));
    };
    let files = if savepoint.is_completed() { files_that_are_there(state, savepoint)? } else { KeptFiles::new() };
    if !is_dry_run {
        TimelineWriter::new(Arc::clone(&state.store), &state.table.config).delete_instant(time, Action::Savepoint)?;
    }
    Ok(SavepointResult { instant: time.clone(), completion_time: savepoint.completion_time.clone(), files })
}

/// The files of a savepoint that are in storage, with their sizes.
fn files_that_are_there(state: &TableState, savepoint: &Instant) -> Result<KeptFiles> {
    let files = state.table.timeline.files_of_savepoint(savepoint, true)?;
    let named =
        files.into_iter().map(|(partition, names)| (partition, names.into_iter().map(|name| (name, 0)).collect()));
    stored(state, &named.collect())
}

/// Those of these files that are in storage, with their sizes.
fn stored(state: &TableState, files: &KeptFiles) -> Result<KeptFiles> {
    let place: Arc<dyn Storage> = Arc::<_>::clone(&state.store) as _;
    let mut kept = KeptFiles::new();
    for (partition, names) in files {
        let partition = partition.clone();
        let files = files_of(place.as_ref(), &partition)?;
        let bases = files.base_files.into_iter().map(|base| (base.name.name, base.len));
        let logs = files.log_files.into_iter().map(|log| (log.name.name, log.len));
        kept.insert(partition, bases.chain(logs).filter(|(name, _)| names.contains_key(name)).collect());
    }
    Ok(kept)
}
