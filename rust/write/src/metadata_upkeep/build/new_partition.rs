//! A new partition of the metadata table (`HoodieBackedTableMetadataWriter.initializeFileGroups`, `bulkCommit`).
//!
//! Each file group begins with a log file that holds an empty delete block, so that all of them exist; those with records have a base
//! file. The delta commit has the partition's init instant.

use bytes::Bytes;

use super::base_hfile::BaseHFile;
use super::drop_metadata_table::delete_below;
use crate::commit::Clock;
use crate::metadata_upkeep::delta_commit::{complete, deleted_keys};
use crate::metadata_upkeep::metadata_folder::{MetadataFolder, ROOT, WRITE_TOKEN};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use crate::metadata_upkeep::records::group_records::GroupRecords;
use crate::metadata_upkeep::records::partition_records::PartitionRecords;
use crate::write::{WriteStatus, WrittenFile};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_base::row_number::at;
use mortice_formats::log::writer::BlockHeader;
use mortice_storage::PutOutcome;
use mortice_table::timeline::metadata::HoodieWriteStat;
use mortice_table::timeline::{Action, Timeline, WriteOperation};

/// A partition that is to be written.
pub(in crate::metadata_upkeep) struct NewPartition {
    pub(in crate::metadata_upkeep) kind: PartitionKind,
    pub(in crate::metadata_upkeep) file_groups: u32,
    pub(in crate::metadata_upkeep) records: PartitionRecords,
    pub(in crate::metadata_upkeep) instant: RequestedTime,
}

impl NewPartition {
    /// Writes the partition and completes its delta commit, after leftovers in its folder were deleted.
    ///
    /// # Errors
    /// Those of the storage.
    pub(in crate::metadata_upkeep) fn write(
        self,
        folder: &MetadataFolder,
        (clock, table): (&Clock, &Timeline),
    ) -> Result<()> {
        let path = format!("{ROOT}/{}", self.kind.folder());
        delete_below(folder.store().as_ref(), &path)?;
        let writer = folder.timeline_writer();
        self.put_once(writer.request(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        self.put_once(writer.start(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        let text = format!("#partition metadata\ncommitTime={}\npartitionDepth=1\n", self.instant);
        folder.store().put(&format!("{path}/.hoodie_partition_metadata"), &Bytes::from(text), None)?;
        let Self { kind, file_groups, records, instant } = self;
        let records = records.divided(at(file_groups))?;
        let mut stats = Vec::new();
        for number in 0..file_groups {
            let file_id = kind.file_group(number);
            let header = BlockHeader::new(&instant);
            let log = LogFileName::compose(&file_id, &instant, 1, WRITE_TOKEN)?;
            let block = deleted_keys(kind, &[], &header)?;
            folder.store().put(&format!("{path}/{}", log.name), &Bytes::copy_from_slice(block.bytes()), None)?;
            let GroupRecords { upserts, .. } = records.group(number)?;
            if !upserts.is_empty() {
                stats.extend(write_base_file(folder, kind, &instant, &file_id, &upserts)?);
            }
        }
        let stats = vec![(kind.folder(), stats)];
        complete(folder, &instant, WriteOperation::BulkInsertPrepped, stats, (clock, table))
    }

    fn put_once(&self, put: PutOutcome) -> Result<()> {
        match put {
            PutOutcome::Written(_) => Ok(()),
            PutOutcome::Refused => {
                let message = "another writer initialises the metadata table at the same time";
                Err(Error::new(ErrorKind::WriteConflict, message).in_file(ROOT).at_instant(&self.instant))
            }
        }
    }
}

fn write_base_file(
    folder: &MetadataFolder,
    kind: PartitionKind,
    instant: &RequestedTime,
    file_id: &str,
    records: &[(&str, &[u8])],
) -> Result<Option<HoodieWriteStat>> {
    let name = BaseFileName::compose(file_id, WRITE_TOKEN, instant, "hfile")?.name;
    let path = format!("{}/{name}", kind.folder());
    let mut file = BaseHFile::new(folder.schema().block)?;
    records.iter().try_for_each(|(key, record)| file.append(key.as_bytes(), record))?;
    let bytes = file.finish()?;
    let length = bytes.len() as u64;
    folder.store().put(&format!("{ROOT}/{path}"), &Bytes::from(bytes), None)?;
    let mut status = WriteStatus::new(kind.folder(), file_id);
    (status.writes, status.inserts) = (records.len() as u64, records.len() as u64);
    status.file = Some(WrittenFile::new(path, length));
    Ok(status.to_write_stat())
}
