//! The list of files in the metadata table, compared with the storage file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::Result;
use mortice_merge::config::TimelineLayout;
use mortice_storage::FileStore;
use mortice_table::file_group::PartitionFiles;
use mortice_table::metadata_table;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;
use mortice_write::write::Markers;

/// The property that names its partitions.
const PARTITIONS: &str = "hoodie.table.metadata.partitions";

/// Whether the table has a metadata table that lists its files.
pub(super) fn has_metadata_table(table: &OpenTable) -> bool {
    table.config.properties.list(&[PARTITIONS]).iter().any(|name| name == "files")
}

/// Compares them. Files of pending writes may be in either.
pub(super) fn compare_with_metadata_table(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    stored: &StoredFiles,
) -> Result<Vec<Finding>> {
    if !has_metadata_table(table) {
        return Ok(Vec::new());
    }
    let listed = table.metadata_table().map_err(|error| error.text().to_owned()).and_then(|metadata| {
        let listing = metadata.list(None);
        listing.map_err(|error| error.text().to_owned())
    });
    match listed {
        Ok(listing) => {
            let mut found = differences(&table.timeline, &listing.files, stored);
            found.extend(uncommitted(&table.timeline, &listing.files, stored, table.config.layout()));
            let cleaned = table.timeline.files_of_pending_cleans()?;
            let begun = begun_files(store, table)?;
            found.retain(|one| match one.kind {
                FindingKind::StoredNotListed => !begun.contains(&one.path),
                FindingKind::ListedNotStored => {
                    let (partition, name) = one.path.rsplit_once('/').unwrap_or(("", &one.path));
                    cleaned.by(partition, name).is_none()
                }
                _ => true,
            });
            Ok(found)
        }
        Err(error) => Ok(vec![Finding::new(FindingKind::UnreadableMetadataTable, metadata_table::FOLDER, error)]),
    }
}

/// Files that pending instants have begun, by their markers, before table version 8: the names of log files have the
/// time of another instant there.
fn begun_files(store: &Arc<dyn FileStore>, table: &OpenTable) -> Result<BTreeSet<String>> {
    let mut begun = BTreeSet::new();
    if table.config.layout() == TimelineLayout::V2 {
        return Ok(begun);
    }
    for instant in table.timeline.instants().iter().filter(|instant| !instant.is_completed()) {
        let markers = Markers::new(Arc::clone(store), &instant.requested_time).list()?;
        begun.extend(markers.into_iter().map(|marker| marker.data_path));
    }
    Ok(begun)
}

/// Files that are listed and there, of instants that are not on the timeline: those were rolled back. Files of pending
/// instants are not listed for readers.
fn uncommitted(
    timeline: &Timeline,
    listed: &[PartitionFiles],
    stored: &StoredFiles,
    layout: TimelineLayout,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for files in listed {
        let bases = files.base_files.iter().map(|base| (&base.name.name, &base.name.instant));
        // Up to table version 7 the name of a log has the instant of its slice.
        let logs = files.log_files.iter().filter(|_| layout == TimelineLayout::V2);
        for (name, instant) in bases.chain(logs.map(|log| (&log.name.name, &log.name.instant))) {
            let is_known = timeline.writes_at(instant).next().is_some() || timeline.is_before_start(instant);
            if let Some(status) = stored.get(&files.partition, name).filter(|_| !is_known) {
                let message =
                    format!("the metadata table lists the file of the instant {instant}, which is not on the timeline");
                let path = joined(&files.partition, name);
                found.push(Finding::new(FindingKind::ListedUncommitted, path, message).with_bytes(status.len));
            }
        }
    }
    found
}

fn differences(timeline: &Timeline, listed: &[PartitionFiles], stored: &StoredFiles) -> Vec<Finding> {
    let mut known: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for files in listed {
        let bases = files.base_files.iter().map(|base| (base.name.name.as_str(), base.len));
        let logs = files.log_files.iter().map(|log| (log.name.name.as_str(), log.len));
        known.extend(bases.chain(logs).map(|(name, len)| ((files.partition.as_str(), name), len)));
    }
    let mut found = Vec::new();
    for ((partition, name), len) in &known {
        let path = joined(partition, name);
        match stored.get(partition, name) {
            None => {
                let message = "the metadata table lists the file, and it is not there";
                found.push(Finding::new(FindingKind::ListedNotStored, path, message));
            }
            Some(status) if status.len != *len => {
                let message = format!("the metadata table lists {len} bytes, and there are {}", status.len);
                found.push(Finding::new(FindingKind::ListedLength, path, message).with_bytes(status.len));
            }
            Some(_) => {}
        }
    }
    for (partition, name, instant, status) in stored.data_files() {
        if timeline.is_completed(&instant) && !known.contains_key(&(partition, name)) {
            let message = "the file is there, and the metadata table does not list it";
            let path = joined(partition, name);
            found.push(Finding::new(FindingKind::StoredNotListed, path, message).with_bytes(status.len));
        }
    }
    found
}
