//! Files that a stopped writer had not finished.
//!
//! | name | written by |
//! |---|---|
//! | `.NAME.RANDOM.tmp` | mortice, on local storage and HDFS; object stores have none |
//! | `NAME.tmp`, `NAME.UUID` | Hudi, for files of the timeline |
//!
//! `NAME` is the file that they were to become. Hadoop's checksums of them, `.*.tmp.crc`, are found, too.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::findings::{Finding, FindingKind};
use super::metadata_storage::MetadataStorage;
use super::stored_files::{StoredFiles, instant_of, joined};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStatus, FileStore, FolderEntry};
use mortice_table::timeline::Timeline;

const PARTITION_METADATA: &str = ".hoodie_partition_metadata.";
/// Folders in which files are written that are no data, besides those of the timeline.
const FOLDERS: [&str; 5] = [".hoodie", ".hoodie/.aux", ".hoodie/.heartbeat", ".hoodie/.index_defs", ".hoodie/.locks"];

/// A file that was not finished.
#[derive(Debug, Clone)]
pub(super) struct TemporaryFile {
    pub(super) status: FileStatus,
    /// The instant in the name; none in that of a file of the table.
    pub(super) instant: Option<RequestedTime>,
}

/// Those of a table and of its metadata table, by path.
pub(super) type TemporaryFiles = BTreeMap<String, TemporaryFile>;

/// Finds them, in the folders of the timelines, and among the data files.
pub(super) fn temporary_files(
    store: &dyn FileStore,
    config: &TableConfig,
    stored: &StoredFiles,
    metadata: Option<&MetadataStorage>,
) -> Result<TemporaryFiles> {
    let mut found = TemporaryFiles::new();
    add_of_table(store, "", config, &mut found)?;
    add_data_files(stored, &mut found);
    if let Some(metadata) = metadata {
        add_of_table(store, METADATA_ROOT, &metadata.config, &mut found)?;
        add_data_files(&metadata.stored, &mut found);
    }
    Ok(found)
}

/// Each as a finding.
pub(super) fn findings_of(files: &TemporaryFiles) -> impl Iterator<Item = Finding> {
    files.iter().map(|(path, file)| {
        let message = "a writer that was stopped had not finished the file";
        Finding::new(FindingKind::TemporaryFile, path, message).with_bytes(file.status.len)
    })
}

fn add_of_table(store: &dyn FileStore, root: &str, config: &TableConfig, found: &mut TemporaryFiles) -> Result<()> {
    let mut folders: Vec<&str> =
        FOLDERS.into_iter().chain([&*config.timeline_folder, &*config.archive_folder]).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        let folder = joined(root, folder);
        for entry in store.list(&folder)?.unwrap_or_default() {
            let FolderEntry::File(status) = entry else { continue };
            if let Some(name) = finished_name(&status.name, config.layout()) {
                let time = name.split(['.', '_']).next().and_then(RequestedTime::parse);
                let file = TemporaryFile { instant: time, status };
                found.insert(format!("{folder}/{}", file.status.name), file);
            }
        }
    }
    Ok(())
}

/// The name that a file in a folder of the timeline was to have; none for a finished one.
fn finished_name(name: &str, layout: TimelineLayout) -> Option<&str> {
    if let Some(name) = unfinished(name) {
        return Some(name);
    }
    let (stem, random) = name.rsplit_once('.')?;
    let is_random = Uuid::parse_str(random).is_ok();
    (is_random && Timeline::parse_file_name(layout, stem).is_some()).then_some(stem)
}

/// The name before `.RANDOM.tmp` or `.tmp`, without the dot that hides it.
fn unfinished(name: &str) -> Option<&str> {
    let name = match name.strip_suffix(".tmp.crc") {
        Some(checked) => checked.strip_prefix('.')?,
        None => name.strip_suffix(".tmp")?,
    };
    Some(name.strip_prefix('.').unwrap_or(name))
}

fn add_data_files(stored: &StoredFiles, found: &mut TemporaryFiles) {
    for (partition, files) in &stored.partitions {
        for (name, status) in files {
            let Some(finished) = unfinished(name) else { continue };
            // The name of a log file begins with a dot, and what follows may be no data file at all.
            let data_name = finished.rsplit_once('.').map_or(finished, |(name, _)| name);
            let instant = instant_of(data_name).or_else(|| instant_of(&format!(".{data_name}")));
            let is_partition_metadata = name.starts_with(PARTITION_METADATA);
            if instant.is_some() || is_partition_metadata {
                found.insert(joined(partition, name), TemporaryFile { status: status.clone(), instant });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_unfinished_files_of_a_timeline() {
        for (name, expected) in [
            (
                ".20240101000000000.deltacommit.requested.x1y2z3.tmp",
                Some("20240101000000000.deltacommit.requested.x1y2z3"),
            ),
            ("20240101000000000.inflight.tmp", Some("20240101000000000.inflight")),
            (".hoodie.properties.x1y2z3.tmp", Some("hoodie.properties.x1y2z3")),
            (".20240101000000000.inflight.tmp.crc", Some("20240101000000000.inflight")),
            (
                "20240101000000000_20240101000000001.commit.0f0f0f0f-1111-4222-8333-444455556666",
                Some("20240101000000000_20240101000000001.commit"),
            ),
            ("20240101000000000_20240101000000001.commit", None),
            ("20240101000000000.inflight", None),
            ("x.0f0f0f0f-1111-4222-8333-444455556666", None),
            ("hoodie.properties.backup", None),
            (".20240101000000000.inflight.crc", None),
        ] {
            assert_eq!(finished_name(name, TimelineLayout::V2), expected, "{name}");
        }
    }
}
