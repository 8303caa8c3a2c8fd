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

/// The list of the partitions that a commit wrote to, known ones among them, and the new files of each. Replaced file
/// groups are listed until they are cleaned.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::CleanedPartition;
    use crate::metadata_upkeep::records::record_schema::OF_1_2;
    use mortice_avro::Schema;
    use mortice_base::error::{Error, ErrorKind};
    use mortice_table::timeline::WriteOperation;
    use mortice_write::write::{ChangeLogFile, WriteStatus, WrittenFile};

    fn status(partition: &str, name: &str, previous: Option<&str>) -> WriteStatus {
        let mut status = WriteStatus::new(partition, "f-0");
        let path = if partition.is_empty() { name.to_owned() } else { format!("{partition}/{name}") };
        status.file = Some(WrittenFile::new(path, 7));
        status.previous_commit = previous.map(str::to_owned);
        status
    }

    fn records(statuses: &[WriteStatus]) -> Result<PartitionRecords> {
        let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        let replaced = BTreeMap::new();
        let update = CommitUpdate { operation: WriteOperation::Upsert, statuses, replaced: &replaced, schema: &schema };
        // As readers do, writers go on where the metadata table is damaged.
        of_commit(&OF_1_2, &update, || Err(Error::invalid_table("a damaged metadata table")))
    }

    fn live<'a>(names: &[(&'a str, u64)]) -> Vec<(&'a str, FileEntry)> {
        names.iter().map(|(name, size)| (*name, FileEntry::live(*size))).collect()
    }

    #[test]
    fn a_commit_lists_its_partitions_and_their_new_files() {
        let mut changed = status("p/q", "a.parquet", Some("1"));
        let log = ChangeLogFile { path: "p/q/.a.cdc".to_owned(), bytes: 9 };
        changed.file.as_mut().unwrap().changes = Some(log);
        let refused = WriteStatus::new("none", "f-1");
        let found = records(&[changed, status("", "b.parquet", None), refused]).unwrap();
        let keys: Vec<&str> = found.upserts.keys().map(String::as_str).collect();
        assert_eq!(keys, [".", ALL_PARTITIONS, "p/q"], "a partition without a name has one in the metadata table");
        let of = |key: &str| found.upserts.get(key).cloned().unwrap();
        let partitions = live(&[(".", 0), ("p/q", 0)]);
        assert_eq!(of(ALL_PARTITIONS), record_bytes::partition_list(&OF_1_2, partitions.into_iter()));
        let files = live(&[(".a.cdc", 9), ("a.parquet", 7)]);
        assert_eq!(of("p/q"), record_bytes::files(&OF_1_2, files.into_iter()));
        assert!(found.deletes.is_empty() && found.keys.is_empty());
    }

    /// Hudi takes a file without bytes for one that is missing.
    #[test]
    fn a_file_without_bytes_is_not_committed() {
        let mut empty = status("p", "a.parquet", None);
        empty.file.as_mut().unwrap().bytes = 0;
        assert_eq!(records(&[empty]).err().unwrap().kind(), ErrorKind::Internal);
    }

    #[test]
    fn a_clean_deletes_files_and_partitions() {
        let partition = |files: &[&str], is_deleted| CleanedPartition {
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            is_deleted,
        };
        let cleaned = CleanedFiles {
            partitions: BTreeMap::from([
                ("kept".to_owned(), partition(&["a", "b"], false)),
                ("gone".to_owned(), partition(&[], true)),
            ]),
        };
        let found = of_clean(&OF_1_2, &cleaned);
        let gone = [("gone", FileEntry::DELETED)].into_iter();
        let deleted = [("a", FileEntry::DELETED), ("b", FileEntry::DELETED)].into_iter();
        let expected = BTreeMap::from([
            (ALL_PARTITIONS.to_owned(), record_bytes::partition_list(&OF_1_2, gone)),
            ("kept".to_owned(), record_bytes::files(&OF_1_2, deleted)),
        ]);
        assert_eq!(found.upserts, expected);
        assert!(of_clean(&OF_1_2, &CleanedFiles::default()).is_empty());
    }
}
