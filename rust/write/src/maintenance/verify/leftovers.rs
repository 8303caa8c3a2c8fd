//! Markers and heartbeats that nobody needs any more.

use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use crate::commit::{HeartbeatOptions, Heartbeats};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::{FileStore, FolderEntry};
use mortice_table::timeline::Timeline;

const TEMP: &str = ".hoodie/.temp";
const HEARTBEATS: &str = ".hoodie/.heartbeat";

/// Finds them. Those of pending instants are a rollback's, and those of live writers their own.
///
/// # Errors
/// Those of the storage.
pub(super) fn leftovers(store: &Arc<dyn FileStore>, timeline: &Timeline) -> Result<Vec<Finding>> {
    let heartbeats = Heartbeats::list(&**store)?;
    let is_pending =
        |instant: &RequestedTime| timeline.instants_at(instant).iter().any(|instant| !instant.is_completed());
    let is_dead = |instant: &RequestedTime| {
        let is_completed = timeline.is_completed(instant);
        !is_pending(instant) && (is_completed || heartbeats.is_expired(instant, HeartbeatOptions::default()))
    };
    let why = |instant: &RequestedTime| {
        if timeline.is_completed(instant) { "is completed" } else { "is not on the timeline" }
    };
    let mut found = Vec::new();
    for entry in store.list(TEMP)?.unwrap_or_default() {
        let FolderEntry::Folder(name) = entry else { continue };
        let Some(instant) = RequestedTime::parse(&name).filter(|instant| is_dead(instant)) else { continue };
        let message = format!("the instant of the markers {}", why(&instant));
        found.push(Finding::new(FindingKind::StaleMarkers, format!("{TEMP}/{name}"), message));
    }
    for instant in heartbeats.instants().filter(|instant| is_dead(instant)) {
        let message = format!("the instant of the heartbeat {}", why(instant));
        found.push(Finding::new(FindingKind::DeadHeartbeat, format!("{HEARTBEATS}/{instant}"), message));
    }
    Ok(found)
}
