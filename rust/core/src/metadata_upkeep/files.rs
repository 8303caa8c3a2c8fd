//! Records of the partition `files`: partitions, and the files of each with their sizes.

use std::collections::BTreeMap;

use super::commit_update::CommitUpdate;
use super::record_bytes::{self, FileEntry};
use super::record_schema::RecordSchema;
use super::records::PartitionRecords;
use crate::commit::CleanedFiles;
use crate::error::Result;
use crate::metadata_table::{ALL_PARTITIONS, partition_name};

/// Entries by name.
pub(super) type Entries = BTreeMap<String, FileEntry>;

/// The list of the partitions that a commit wrote to, known ones among them, and the new files of each. Replaced file groups are
/// listed until they are cleaned.
pub(super) fn of_commit(schema: &RecordSchema, update: &CommitUpdate<'_>) -> Result<PartitionRecords> {
    let mut files: BTreeMap<String, Entries> = BTreeMap::new();
    for file in update.files()? {
        let entries = files.entry(partition_name(file.partition).to_owned()).or_default();
        entries.insert(file.name.to_owned(), FileEntry::live(file.file.bytes));
        if let Some(log) = &file.file.changes {
            let name = log.path.rsplit('/').next().unwrap_or(&log.path);
            entries.insert(name.to_owned(), FileEntry::live(log.bytes));
        }
    }
    Ok(of_listing(schema, &files))
}

/// The list of these partitions, and their files.
pub(super) fn of_listing(schema: &RecordSchema, files: &BTreeMap<String, Entries>) -> PartitionRecords {
    let partitions: Vec<(&str, FileEntry)> = files.keys().map(|name| (name.as_str(), FileEntry::live(0))).collect();
    let mut records = PartitionRecords::default();
    records.upserts.insert(ALL_PARTITIONS.to_owned(), record_bytes::partition_list(schema, partitions.into_iter()));
    for (partition, entries) in files {
        let entries = entries.iter().map(|(name, entry)| (name.as_str(), *entry));
        records.upserts.insert(partition.clone(), record_bytes::files(schema, entries));
    }
    records
}

/// Files that a clean deleted. Partitions that are gone are deleted from the list; their keys are as well, if `has_deleted_keys`, as 1.x
/// does it.
pub(super) fn of_clean(schema: &RecordSchema, cleaned: &CleanedFiles, has_deleted_keys: bool) -> PartitionRecords {
    let deleted = FileEntry { size: 0, is_deleted: true };
    let mut records = PartitionRecords::default();
    let mut gone = Vec::new();
    for (partition, files) in &cleaned.partitions {
        let name = partition_name(partition);
        if files.is_deleted {
            gone.push((name, deleted));
        }
        if files.is_deleted && has_deleted_keys {
            records.deletes.insert(name.to_owned());
        } else if !files.files.is_empty() {
            let entries: Entries = files.files.iter().map(|file| (file.clone(), deleted)).collect();
            let entries = entries.iter().map(|(name, entry)| (name.as_str(), *entry));
            records.upserts.insert(name.to_owned(), record_bytes::files(schema, entries));
        }
    }
    if !gone.is_empty() {
        records.upserts.insert(ALL_PARTITIONS.to_owned(), record_bytes::partition_list(schema, gone.into_iter()));
    }
    records
}
