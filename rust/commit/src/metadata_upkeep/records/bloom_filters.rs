//! Records of the partition `bloom_filters`: one for each new base file.

use super::commit_update::CommitUpdate;
use super::file_keys::keys_of_base_file;
use super::partition_records::PartitionRecords;
use super::record_bytes;
use crate::metadata_upkeep::metadata_folder::MetadataFolder;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_formats::bloom::{BloomBuilder, BloomOptions};
use mortice_merge::config::TableConfig;
use mortice_storage::Storage;
use mortice_table::metadata_table::bloom_filter_key;

const PARTITION: &str = "bloom_filters";

/// Whether commits to a table need the Bloom filters of files, which are large.
pub fn keeps_blooms(table: &TableConfig) -> bool {
    table.metadata_partitions.iter().any(|partition| partition == PARTITION)
}

/// The records of a commit's base files. Of a file whose footer has no filter, one is built from its keys.
pub(in crate::metadata_upkeep) fn of_commit(
    folder: &MetadataFolder,
    instant: &RequestedTime,
    update: &CommitUpdate<'_>,
) -> Result<PartitionRecords> {
    let mut records = PartitionRecords::default();
    for file in update.files()?.iter().filter(|file| file.file.log.is_none()) {
        let (kind, text) = match &file.file.bloom {
            Some(bloom) => bloom.clone(),
            None => built(folder.store().as_ref(), &file.file.path)?,
        };
        let record = record_bytes::bloom_filter(folder.schema(), &kind, instant.as_str(), &text);
        records.upserts.insert(bloom_filter_key(file.partition, file.name), record);
    }
    Ok(records)
}

/// The type and the text of a filter of a base file's keys.
pub(in crate::metadata_upkeep) fn built(place: &dyn Storage, path: &str) -> Result<(String, String)> {
    let mut builder = BloomBuilder::new(&BloomOptions::default())?;
    keys_of_base_file(place, path, &mut |key| builder.add(key.as_bytes()))?;
    let filter = builder.finish();
    Ok((filter.kind().name().to_owned(), filter.to_text()))
}
