//! Records of the partition `files`: partitions, and the files of each with their sizes.

use std::collections::BTreeMap;

use super::commit_update::CommitUpdate;
use super::partition_records::PartitionRecords;
use super::record_bytes::{self, Entries, FileEntry};
use super::record_schema::RecordSchema;
use super::removed_partitions::mark_removed;
use crate::commit::CleanedFiles;
use mortice_base::error::Result;
use mortice_table::metadata_table::{ALL_PARTITIONS, MetadataTable, partition_name};

/// The list of the partitions that a commit wrote to, known ones among them, and the new files of each. Replaced file groups are
/// listed until they are cleaned.
pub(in crate::metadata_upkeep) fn of_commit<'m>(
    schema: &RecordSchema,
    update: &CommitUpdate<'_>,
    metadata: impl FnOnce() -> Result<&'m MetadataTable>,
) -> Result<PartitionRecords> {
    let mut files: BTreeMap<String, Entries> = BTreeMap::new();
    for file in update.files()? {
        let entries = files.entry(partition_name(file.partition).to_owned()).or_default();
        entries.insert(file.name.to_owned(), FileEntry::live(file.file.bytes));
        if let Some(log) = &file.file.changes {
            let name = log.path.rsplit('/').next().unwrap_or(&log.path);
            entries.insert(name.to_owned(), FileEntry::live(log.bytes));
        }
    }
    // Only a partition without files may have been removed: its first ones are of new file groups.
    let new = update.partitions_of_new_groups();
    mark_removed(
        &mut files,
        new.into_iter().map(|partition| partition_name(partition).to_owned()).collect(),
        metadata,
    )?;
    Ok(of_listing(schema, &files))
}

/// The list of these partitions, and their files.
pub(in crate::metadata_upkeep) fn of_listing(
    schema: &RecordSchema,
    files: &BTreeMap<String, Entries>,
) -> PartitionRecords {
    let partitions: Vec<(&str, FileEntry)> = files.keys().map(|name| (name.as_str(), FileEntry::live(0))).collect();
    let mut records = PartitionRecords::default();
    records.upserts.insert(ALL_PARTITIONS.to_owned(), record_bytes::partition_list(schema, partitions.into_iter()));
    for (partition, entries) in files {
        let entries = entries.iter().map(|(name, entry)| (name.as_str(), *entry));
        records.upserts.insert(partition.clone(), record_bytes::files(schema, entries));
    }
    records
}

/// Files that a clean deleted. Partitions that are gone are deleted from the list.
pub(in crate::metadata_upkeep) fn of_clean(schema: &RecordSchema, cleaned: &CleanedFiles) -> PartitionRecords {
    let mut records = PartitionRecords::default();
    let mut gone = Vec::new();
    for (partition, files) in &cleaned.partitions {
        let name = partition_name(partition);
        if files.is_deleted {
            gone.push((name, FileEntry::DELETED));
        }
        if !files.files.is_empty() {
            let entries: Entries = files.files.iter().map(|file| (file.clone(), FileEntry::DELETED)).collect();
            let entries = entries.iter().map(|(name, entry)| (name.as_str(), *entry));
            records.upserts.insert(name.to_owned(), record_bytes::files(schema, entries));
        }
    }
    if !gone.is_empty() {
        records.upserts.insert(ALL_PARTITIONS.to_owned(), record_bytes::partition_list(schema, gone.into_iter()));
    }
    records
}
