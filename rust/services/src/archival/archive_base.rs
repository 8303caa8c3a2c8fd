//! The archive as it was before the timeline was read by which instants are chosen.
//!
//! The archive is changed on condition that it is still so. Who archives takes the instants off the timeline
//! afterwards: if the archive is unchanged, what was on the timeline after it was read is on the timeline or in no
//! other archiver's hands. An archiver that stalls longer than its lock is valid changes nothing, and says so.

use super::{archive_log, lsm_history};
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_merge::config::TimelineLayout;

/// What the archive was.
pub(crate) enum ArchiveBase {
    /// Up to table version 7.
    Log(archive_log::LogBase),
    /// From table version 8 on.
    History(lsm_history::HistoryBase),
}

impl ArchiveBase {
    /// Reads the archive, then the timeline, and removes instants from the active timeline that are in both: an
    /// archiver was stopped.
    pub(crate) fn read(table: &mut ServiceTable) -> Result<Self> {
        let base = match table.config.layout() {
            TimelineLayout::V1 => Self::Log(archive_log::LogBase::read(table)?),
            TimelineLayout::V2 => Self::History(lsm_history::HistoryBase::read(table)?),
        };
        table.reload()?;
        let archived = table.timeline.archived_and_active()?;
        if !archived.is_empty() {
            table.timeline_writer().delete_archived(&archived)?;
            table.reload()?;
        }
        Ok(base)
    }
}
