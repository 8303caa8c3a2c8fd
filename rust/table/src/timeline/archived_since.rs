//! Writes that were archived between two listings of a timeline.
//!
//! Archiving removes the oldest completed writes. So a write that was not completed at the first listing, and is on
//! neither timeline now, was requested at or after the start of the first timeline and before the start of the second.

use super::archived_v1::{self, WantedWrites};
use super::history_v2;
use super::instant::Instant;
use super::range::WriteVisitor;
use super::timeline::Timeline;
use mortice_base::error::Result;
use mortice_merge::config::TimelineLayout;

impl Timeline {
    /// Visits the archived writes that were not completed when `before` was listed, each once. The archive is read only
    /// if this timeline begins later than `before`.
    ///
    /// # Errors
    /// Errors of `visit`; errors of reading the archive.
    pub fn visit_archived_since(&self, before: &Timeline, visit: &mut WriteVisitor<'_>) -> Result<()> {
        let Some(folder) = &self.archive_folder else { return Ok(()) };
        let from = before.start();
        if self.start().is_none() || self.start() <= from {
            return Ok(());
        }
        let is_wanted = |write: &Instant| {
            let time = &write.requested_time;
            from.is_none_or(|from| time >= from) && !before.is_completed(time) && self.was_archived(write)
        };
        match self.layout {
            TimelineLayout::V1 => {
                let times = before.pending_writes().map(|write| &write.requested_time);
                let known = times.filter(|time| self.writes_at(time).next().is_none()).cloned().collect();
                let wanted = WantedWrites { from, known: &known, is_wanted: &is_wanted };
                archived_v1::visit_wanted_writes(&*self.storage, folder, &wanted, visit)
            }
            TimelineLayout::V2 => history_v2::visit_chosen_writes(&*self.storage, folder, from, &is_wanted, visit),
        }
    }
}
