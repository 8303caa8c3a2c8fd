//! A delta commit of the metadata table.
//!
//! | # | operation |
//! |---|---|
//! | 1 | heartbeat (table version 8 and later), `t.deltacommit.requested`, `.inflight` |
//! | 2 | for each file group with records: the marker, then the log file |
//! | 3 | the completed instant |
//!
//! Hudi's writers of version 8 and later roll back instants of the metadata table that are pending without a heartbeat.

use bytes::Bytes;

use super::log_files::{Written, write_log};
use super::metadata_folder::{MetadataFolder, ROOT};
use super::native_logs::write_native_logs;
use super::partition_kind::PartitionKind;
use super::records::group_records::GroupRecords;
use super::records::partition_records::{PartitionRecords, Records};
use crate::commit::Clock;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::log::writer::{BlockBytes, BlockHeader, DeleteColumns, PartitionPath, delete_block, hfile_block};
use mortice_merge::config::TimelineLayout;
use mortice_storage::PutOutcome;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, OrderedMap};
use mortice_table::timeline::{Action, Timeline, WriteOperation};

/// Makes sure that the instant of the table that a delta commit belongs to is still the writer's.
pub(super) type CheckInstant<'a> = &'a dyn Fn() -> Result<()>;

/// Writes and completes a delta commit. `table` is the timeline of the data table, `clock` its clock.
pub(super) fn write_delta_commit(
    folder: &MetadataFolder,
    instant: &RequestedTime,
    records: Records,
    clock: &Clock,
    table: &Timeline,
) -> Result<()> {
    write_checked_delta_commit(folder, instant, records, clock, table, &|| Ok(()))
}

/// The same with a check that the table's instant is still the writer's, before the metadata table's is completed.
pub(super) fn write_checked_delta_commit(
    folder: &MetadataFolder,
    instant: &RequestedTime,
    records: Records,
    clock: &Clock,
    table: &Timeline,
    check: CheckInstant<'_>,
) -> Result<()> {
    begin(folder, instant)?;
    let mut stats = Vec::new();
    for (kind, records) in records {
        let written = write_partition(folder, &kind, records, instant)?;
        stats.push((kind, written));
    }
    check()?;
    let stats = stats.iter().map(|(kind, stats)| (kind.folder(), stats.clone())).collect();
    complete(folder, instant, WriteOperation::UpsertPrepped, stats, clock, table)
}

/// Requests and starts the instant.
pub(super) fn begin(folder: &MetadataFolder, instant: &RequestedTime) -> Result<()> {
    if folder.config.layout() == TimelineLayout::V2 {
        folder.store().put(&heartbeat(instant), &Bytes::new(), None)?;
    }
    let writer = folder.timeline_writer();
    for put in [
        writer.request(instant, Action::DeltaCommit, &Bytes::new())?,
        writer.start(instant, Action::DeltaCommit, &Bytes::new())?,
    ] {
        if put == PutOutcome::Refused {
            let message = "the metadata table has this instant already: another writer wrote it, or an earlier attempt was not rolled back";
            return Err(Error::new(ErrorKind::AlreadyExists, message).in_file(ROOT).at_instant(instant));
        }
    }
    Ok(())
}

/// Completes the instant.
pub(super) fn complete(
    folder: &MetadataFolder,
    instant: &RequestedTime,
    operation: WriteOperation,
    stats: Vec<(&str, Vec<HoodieWriteStat>)>,
    clock: &Clock,
    table: &Timeline,
) -> Result<()> {
    let writer = folder.timeline_writer();
    let metadata = HoodieCommitMetadata {
        partition_to_write_stats: Some(stats.into_iter().filter(|(_, stats)| !stats.is_empty()).collect()),
        compacted: Some(false),
        extra_metadata: Some(OrderedMap::from_iter([("schema", folder.schema().commit.to_owned())])),
        operation_type: Some(operation.name().to_owned()),
        ..HoodieCommitMetadata::default()
    };
    let content = writer.commit_content(&metadata)?;
    let completion = clock.completion_time(instant, &[table, &folder.timeline])?;
    writer.complete_or_fail(instant, Action::DeltaCommit, &completion, &content).map(|_| ())
}

/// Deletes what an attempt to write a delta commit left that was stopped before it completed the instant: from table
/// version 8 on its logs; before that they have been appended to slices, where a repeated one is read after them.
pub(super) fn delete_unfinished(folder: &MetadataFolder, instant: &RequestedTime) -> Result<()> {
    if folder.config.layout() == TimelineLayout::V2 {
        for kind in folder.kinds()? {
            for log in folder.files(&kind)?.log_files.iter().filter(|log| log.name.instant == *instant) {
                folder.store().delete(&format!("{ROOT}/{}/{}", kind.folder(), log.name.name))?;
            }
        }
    }
    folder.markers(instant).remove()?;
    folder.timeline_writer().delete_instant(instant, Action::DeltaCommit)
}

/// The heartbeat file of an instant of the metadata table.
pub(super) fn heartbeat(instant: &RequestedTime) -> String {
    format!("{ROOT}/.hoodie/.heartbeat/{instant}")
}

/// Writes the records of a partition, each to the file group of its key.
fn write_partition(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    records: PartitionRecords,
    instant: &RequestedTime,
) -> Result<Vec<HoodieWriteStat>> {
    let logs = folder.next_logs(kind, instant)?;
    let records = records.divided(logs.len())?;
    let mut stats = Vec::new();
    for (number, log) in (0..).zip(&logs) {
        let part = records.group(number)?;
        if part.upserts.is_empty() && part.deletes.is_empty() {
            continue;
        }
        if folder.config.version.has_native_logs() {
            stats.extend(write_native_logs(folder, kind, log, instant, &part)?);
            continue;
        }
        let (upserts, deletes) = (part.upserts.len() as u64, part.deletes.len() as u64);
        let blocks = blocks(folder, kind, instant, part)?;
        stats.extend(write_log(folder, kind, log, Written { instant, upserts, deletes }, &blocks)?);
    }
    Ok(stats)
}

/// The blocks of a log file: records, then deletes.
fn blocks(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    instant: &RequestedTime,
    records: GroupRecords<'_>,
) -> Result<Vec<BlockBytes>> {
    let GroupRecords { upserts, deletes } = records;
    let header = BlockHeader::new(instant);
    let schema = folder.schema().block;
    let mut blocks = Vec::new();
    if !upserts.is_empty() {
        blocks.push(hfile_block(upserts, schema, &header)?);
    }
    if !deletes.is_empty() {
        blocks.push(deleted_keys(kind, &deletes, &header.with_schema(schema))?);
    }
    Ok(blocks)
}

/// A block that deletes keys of a partition.
pub(super) fn deleted_keys(kind: &PartitionKind, keys: &[&str], header: &BlockHeader) -> Result<BlockBytes> {
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    const KEYS: &str = "key";
    let column: ArrayRef = std::sync::Arc::new(StringArray::from(keys.to_vec()));
    let batch = RecordBatch::try_from_iter([(KEYS, column)])
        .map_err(|error| Error::internal(format!("keys of the metadata table are no column: {error}")))?;
    let columns = DeleteColumns {
        record_key: KEYS.to_owned(),
        partition_path: PartitionPath::Constant(kind.folder().to_owned()),
        ordering: Vec::new(),
    };
    delete_block(&batch.schema(), &mut std::iter::once(Ok(batch)), &columns, header)
}
