//! Markers and heartbeats that nobody needs any more, of the table and of its metadata table.

use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use super::metadata_storage::MetadataStorage;
use super::stored_files::joined;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{HeartbeatOptions, Heartbeats};
use mortice_commit::metadata_upkeep::{METADATA_ROOT, MetadataLeftovers};
use mortice_storage::{FileStore, FolderEntry};
use mortice_table::timeline::Timeline;

const TEMP: &str = ".hoodie/.temp";
const HEARTBEATS: &str = ".hoodie/.heartbeat";

/// Finds them. Those of pending instants are a rollback's, and those of live writers their own.
pub(super) fn leftovers(
    store: &Arc<dyn FileStore>,
    timeline: &Timeline,
    metadata: Option<&MetadataStorage>,
) -> Result<Vec<Finding>> {
    let heartbeats = Heartbeats::list(&**store)?;
    let heartbeat_options = HeartbeatOptions::without_options()?;
    let is_dead = |instant: &RequestedTime| {
        let is_completed = timeline.is_completed(instant);
        !timeline.has_pending_at(instant) && (is_completed || heartbeats.is_expired(instant, heartbeat_options))
    };
    let mut found = Vec::new();
    for entry in store.list(TEMP)?.unwrap_or_default() {
        let FolderEntry::Folder(name) = entry else { continue };
        if let Some(instant) = RequestedTime::parse(&name).filter(|instant| is_dead(instant)) {
            found.push(markers("", &instant, timeline));
        }
    }
    found.extend(heartbeats.instants().filter(|one| is_dead(one)).map(|instant| heartbeat("", instant, timeline)));
    if let Some(MetadataStorage { timeline: metadata, .. }) = metadata {
        let left = MetadataLeftovers::list(&**store)?;
        let is_left = |one: &&RequestedTime| left.is_left(one, [metadata, timeline], heartbeat_options);
        found.extend(left.marked.iter().filter(is_left).map(|one| markers(METADATA_ROOT, one, metadata)));
        let dead = left.heartbeats.instants().filter(is_left);
        found.extend(dead.map(|one| heartbeat(METADATA_ROOT, one, metadata)));
    }
    Ok(found)
}

fn markers(root: &str, instant: &RequestedTime, timeline: &Timeline) -> Finding {
    let path = format!("{}/{instant}", joined(root, TEMP));
    Finding::new(FindingKind::StaleMarkers, path, format!("the instant of the markers {}", state(timeline, instant)))
}

fn heartbeat(root: &str, instant: &RequestedTime, timeline: &Timeline) -> Finding {
    let path = format!("{}/{instant}", joined(root, HEARTBEATS));
    let message = format!("the instant of the heartbeat {}", state(timeline, instant));
    Finding::new(FindingKind::DeadHeartbeat, path, message)
}

fn state(timeline: &Timeline, instant: &RequestedTime) -> &'static str {
    if timeline.is_completed(instant) { "is completed" } else { "is not on the timeline" }
}
