//! What writers left behind that were stopped after their commit or after a rollback: markers and heartbeats.
//!
//! | markers of an instant that is | what is deleted |
//! |---|---|
//! | pending | nothing: a rollback needs them |
//! | completed | the files that the markers name and the commit does not have, then the markers: an execution of the plan that was taken for dead went on |
//! | archived | the markers |
//! | not on the timeline | the files that the markers name, then the markers: a writer that was taken for dead went on after its rollback; log files of older slices as by [`LateLogs`] |
//!
//! What they left in the metadata table is removed then, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::late_logs::LateLogs;
use super::rollback::{MetadataRollback, Rollbacks};
use crate::data_paths::DataPath;
use mortice_base::error::Result;
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::{HeartbeatOptions, Heartbeats, OpenMark, delete_heartbeat};
use mortice_merge::config::TimelineLayout;
use mortice_storage::FolderEntry;
use mortice_table::timeline::{MetadataPart, Timeline};
use mortice_write::write::{Marker, MarkerKind, Markers};

const TEMP: &str = ".hoodie/.temp";

/// Removes what stopped writers left. With several writers the caller holds the lock.
pub(crate) fn remove_leftovers(rollbacks: &Rollbacks<'_>, heartbeat: HeartbeatOptions) -> Result<()> {
    // Before the timeline: an instant is created before its markers.
    let marked = marked_instants(rollbacks)?;
    let heartbeats = Heartbeats::list(&**rollbacks.store)?;
    let in_metadata = rollbacks.metadata.map(MetadataRollback::leftovers).transpose()?.flatten();
    if marked.is_empty() && heartbeats.instants().next().is_none() && in_metadata.is_none() {
        return Ok(());
    }
    let timeline = rollbacks.timeline()?;
    for instant in marked.iter().filter(|instant| !timeline.has_pending_at(instant)) {
        // A writer that is alive finds out by itself that it was rolled back.
        if timeline.has_completed_at(instant) || heartbeats.is_expired(instant, heartbeat) {
            remove_markers(rollbacks, &timeline, instant)?;
        }
    }
    for instant in heartbeats.instants().filter(|instant| !timeline.has_pending_at(instant)) {
        if timeline.has_completed_at(instant) || heartbeats.is_expired(instant, heartbeat) {
            delete_heartbeat(&**rollbacks.store, instant)?;
        }
    }
    match (rollbacks.metadata, in_metadata) {
        (Some(metadata), Some(found)) => metadata.remove_leftovers(&found, &timeline, heartbeat),
        _ => Ok(()),
    }
}

fn marked_instants(rollbacks: &Rollbacks<'_>) -> Result<Vec<RequestedTime>> {
    let entries = rollbacks.store.list(TEMP)?.unwrap_or_default();
    let folders = entries.iter().filter_map(|entry| match entry {
        FolderEntry::Folder(name) => RequestedTime::parse(name),
        FolderEntry::File(_) => None,
    });
    Ok(folders.collect())
}

/// Removes what an attempt to write has left whose instant is not its own any more: another writer has rolled it back,
/// and may have executed its plan again. Only the attempt's own files are deleted if the instant is pending, as its
/// markers are those of the other writer, which deletes what they name and its commit does not have. The caller holds
/// the table's lock, if it has one.
///
/// Args:
///     instant: The attempt's instant.
///     begun: The data files that the attempt has begun, by their paths from the table.
pub(crate) fn remove_files_of_attempt(
    rollbacks: &Rollbacks<'_>,
    instant: &RequestedTime,
    begun: &BTreeSet<String>,
) -> Result<()> {
    let store = rollbacks.store;
    let timeline = rollbacks.timeline()?;
    let mut logs = LateLogs::new(rollbacks.store, rollbacks.clock, &timeline, instant);
    for path in begun {
        let path = DataPath::parse(path)?;
        let is_log_of_slice =
            rollbacks.config.layout() == TimelineLayout::V1 && LogFileName::parse(&path.name).is_some();
        // A rollback has listed those that it found in the metadata table.
        if is_log_of_slice && !path.is_of(instant) {
            logs.delete_if_alone(&path)?;
        } else {
            delete(rollbacks, &path)?;
        }
    }
    if timeline.has_pending_at(instant) {
        return Ok(());
    }
    OpenMark::new(Arc::clone(store), instant).close()?;
    remove_markers(rollbacks, &timeline, instant)?;
    delete_heartbeat(&**store, instant)
}

fn remove_markers(rollbacks: &Rollbacks<'_>, timeline: &Timeline, instant: &RequestedTime) -> Result<()> {
    let markers = Markers::new(Arc::clone(rollbacks.store), instant);
    let committed = committed_files(timeline, instant)?;
    let mut logs = LateLogs::new(rollbacks.store, rollbacks.clock, timeline, instant);
    let found = if committed == Committed::Unknown { BTreeSet::new() } else { markers.list()? };
    for Marker { data_path, kind } in found {
        let path = DataPath::parse(&data_path)?;
        let is_log_of_slice = rollbacks.config.layout() == TimelineLayout::V1 && kind == MarkerKind::Append;
        match &committed {
            Committed::Files(committed) if committed.contains(&path) => {}
            // A rollback block would undo the committed logs as well.
            Committed::Files(_) if is_log_of_slice => logs.delete_if_alone(&path)?,
            _ if path.is_of(instant) => delete(rollbacks, &path)?,
            Committed::Nothing if is_log_of_slice => logs.undo(&path)?,
            _ => {}
        }
    }
    markers.remove()
}

fn delete(rollbacks: &Rollbacks<'_>, path: &DataPath) -> Result<()> {
    let path = path.path();
    rollbacks.store.check_removable(&path)?;
    rollbacks.store.delete(&path)
}

/// What an instant that is not pending has added to the table.
#[derive(Debug, PartialEq, Eq)]
enum Committed {
    Nothing,
    Files(BTreeSet<DataPath>),
    /// It is archived, or its commit metadata names no files.
    Unknown,
}

fn committed_files(timeline: &Timeline, instant: &RequestedTime) -> Result<Committed> {
    if !timeline.has_completed_at(instant) {
        return Ok(Committed::Nothing);
    }
    let Some(completed) = timeline.writes_at(instant).find(|instant| instant.is_completed()) else {
        return Ok(Committed::Unknown);
    };
    let Some(commit) = timeline.commit_metadata(completed, MetadataPart::All)? else { return Ok(Committed::Unknown) };
    if commit.write_stats.is_empty() {
        return Ok(Committed::Unknown);
    }
    let stats = commit.write_stats.values().flatten();
    let change_logs = stats.clone().flat_map(|stat| stat.cdc_stats.iter().flat_map(BTreeMap::keys));
    let paths = stats.filter_map(|stat| stat.path.as_ref()).chain(change_logs);
    let paths: Result<_> = paths.map(|path| DataPath::parse(path)).collect();
    Ok(paths.map_or(Committed::Unknown, Committed::Files))
}
