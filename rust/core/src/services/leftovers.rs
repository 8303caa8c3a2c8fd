//! What writers left behind that were stopped after their commit or after a rollback: markers and heartbeats.
//!
//! | markers of an instant that is | what is deleted |
//! |---|---|
//! | pending | nothing: a rollback needs them |
//! | completed, or archived | the markers |
//! | not on the timeline | the files that the markers name, then the markers: a writer that was taken for dead went on after its rollback |

use std::sync::Arc;

use super::data_paths::DataPath;
use super::rollback::Rollbacks;
use crate::commit::{HeartbeatOptions, Heartbeats, delete_heartbeat};
use crate::error::Result;
use crate::names::RequestedTime;
use crate::storage::FolderEntry;
use crate::timeline::Timeline;
use crate::write::Markers;

const TEMP: &str = ".hoodie/.temp";

/// Removes what stopped writers left. With several writers the caller holds the lock.
///
/// # Errors
/// Those of the storage.
pub fn remove_leftovers(rollbacks: &Rollbacks<'_>, heartbeat: HeartbeatOptions) -> Result<()> {
    // Before the timeline: an instant is created before its markers.
    let marked = marked_instants(rollbacks)?;
    let heartbeats = Heartbeats::list(&**rollbacks.store)?;
    if marked.is_empty() && heartbeats.instants().next().is_none() {
        return Ok(());
    }
    let timeline = rollbacks.timeline()?;
    let is_pending =
        |instant: &RequestedTime| timeline.instants_at(instant).iter().any(|instant| !instant.is_completed());
    for instant in marked.iter().filter(|instant| !is_pending(instant)) {
        // A writer that is alive finds out by itself that it was rolled back.
        if is_completed(&timeline, instant) || heartbeats.is_expired(instant, heartbeat) {
            remove_markers(rollbacks, &timeline, instant)?;
        }
    }
    for instant in heartbeats.instants().filter(|instant| !is_pending(instant)) {
        if is_completed(&timeline, instant) || heartbeats.is_expired(instant, heartbeat) {
            delete_heartbeat(&**rollbacks.store, instant)?;
        }
    }
    Ok(())
}

fn marked_instants(rollbacks: &Rollbacks<'_>) -> Result<Vec<RequestedTime>> {
    let entries = rollbacks.store.list(TEMP)?.unwrap_or_default();
    let folders = entries.iter().filter_map(|entry| match entry {
        FolderEntry::Folder(name) => RequestedTime::parse(name),
        FolderEntry::File(_) => None,
    });
    Ok(folders.collect())
}

fn is_completed(timeline: &Timeline, instant: &RequestedTime) -> bool {
    timeline.is_before_start(instant) || timeline.instants_at(instant).iter().any(|instant| instant.is_completed())
}

fn remove_markers(rollbacks: &Rollbacks<'_>, timeline: &Timeline, instant: &RequestedTime) -> Result<()> {
    let markers = Markers::new(Arc::clone(rollbacks.store), instant);
    if !is_completed(timeline, instant) {
        for marker in markers.list()? {
            let path = DataPath::parse(&marker.data_path)?;
            if path.is_of(instant) {
                rollbacks.store.check_removable(&path.path())?;
                rollbacks.store.delete(&path.path())?;
            }
        }
    }
    markers.remove()
}
