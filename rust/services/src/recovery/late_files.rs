//! Data files that appeared after their write had been rolled back: its writer was taken for dead while it put the
//! file, and was killed before its next check. The rollback has deleted the markers, so that its plan alone still names
//! the file.
//!
//! A listing leaves such a file out while the timeline is active at its instant. Once it begins later, the file counts
//! as one of an archived commit. So archival deletes it before.

use std::collections::BTreeSet;

use super::rollback_plan::Undo;
use crate::data_paths::DataPath;
use crate::listings::Listings;
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_table::timeline::metadata::{HoodieRollbackMetadata, HoodieRollbackPlan, TimelineMetadata};
use mortice_table::timeline::{Action, Instant};

/// Deletes data files of writes that completed rollbacks on the active timeline have undone. A table without such files
/// is listed only in the partitions that these rollbacks name. The caller holds the table's lock, if it has one.
pub(crate) fn delete_late_files(table: &ServiceTable) -> Result<()> {
    let mut listings = Listings::new(&table.store);
    let is_rollback = |instant: &&Instant| instant.action == Action::Rollback && instant.is_completed();
    for rollback in table.timeline.instants().iter().filter(is_rollback) {
        let Some((target, files)) = undone_write(table, rollback)? else { continue };
        let late = present(&files, &mut listings)?;
        if late.is_empty() || is_known(table, &target)? {
            continue;
        }
        for path in late.iter().map(DataPath::path) {
            table.store.check_removable(&path)?;
            table.store.delete(&path)?;
        }
    }
    Ok(())
}

/// Deletes files of a metadata table whose instants its timeline has not, although it begins before them: from table
/// version 8 on, where names have the instants. Rollbacks there name what they have listed. The caller holds the
/// table's lock, if it has one.
pub(crate) fn delete_late_files_of_metadata(metadata: &ServiceTable) -> Result<()> {
    if metadata.is_v1() {
        return Ok(());
    }
    for (path, _) in metadata.store.list_recursively(metadata.root)? {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let base = BaseFileName::parse(name).map(|name| name.instant);
        let Some(instant) = base.or_else(|| LogFileName::parse(name).map(|name| name.instant)) else { continue };
        let is_below_hoodie = path.strip_prefix(metadata.root).is_some_and(|path| path.starts_with("/.hoodie/"));
        if is_below_hoodie || metadata.timeline.is_before_start(&instant) || is_known(metadata, &instant)? {
            continue;
        }
        metadata.store.check_removable(&path)?;
        metadata.store.delete(&path)?;
    }
    Ok(())
}

/// The write of rows that a rollback has undone, and its files. A plan of a service may be executed again under the
/// same instant. A plan that cannot be read, or that names other files, is left to a verification.
fn undone_write(table: &ServiceTable, rollback: &Instant) -> Result<Option<(RequestedTime, BTreeSet<DataPath>)>> {
    let time = &rollback.requested_time;
    let Some(bytes) = table.timeline_writer().read_requested(time, Action::Rollback)? else { return Ok(None) };
    let Ok(Some(plan)) = HoodieRollbackPlan::from_bytes(&bytes) else { return Ok(None) };
    let Some(info) = &plan.instant_to_rollback else { return Ok(None) };
    let is_write = matches!(Action::named(&info.action), Some(Action::Commit | Action::DeltaCommit));
    let Some(target) = RequestedTime::parse(&info.commit_time).filter(|_| is_write) else { return Ok(None) };
    let Ok(undo) = Undo::from_plan(&table.config, &target, &plan) else { return Ok(None) };
    let mut files = undo.deletions;
    // Those that were begun after the plan was made.
    let result = table.store.get(&table.timeline_writer().path(&rollback.file_name))?.0;
    let result = HoodieRollbackMetadata::from_bytes(&result).ok().flatten().unwrap_or_default();
    for (partition, deleted) in result.partition_metadata.iter() {
        let paths = deleted.success_delete_files.iter().flat_map(|path| DataPath::of_plan(partition, path));
        files.extend(paths.filter(|path| path.is_of(&target)));
    }
    Ok(Some((target, files)))
}

fn present(files: &BTreeSet<DataPath>, listings: &mut Listings<'_>) -> Result<BTreeSet<DataPath>> {
    let mut found = BTreeSet::new();
    for path in files {
        if listings.files(&path.partition)?.contains_key(&path.name) {
            found.insert(path.clone());
        }
    }
    Ok(found)
}

/// Whether an instant is on the timeline or in the archive: then its files are not late ones.
fn is_known(table: &ServiceTable, target: &RequestedTime) -> Result<bool> {
    let is_active = table.timeline.instants().iter().any(|instant| instant.requested_time == *target);
    Ok(is_active || table.timeline.archived()?.iter().any(|instant| instant.requested_time == *target))
}
