//! Log files of the metadata table: each is written once, after its marker.

use bytes::Bytes;

use super::metadata_folder::{MetadataFolder, NextLog, ROOT};
use super::partition_kind::PartitionKind;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::log::writer::BlockBytes;
use mortice_merge::config::TimelineLayout;
use mortice_storage::PutOutcome;
use mortice_table::timeline::metadata::HoodieWriteStat;
use mortice_write::write::{LogFileStatus, MarkerKind, WriteStatus, WrittenFile};

/// What a log file contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) instant: &'a RequestedTime,
    pub(super) upserts: u64,
    pub(super) deletes: u64,
}

/// Writes a log file of blocks after its marker.
pub(super) fn write_log(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    log: &NextLog,
    written: Written<'_>,
    blocks: &[BlockBytes],
) -> Result<Option<HoodieWriteStat>> {
    write_file(folder, kind, log, written, blocks.iter().flat_map(BlockBytes::bytes).copied().collect())
}

/// Writes a log file after its marker.
pub(super) fn write_file(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    log: &NextLog,
    written: Written<'_>,
    bytes: Vec<u8>,
) -> Result<Option<HoodieWriteStat>> {
    let Written { instant, upserts, deletes } = written;
    let path = format!("{}/{}", kind.folder(), log.name);
    let marker = match folder.config.layout() {
        TimelineLayout::V1 => MarkerKind::Append,
        TimelineLayout::V2 => MarkerKind::Create,
    };
    folder.markers(instant).create(&path, marker)?;
    let length = bytes.len() as u64;
    let in_table = format!("{ROOT}/{path}");
    if folder.store().put_if_absent(&in_table, &Bytes::from(bytes))? == PutOutcome::Refused {
        let message = "the log file exists: another writer wrote to the metadata table at the same time";
        return Err(Error::new(ErrorKind::AlreadyExists, message)
            .in_file(folder.store().full_path(&in_table))
            .at_instant(instant));
    }
    let mut status = WriteStatus::new(kind.folder(), &log.file_id);
    status.previous_commit = Some(log.slice_instant.to_string());
    (status.writes, status.updates, status.deletes) = (upserts, upserts, deletes);
    status.file = Some(WrittenFile {
        log: Some(LogFileStatus {
            version: log.version,
            offset: 0,
            base_file: log.base_file.clone(),
            log_files: log.log_files.clone(),
        }),
        ..WrittenFile::new(path, length)
    });
    Ok(status.to_write_stat())
}
