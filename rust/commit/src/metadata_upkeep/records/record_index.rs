//! Records of the partition `record_index`: where the row of each record key is
//! (`convertMetadataToRecordIndexRecords`).
//!
//! | file of the commit | records |
//! |---|---|
//! | base file of a new file group | the location of each key |
//! | base file that replaces another | the location of keys that the other lacks; deletes of keys that are gone |
//! | log file | deletes of the keys in its delete blocks |
//! | none, in a replaced file group | deletes of its keys |
//! | any, of a compaction | none: rows stay in their file group |
//!
//! A key that the commit gives a new location is not deleted.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::StringArray;

use super::commit_update::{CommitFile, CommitUpdate};
use super::file_keys::{deleted_keys_of_log, keys_of_base_file};
use super::key_locations::KeyLocations;
use super::partition_records::PartitionRecords;
use super::record_bytes::{self, FileGroupId, KeyLocation};
use super::record_schema::RecordSchema;
use crate::commit::epoch_millis;
use crate::metadata_upkeep::metadata_folder::MetadataFolder;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::filter::Filter;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;

/// The records of a commit.
pub(in crate::metadata_upkeep) fn of_commit(
    folder: &MetadataFolder,
    table: &OpenTable,
    instant: &RequestedTime,
    update: &CommitUpdate<'_>,
) -> Result<PartitionRecords> {
    let mut records = PartitionRecords::default();
    if matches!(update.operation, WriteOperation::Compact | WriteOperation::LogCompact) {
        return Ok(records);
    }
    for file in update.files()? {
        match &file.file.log {
            Some(_) => add_log(folder, instant, &file, &mut records.keys)?,
            None => add_base_file(folder, table, instant, &file, &mut records.keys)?,
        }
    }
    delete_replaced(table, update.replaced, &mut records.keys)?;
    Ok(records)
}

/// The record of all keys of a file group.
pub(in crate::metadata_upkeep) fn location(
    schema: &RecordSchema,
    table: &OpenTable,
    partition: &str,
    file_id: &str,
    instant: &RequestedTime,
) -> Result<Vec<u8>> {
    let millis = epoch_millis(instant.as_str(), table.config.timeline_zone).ok_or_else(|| {
        Error::invalid_table("the instant is not a time of the calendar: the record index cannot store it")
            .at_instant(instant)
    })?;
    let location =
        KeyLocation { partition: partition.to_owned(), file_group: FileGroupId::parse(file_id), instant: millis };
    Ok(record_bytes::record_location(schema, &location))
}

fn add_base_file(
    folder: &MetadataFolder,
    table: &OpenTable,
    instant: &RequestedTime,
    file: &CommitFile<'_>,
    locations: &mut KeyLocations,
) -> Result<()> {
    let record = location(folder.schema(), table, file.partition, &file.status.file_id, instant)?;
    let record = locations.add_record(record)?;
    let mut before = BTreeSet::new();
    if let Some(previous) = &file.file.previous_base_file {
        let path = if file.partition.is_empty() { previous.clone() } else { format!("{}/{previous}", file.partition) };
        keys_of_base_file(folder.store().as_ref(), &path, &mut |key| {
            before.insert(key.to_owned());
            Ok(())
        })?;
    }
    keys_of_base_file(folder.store().as_ref(), &file.file.path, &mut |key| {
        if before.remove(key) { Ok(()) } else { locations.locate(key, record) }
    })?;
    before.iter().try_for_each(|key| locations.delete(key))
}

fn add_log(
    folder: &MetadataFolder,
    instant: &RequestedTime,
    file: &CommitFile<'_>,
    locations: &mut KeyLocations,
) -> Result<()> {
    if file.status.inserts > 0 {
        return Err(Error::unsupported(
            "inserts into a log file of a table with a record index, which finds no keys there; write them to base files, or drop the index",
        )
        .in_file(folder.store().full_path(&file.file.path)));
    }
    deleted_keys_of_log(folder.store().as_ref(), &file.file.path, instant, &mut |key| locations.delete(key))
}

fn delete_replaced(
    table: &OpenTable,
    replaced: &BTreeMap<String, Vec<String>>,
    locations: &mut KeyLocations,
) -> Result<()> {
    if replaced.values().all(Vec::is_empty) {
        return Ok(());
    }
    let is_replaced =
        |partition: &str, file_id: &String| replaced.get(partition).is_some_and(|groups| groups.contains(file_id));
    let mut slices = table.file_slices(None, &Filter::default())?;
    slices.retain(|slice| is_replaced(&slice.partition, &slice.file_id));
    let scan = table.record_keys(&slices)?;
    let memory = table.options.memory_limit;
    let mut delete = |keys: &StringArray| keys.iter().flatten().try_for_each(|key| locations.delete(key));
    scan.splits().iter().try_for_each(|split| scan.read(split, memory, &mut delete)?)
}
