//! What writers that were stopped or rolled back left in the metadata table: markers and heartbeats, and from table
//! version 8 on delta commits that were never completed.

use super::delta_commit::{delete_unfinished, heartbeat};
use super::metadata_folder::{MetadataFolder, ROOT};
use super::upkeep::MetadataUpkeep;
use crate::commit::{HeartbeatOptions, Heartbeats};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;
use mortice_storage::{FileStore, FolderEntry};
use mortice_table::metadata_table::is_init_instant;
use mortice_table::timeline::{Action, Timeline};

const FOLDER: &str = ".hoodie/metadata/.hoodie";
const TEMP: &str = ".temp";
const HEARTBEATS: &str = ".heartbeat";
/// The digits of an instant of the table. Those of the metadata table may have a suffix.
const DIGITS: usize = 17;

/// Instants with markers or heartbeats in the metadata table, as they were listed.
#[derive(Default)]
pub struct MetadataLeftovers {
    /// Those with markers.
    pub marked: Vec<RequestedTime>,
    /// Those with heartbeats.
    pub heartbeats: Heartbeats,
}

impl MetadataLeftovers {
    /// Lists them.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn list(store: &dyn FileStore) -> Result<Self> {
        // One request on object stores, where a folder is there only if it has files.
        let entries = store.list(FOLDER)?.unwrap_or_default();
        let has = |name: &str| entries.iter().any(|entry| matches!(entry, FolderEntry::Folder(one) if one == name));
        let mut found = Self::default();
        if has(TEMP) {
            let marked = store.list(&format!("{FOLDER}/{TEMP}"))?.unwrap_or_default();
            found.marked.extend(marked.iter().filter_map(|entry| match entry {
                FolderEntry::Folder(name) => RequestedTime::parse(name),
                FolderEntry::File(_) => None,
            }));
        }
        if has(HEARTBEATS) {
            found.heartbeats = Heartbeats::list_below(store, ROOT)?;
        }
        Ok(found)
    }

    /// All of them.
    fn instants(&self) -> impl Iterator<Item = &RequestedTime> {
        self.marked.iter().chain(self.heartbeats.instants())
    }

    /// Whether nobody needs the markers and the heartbeat of an instant any more. A writer removes them itself once its
    /// instant is completed in the table, after it is completed in the metadata table.
    #[must_use]
    pub fn is_left(
        &self,
        instant: &RequestedTime,
        [metadata, table]: [&Timeline; 2],
        options: HeartbeatOptions,
    ) -> bool {
        let is_pending = metadata.has_pending_at(instant) || table.has_pending_at(&of_table(instant));
        !is_pending && (metadata.has_completed_at(instant) || self.heartbeats.is_expired(instant, options))
    }
}

/// The instant of the table that an instant of the metadata table belongs to.
fn of_table(instant: &RequestedTime) -> RequestedTime {
    instant.as_str().get(..DIGITS).and_then(RequestedTime::parse).unwrap_or_else(|| instant.clone())
}

impl MetadataUpkeep {
    /// What was left in the metadata table, before the table's timeline is read.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn leftovers(&self) -> Result<MetadataLeftovers> {
        MetadataLeftovers::list(&**self.folder.store())
    }

    /// Whether there may be something to remove.
    #[must_use]
    pub fn may_have_left(&self, found: &MetadataLeftovers) -> bool {
        found.instants().next().is_some() || self.folder.timeline.pending(Action::DeltaCommit).next().is_some()
    }

    /// Removes them, given the table's timeline. Those of pending instants stay, and those of writers that are alive.
    ///
    /// # Errors
    /// `InvalidTable` if a link leads out of the table; those of the storage.
    pub fn remove_leftovers(
        &self,
        found: &MetadataLeftovers,
        table: &Timeline,
        options: HeartbeatOptions,
    ) -> Result<()> {
        // The timeline was read before the folders were listed.
        let folder = MetadataFolder::open(self.folder.store())?;
        let pending = folder.timeline.pending(Action::DeltaCommit).map(|instant| &instant.requested_time);
        for instant in pending.filter(|_| folder.config.layout() == TimelineLayout::V2) {
            let is_known = is_init_instant(instant) || !table.instants_at(instant).is_empty();
            if !is_known && !table.is_before_start(instant) && found.heartbeats.is_expired(instant, options) {
                delete_unfinished(&folder, instant)?;
                folder.store().delete(&heartbeat(instant))?;
            }
        }
        for instant in found.instants() {
            if found.is_left(instant, [&folder.timeline, table], options) {
                if !folder.timeline.has_completed_at(instant) {
                    delete_unfinished(&folder, instant)?;
                }
                folder.markers(instant).remove()?;
                folder.store().delete(&heartbeat(instant))?;
            }
        }
        Ok(())
    }
}
