//! Log files of metadata tables from table version 10 on: HFiles of records, and of deleted keys, with the header of a
//! block in their file info (`HoodieMetadataWriteUtils.createEmptyFileGroupLogFile`, `HoodieNativeLogFormatWriter`).

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::build::base_hfile::BaseHFile;
use super::log_files::{Written, write_file};
use super::metadata_folder::{MetadataFolder, NextLog, WRITE_TOKEN};
use super::partition_kind::PartitionKind;
use super::records::group_records::GroupRecords;
use mortice_avro::{Schema, write_bytes};
use mortice_base::error::Result;
use mortice_base::names::{LogFileName, NativeLog, RequestedTime};
use mortice_formats::log::writer::{BlockHeader, NativeDeletes};
use mortice_table::timeline::metadata::HoodieWriteStat;

/// The format of all files of a metadata table.
const FORMAT: &str = "hfile";

/// Writes the logs of one file group: records, then deleted keys.
pub(super) fn write_native_logs(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    log: &NextLog,
    instant: &RequestedTime,
    records: &GroupRecords<'_>,
) -> Result<Vec<HoodieWriteStat>> {
    let (schema, now) = (folder.schema().block, folder.store().time().now());
    let mut stats = Vec::new();
    if !records.upserts.is_empty() {
        let bytes = native_records(instant, &records.upserts, schema, now)?;
        let named = named(log, instant, NativeLog::Records)?;
        let written = Written { instant, upserts: records.upserts.len() as u64, deletes: 0 };
        stats.extend(write_file(folder, kind, &named, written, bytes)?);
    }
    if !records.deletes.is_empty() {
        let bytes = deleted_keys(instant, &records.deletes, schema, now)?;
        let named = named(log, instant, NativeLog::Deletes)?;
        let written = Written { instant, upserts: 0, deletes: records.deletes.len() as u64 };
        stats.extend(write_file(folder, kind, &named, written, bytes)?);
    }
    Ok(stats)
}

/// The name and content of the file without records with which a new file group begins.
pub(super) fn first_log(folder: &MetadataFolder, file_id: &str, instant: &RequestedTime) -> Result<(String, Bytes)> {
    let now = folder.store().time().now();
    let bytes = native_records(instant, &[], folder.schema().block, now)?;
    Ok((name(file_id, instant, NativeLog::Records)?, Bytes::from(bytes)))
}

fn name(file_id: &str, instant: &RequestedTime, content: NativeLog) -> Result<String> {
    Ok(LogFileName::compose_native(file_id, instant, 1, WRITE_TOKEN, content, FORMAT)?.name)
}

fn named(log: &NextLog, instant: &RequestedTime, content: NativeLog) -> Result<NextLog> {
    let name = name(&log.file_id, instant, content)?;
    Ok(NextLog { log_files: vec![name.clone()], name, ..log.clone() })
}

fn native_records(
    instant: &RequestedTime,
    records: &[(&str, &[u8])],
    schema: &str,
    now: DateTime<Utc>,
) -> Result<Vec<u8>> {
    let mut file = BaseHFile::new(schema, now)?;
    records.iter().try_for_each(|(key, record)| file.append(key.as_bytes(), record))?;
    finish(file, instant, schema)
}

fn deleted_keys(instant: &RequestedTime, keys: &[&str], schema: &str, now: DateTime<Utc>) -> Result<Vec<u8>> {
    // Records of the metadata table have no ordering fields.
    let deletes = NativeDeletes::new(&Schema::parse(schema)?, &[])?;
    let mut file = BaseHFile::new(deletes.schema().json(), now)?;
    let mut record = Vec::new();
    for key in keys {
        record.clear();
        write_bytes(key.as_bytes(), &mut record);
        file.append(key.as_bytes(), &record)?;
    }
    finish(file, instant, schema)
}

/// Ends a file. The schema in its header is that of records, also of deleted keys.
fn finish(mut file: BaseHFile, instant: &RequestedTime, schema: &str) -> Result<Vec<u8>> {
    let (key, value) = BlockHeader::new(instant).with_schema(schema).native_metadata();
    file.add_info(key, &value);
    file.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::metadata_upkeep::records::record_schema::OF_1_2;
    use mortice_formats::log::{BlockKind, BlockType, HeaderKey, LogFile};
    use mortice_storage::MemoryFile;

    fn read(content: NativeLog, bytes: Vec<u8>) -> (LogFile, mortice_formats::log::Block) {
        let name = name("files-0000-0", &"20240101000000000".into(), content).unwrap();
        let file = LogFile::new(Arc::new(MemoryFile::new(format!("/t/files/{name}"), bytes)));
        let block = file.blocks(false).next().unwrap().unwrap();
        (file, block)
    }

    #[test]
    fn the_reader_reads_what_is_written() {
        let (instant, now) = (RequestedTime::from("20240101000000000"), DateTime::<Utc>::UNIX_EPOCH);
        let first = native_records(&instant, &[], OF_1_2.block, now).unwrap();
        let (file, block) = read(NativeLog::Records, first);
        assert_eq!(block.kind, BlockKind::Sound(BlockType::HfileData));
        assert_eq!(block.header.instant_time().unwrap(), "20240101000000000");
        assert_eq!(block.header.get(HeaderKey::Schema).unwrap(), OF_1_2.block);
        assert_eq!(file.record_count(&block).unwrap(), Some(0));

        let deletes = deleted_keys(&instant, &["a", "b"], OF_1_2.block, now).unwrap();
        let (file, block) = read(NativeLog::Deletes, deletes);
        assert_eq!(block.kind, BlockKind::Sound(BlockType::Delete));
        assert_eq!(block.header.get(HeaderKey::Schema).unwrap(), OF_1_2.block);
        let keys = file.deletes(&block).unwrap();
        let keys = keys.column(0).as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
        assert_eq!(keys.iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
    }
}
