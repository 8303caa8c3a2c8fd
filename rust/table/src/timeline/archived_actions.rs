//! The whole archive, to be written in the other layout: completed instants with their metadata and plans.

use super::instant::Instant;
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use mortice_base::error::Result;
use mortice_merge::config::TimelineLayout;

/// An archived instant, with the contents of its files in the Avro format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedAction {
    /// The completed instant.
    pub instant: Instant,
    /// Its metadata; none if the archive has none.
    pub metadata: Option<Vec<u8>>,
    /// The plan that it executed; none if it had none.
    pub plan: Option<Vec<u8>>,
}

impl Timeline {
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
