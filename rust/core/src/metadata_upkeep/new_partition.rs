//! A new partition of the metadata table (`HoodieBackedTableMetadataWriter.initializeFileGroups`, `bulkCommit`).
//!
//! Each file group begins with a log file that holds an empty delete block, so that all of them exist; those with records have a base
//! file. The delta commit has the partition's init instant.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::base_hfile::BaseHFile;
use super::delta_commit::{complete, deleted_keys};
use super::drop_metadata_table::delete_below;
use super::metadata_folder::{MetadataFolder, ROOT, WRITE_TOKEN};
use super::partition_kind::PartitionKind;
use super::records::PartitionRecords;
use crate::commit::{Clock, WriteOperation};
use crate::error::{Error, ErrorKind, Result};
use crate::log::writer::BlockHeader;
use crate::metadata_table::shard;
use crate::names::{BaseFileName, LogFileName, RequestedTime};
use crate::storage::PutOutcome;
use crate::timeline::metadata::HoodieWriteStat;
use crate::timeline::{Action, Timeline};
use crate::write::{WriteStatus, WrittenFile};

/// A partition that is to be written.
pub(super) struct NewPartition<'a> {
    pub(super) kind: PartitionKind,
    pub(super) file_groups: u32,
    pub(super) records: &'a PartitionRecords,
    pub(super) instant: RequestedTime,
}

impl NewPartition<'_> {
    /// Writes the partition and completes its delta commit, after leftovers in its folder were deleted.
    ///
    /// # Errors
    /// Those of the storage.
    pub(super) fn write(&self, folder: &MetadataFolder, (clock, table): (&Clock, &Timeline)) -> Result<()> {
        let path = format!("{ROOT}/{}", self.kind.folder());
        delete_below(folder.store().as_ref(), &path)?;
        let writer = folder.timeline_writer();
        self.put_once(writer.request(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        self.put_once(writer.start(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        let text = format!("#partition metadata\ncommitTime={}\npartitionDepth=1\n", self.instant);
        folder.store().put(&format!("{path}/.hoodie_partition_metadata"), &Bytes::from(text), None)?;
        let parts = self.by_group()?;
        let mut stats = Vec::new();
        for (number, records) in (0..self.file_groups).zip(parts) {
            let file_id = self.kind.file_group(number);
            let header = BlockHeader::new(&self.instant);
            let log = LogFileName::compose(&file_id, &self.instant, 1, WRITE_TOKEN)?;
            let block = deleted_keys(self.kind, &[], &header)?;
            folder.store().put(&format!("{path}/{}", log.name), &Bytes::copy_from_slice(block.bytes()), None)?;
            if !records.is_empty() {
                stats.extend(self.write_base_file(folder, &file_id, &records)?);
            }
        }
        let stats = vec![(self.kind.folder(), stats)];
        complete(folder, &self.instant, WriteOperation::BulkInsertPrepped, stats, (clock, table))
    }

    fn put_once(&self, put: PutOutcome) -> Result<()> {
        match put {
            PutOutcome::Written(_) => Ok(()),
            PutOutcome::Refused => {
                let message = "another writer initialises the metadata table at the same time";
                Err(Error::new(ErrorKind::AlreadyExists, message).in_file(ROOT).at_instant(&self.instant))
            }
        }
    }

    fn by_group(&self) -> Result<Vec<BTreeMap<&str, &[u8]>>> {
        let groups = usize::try_from(self.file_groups).unwrap_or(usize::MAX);
        let mut parts = vec![BTreeMap::new(); groups];
        for (key, record) in &self.records.upserts {
            let group = usize::try_from(shard::number_of(key, self.file_groups)).unwrap_or(usize::MAX);
            let part = parts.get_mut(group).ok_or_else(|| Error::internal("a record without a file group"))?;
            part.insert(key.as_str(), record.as_slice());
        }
        Ok(parts)
    }

    fn write_base_file(
        &self,
        folder: &MetadataFolder,
        file_id: &str,
        records: &BTreeMap<&str, &[u8]>,
    ) -> Result<Option<HoodieWriteStat>> {
        let name = BaseFileName::compose(file_id, WRITE_TOKEN, &self.instant, "hfile")?.name;
        let path = format!("{}/{name}", self.kind.folder());
        let mut file = BaseHFile::new(folder.schema().block)?;
        records.iter().try_for_each(|(key, record)| file.append(key.as_bytes(), record))?;
        let bytes = file.finish()?;
        let length = bytes.len() as u64;
        folder.store().put(&format!("{ROOT}/{path}"), &Bytes::from(bytes), None)?;
        let mut status = WriteStatus::new(self.kind.folder(), file_id);
        (status.writes, status.inserts) = (records.len() as u64, records.len() as u64);
        status.file = Some(WrittenFile {
            path,
            bytes: length,
            log: None,
            compacted: None,
            previous_base_file: None,
            key_range: None,
            bloom: None,
            columns: Vec::new(),
            changes: None,
        });
        Ok(status.to_write_stat())
    }
}
