//! What an archiver reads of the archive: instants that are active as well, and the files of the history.
//!
//! An archiver that was stopped leaves instants on the active timeline that it has archived. They are in the newest
//! files of the archive.

use std::collections::BTreeSet;

use super::instant::{Action, Instant};
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;

pub use super::history_v2::{HistoryFile, history_batches, history_files, manifest_files};

impl Timeline {
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
}
