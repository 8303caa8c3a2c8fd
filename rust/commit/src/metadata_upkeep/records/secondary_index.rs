//! Records of a secondary index: one key for each row, of its value in a column and its record key
//! (`convertWriteStatsToSecondaryIndexRecords`).
//!
//! | file groups of the commit | records |
//! |---|---|
//! | those that it wrote to | the keys that their rows have and did not have; deletes of those that they do not have any more |
//! | those that it replaced | deletes of their keys |
//! | any, of a compaction or clustering | none: rows keep their keys and values |
//!
//! A key that a file group gets is not deleted, though another one loses it: the row has moved. Unlike Hudi, which
//! keeps one value of a record key in a file group, the index has all values of rows with the same record key, so that
//! a query by any of them finds the file group.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use arrow_schema::Schema;

use super::commit_update::{CommitFile, CommitUpdate};
use super::indexed_values::IndexedValues;
use super::key_locations::KeyLocations;
use super::partition_records::PartitionRecords;
use super::record_bytes;
use super::record_schema::RecordSchema;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;
use mortice_storage::parallel;
use mortice_table::file_group::{BaseFile, FileSlice, LogFile};
use mortice_table::metadata_table::SecondaryIndexVersion;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;

/// A secondary index.
pub(in crate::metadata_upkeep) struct SecondaryIndex<'a> {
    pub(in crate::metadata_upkeep) name: &'a str,
    pub(in crate::metadata_upkeep) column: &'a str,
    pub(in crate::metadata_upkeep) version: SecondaryIndexVersion,
}

/// A file group before and after a commit.
struct ChangedGroup {
    before: Option<FileSlice>,
    after: Option<FileSlice>,
}

impl SecondaryIndex<'_> {
    /// The records of a commit. `table` is the table before it.
    pub(in crate::metadata_upkeep) fn of_commit(
        &self,
        schema: &RecordSchema,
        table: &OpenTable,
        instant: &RequestedTime,
        update: &CommitUpdate<'_>,
    ) -> Result<PartitionRecords> {
        let mut records =
            PartitionRecords { keys: KeyLocations::of_secondary_index(self.version), ..PartitionRecords::default() };
        if matches!(update.operation, WriteOperation::Compact | WriteOperation::LogCompact | WriteOperation::Cluster) {
            return Ok(records);
        }
        let changed = self.changed_groups(table, instant, update)?;
        if changed.is_empty() {
            return Ok(records);
        }
        let after = table.with_schema(update.schema)?;
        let types = avro::arrow_schema(&after.schema_at(None)?.0.schema, ArrowMapping::Table)?;
        let values = IndexedValues::new(self.name, self.column, table, &types)?;
        let record = records.keys.add_record(record_bytes::secondary_index(schema))?;
        let keys = Mutex::new(&mut records.keys);
        parallel::map(&changed, table.slices_at_once(), |group| {
            let mut before = HashSet::new();
            if let Some(slice) = &group.before {
                let scan = values.stored(&after, std::slice::from_ref(slice))?;
                values.for_each(&scan, &table.storage, &mut |key| {
                    before.insert(key);
                    Ok(())
                })?;
            }
            let mut kept = HashSet::new();
            if let Some(slice) = &group.after {
                let scan = values.pending(&after, std::slice::from_ref(slice), instant)?;
                values.for_each(&scan, &table.storage, &mut |key| {
                    if before.remove(&key) {
                        kept.insert(key);
                    } else if !kept.contains(&key) {
                        keys.lock().unwrap_or_else(PoisonError::into_inner).locate(&key, record)?;
                    }
                    Ok(())
                })?;
            }
            before.iter().try_for_each(|key| keys.lock().unwrap_or_else(PoisonError::into_inner).delete(key))
        })?;
        Ok(records)
    }

    /// The file groups that a commit wrote to, or replaced.
    fn changed_groups(
        &self,
        table: &OpenTable,
        instant: &RequestedTime,
        update: &CommitUpdate<'_>,
    ) -> Result<Vec<ChangedGroup>> {
        if table.config.layout() == TimelineLayout::V1 {
            return Err(Error::unsupported(format!("the index {} below table version 8", self.name)));
        }
        let files = update.files()?;
        let replaced = update.replaced.iter().filter(|(_, groups)| !groups.is_empty());
        let mut partitions: BTreeSet<String> = replaced.map(|(partition, _)| partition.clone()).collect();
        let mut written: BTreeMap<(String, String), Vec<&CommitFile<'_>>> = BTreeMap::new();
        for file in &files {
            self.check_log(table, file)?;
            partitions.insert(file.partition.to_owned());
            let group = (file.partition.to_owned(), file.status.file_id.clone());
            written.entry(group).or_default().push(file);
        }
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        let is_replaced = |slice: &FileSlice| {
            update.replaced.get(&slice.partition).is_some_and(|groups| groups.contains(&slice.file_id))
        };
        let mut changed = Vec::new();
        for slice in table.write_view(Some(&partitions))?.slices {
            let files = written.remove(&(slice.partition.clone(), slice.file_id.clone()));
            let after = files.map(|files| slice_after(Some(&slice), &files, instant));
            if after.is_some() || is_replaced(&slice) {
                changed.push(ChangedGroup { before: Some(slice), after });
            }
        }
        let new = written
            .into_values()
            .map(|files| ChangedGroup { before: None, after: Some(slice_after(None, &files, instant)) });
        changed.extend(new);
        Ok(changed)
    }

    /// Refuses new rows in logs, as Hudi does: the record index, through which this index is read, does not have them.
    fn check_log(&self, table: &OpenTable, file: &CommitFile<'_>) -> Result<()> {
        if file.file.log.is_none() || file.status.inserts == 0 {
            return Ok(());
        }
        let message = format!(
            "inserts into a log file of a table with the index {}, which finds no keys there; write them to base files, or drop the index",
            self.name
        );
        Err(Error::unsupported(message).in_file(table.storage.full_path(&file.file.path)))
    }
}

/// The slice of a file group once these files of a commit are part of it.
fn slice_after(before: Option<&FileSlice>, files: &[&CommitFile<'_>], instant: &RequestedTime) -> FileSlice {
    let base = files.iter().find(|file| file.file.log.is_none()).map(|file| BaseFile {
        path: file.file.path.clone(),
        len: file.file.bytes,
        etag: None,
        instant: instant.clone(),
        source: None,
        registered_name: None,
    });
    let logs = files.iter().filter(|file| file.file.log.is_some());
    let logs = logs.map(|file| LogFile { path: file.file.path.clone(), len: file.file.bytes, etag: None });
    let (partition, file_id) =
        files.first().map(|file| (file.partition.to_owned(), file.status.file_id.clone())).unwrap_or_default();
    let mut after = match (before, &base) {
        (Some(before), None) => before.clone(),
        _ => FileSlice { partition, file_id, base_instant: instant.clone(), base_file: base, log_files: Vec::new() },
    };
    after.log_files.extend(logs);
    after
}

/// The values of an index that is built of the table as it is.
pub(in crate::metadata_upkeep) fn values_of_table(
    table: &OpenTable,
    index: &SecondaryIndex<'_>,
) -> Result<IndexedValues> {
    let types: Schema = avro::arrow_schema(&table.schema_at(None)?.0.schema, ArrowMapping::Table)?;
    IndexedValues::new(index.name, index.column, table, &types)
}
