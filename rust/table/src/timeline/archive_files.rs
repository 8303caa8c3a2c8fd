//! What an archiver and a verification read of the archive: instants that are active as well, all writes, and the files
//! of the history.
//!
//! An archiver that was stopped leaves instants on the active timeline that it has archived. They are in the newest
//! files of the archive.

use std::collections::BTreeSet;

use super::archived_action::ArchivedAction;
use super::instant::{Action, Instant};
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;

pub use super::history_v2::{HistoryFile, history_batches, history_files, manifest_files};

impl Timeline {
    /// The requested times of all writes in the archive, also of those that are on the active timeline.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn all_archived_writes(&self) -> Result<BTreeSet<RequestedTime>> {
        let Some(folder) = &self.archive_folder else { return Ok(BTreeSet::new()) };
        let archived = match self.layout {
            TimelineLayout::V1 => archived_v1::instants(&*self.storage, folder)?,
            TimelineLayout::V2 => history_v2::instants(&*self.storage, folder)?,
        };
        let writes = archived.into_iter().filter(|instant| instant.action.is_write());
        Ok(writes.map(|instant| instant.requested_time).collect())
    }

    /// The active completed instants that the archive has already.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn archived_and_active(&self) -> Result<Vec<Instant>> {
        let Some(folder) = &self.archive_folder else { return Ok(Vec::new()) };
        let completed = || self.instants().iter().filter(|instant| instant.is_completed());
        let Some(first) = completed().next() else { return Ok(Vec::new()) };
        let archived: BTreeSet<(RequestedTime, Action)> = match self.layout {
            TimelineLayout::V1 => archived_v1::newest_instants(&*self.storage, folder)?,
            TimelineLayout::V2 => history_v2::instants_since(&*self.storage, folder, &first.requested_time)?,
        };
        let is_archived = |instant: &&Instant| archived.contains(&(instant.requested_time.clone(), instant.action));
        Ok(completed().filter(is_archived).cloned().collect())
    }

    /// Reads all completed instants of the archive, oldest first, those that are active as well not among them.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn archived_actions(&self) -> Result<Vec<ArchivedAction>> {
        let Some(folder) = &self.archive_folder else { return Ok(Vec::new()) };
        let mut actions = match self.layout {
            TimelineLayout::V1 => archived_v1::actions(&*self.storage, folder)?,
            TimelineLayout::V2 => history_v2::actions(&*self.storage, folder)?,
        };
        actions.retain(|action| {
            let active = self.instants_at(&action.instant.requested_time);
            !active.iter().any(|one| one.is_same(&action.instant))
        });
        actions.sort_by(|one, other| one.instant.timeline_order(&other.instant));
        Ok(actions)
    }
}
