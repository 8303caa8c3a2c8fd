//! Archival of the metadata table. It keeps one commit more than the table, and all instants that are active in the
//! table: rollbacks of the table look for them.

use super::options::MetadataServiceOptions;
use crate::archival::{
    ArchiveBase, KeepCommits, archive_instants, instants_to_archive, of_timeline as limits_of_timeline,
};
use crate::recovery::delete_late_files_of_metadata;
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_base::progress::Progress;
use mortice_table::timeline::{Instant, Timeline};

/// Whether there are more commits than are to be kept.
pub(super) fn is_due(metadata: &Timeline, options: &MetadataServiceOptions) -> bool {
    metadata.completed_writes().count() as u64 > keep(options).most
}

/// Archives instants. Returns whether it did.
pub(super) fn archive(metadata: &mut ServiceTable, data: &Timeline, options: &MetadataServiceOptions) -> Result<bool> {
    if !is_due(&metadata.timeline, options) {
        return Ok(false);
    }
    let base = ArchiveBase::read(metadata)?;
    let writer = metadata.timeline_writer();
    let mut limits = limits_of_timeline(&metadata.timeline, &metadata.config, &writer, options.trigger.commits())?;
    limits.extend(earliest_of_table(data));
    let chosen = instants_to_archive(&metadata.timeline, keep(options), &limits);
    if chosen.is_empty() {
        return Ok(false);
    }
    delete_late_files_of_metadata(metadata)?;
    archive_instants(metadata, base, &chosen, options.archival.history_batch, &Progress::default())?;
    metadata.reload()?;
    Ok(true)
}

fn keep(options: &MetadataServiceOptions) -> KeepCommits {
    let KeepCommits { least, most } = options.archival.keep;
    KeepCommits { least: least.saturating_add(1), most: most.saturating_add(1) }
}

/// The first write of the table that is active, or the first pending instant of any action.
fn earliest_of_table(data: &Timeline) -> Option<RequestedTime> {
    let is_kept = |instant: &&Instant| instant.is_completed_write() || !instant.is_completed();
    data.instants().iter().find(is_kept).map(|instant| instant.requested_time.clone())
}
