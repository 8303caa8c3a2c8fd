//! Writes a whole archive in the other layout (`SevenToEightUpgradeHandler.upgradeToLSMTimeline`,
//! `EightToSevenDowngradeHandler.downgradeFromLSMTimeline`).

use super::{archive_log, lsm_history};
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::CompletionTime;
use mortice_merge::config::TimelineLayout;
use mortice_table::timeline::Instant;

/// Instants of a file: their metadata may have megabytes in all.
const BATCH: usize = 1000;

/// Copies the archive of a table to that of the same table in the other layout, which is empty. `completion` returns
/// when an instant was completed.
///
/// # Errors
/// Those of reading the archive and of the storage.
pub(crate) fn copy_archive(
    from: &ServiceTable,
    to: &ServiceTable,
    completion: &dyn Fn(&Instant) -> Result<CompletionTime>,
) -> Result<()> {
    let mut actions = from.timeline.archived_actions()?;
    for action in &mut actions {
        action.instant.completion_time = Some(completion(&action.instant)?);
    }
    match to.config.layout() {
        TimelineLayout::V1 => archive_log::write_all(to, actions.chunks(BATCH)),
        TimelineLayout::V2 => lsm_history::write_all(to, actions.chunks(BATCH)),
    }
}

/// Deletes an archive that is not in use.
///
/// # Errors
/// Those of the storage.
pub(crate) fn delete_archive(table: &ServiceTable) -> Result<()> {
    let folder = table.in_store(&table.config.archive_folder);
    let files = match table.config.layout() {
        TimelineLayout::V1 => archive_log::files(table, &folder)?,
        TimelineLayout::V2 => lsm_history::files(table, &folder)?,
    };
    files.iter().try_for_each(|name| table.store.delete(&format!("{folder}/{name}")))
}
