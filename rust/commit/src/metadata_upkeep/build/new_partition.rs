//! A new partition of the metadata table (`HoodieBackedTableMetadataWriter.initializeFileGroups`, `bulkCommit`).
//!
//! Each file group begins with a log file that holds an empty delete block, so that all of them exist: from table
//! version 10 on, a native log without records. Those with records have a base file. The delta commit has the
//! partition's init instant.

use bytes::Bytes;

use super::base_hfile::{BaseHFileUpload, create_once};
use super::drop_metadata_table::delete_below;
use super::index_builder::IndexBuilder;
use super::record_index_files::{NewRecordIndex, written};
use super::secondary_index_files::NewSecondaryIndex;
use crate::commit::Clock;
use crate::metadata_upkeep::delta_commit::{complete, deleted_keys};
use crate::metadata_upkeep::metadata_folder::{MetadataFolder, ROOT, WRITE_TOKEN};
use crate::metadata_upkeep::native_logs::first_log;
use crate::metadata_upkeep::partition_kind::PartitionKind;
use crate::metadata_upkeep::records::group_records::GroupRecords;
use crate::metadata_upkeep::records::partition_records::PartitionRecords;
use crate::metadata_upkeep::records::secondary_index::SecondaryIndex;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_base::row_number::at;
use mortice_formats::log::writer::BlockHeader;
use mortice_storage::PutOutcome;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Timeline, WriteOperation};
use mortice_write::write::WriteStatus;

/// A partition that is to be written.
pub(in crate::metadata_upkeep) struct NewPartition<'a> {
    pub(in crate::metadata_upkeep) kind: PartitionKind,
    pub(in crate::metadata_upkeep) file_groups: u32,
    pub(in crate::metadata_upkeep) contents: NewContents<'a>,
    pub(in crate::metadata_upkeep) instant: RequestedTime,
}

/// What is written to a partition.
pub(in crate::metadata_upkeep) enum NewContents<'a> {
    /// These records.
    Records(PartitionRecords),
    /// The keys of these slices, by a builder of indexes.
    Keys(&'a dyn IndexBuilder, &'a OpenTable, &'a [FileSlice]),
    /// The keys that a secondary index has of the rows of these slices.
    SecondaryKeys(SecondaryIndex<'a>, &'a OpenTable, &'a [FileSlice]),
}

impl NewPartition<'_> {
    /// Writes the partition and completes its delta commit, after leftovers in its folder were deleted.
    pub(in crate::metadata_upkeep) fn write(
        self,
        folder: &MetadataFolder,
        clock: &Clock,
        table: &Timeline,
    ) -> Result<()> {
        let path = format!("{ROOT}/{}", self.kind.folder());
        delete_below(folder.store().as_ref(), &path)?;
        let writer = folder.timeline_writer();
        self.put_once(writer.request(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        self.put_once(writer.start(&self.instant, Action::DeltaCommit, &Bytes::new())?)?;
        let text = format!("#partition metadata\ncommitTime={}\npartitionDepth=1\n", self.instant);
        let store = folder.store().as_ref();
        create_once(store, &format!("{path}/.hoodie_partition_metadata"), &Bytes::from(text))?;
        let Self { kind, file_groups, contents, instant } = self;
        for number in 0..file_groups {
            let file_id = kind.file_group(number);
            let (name, content) = match folder.config.version.has_native_logs() {
                true => first_log(folder, &file_id, &instant)?,
                false => first_block(&kind, &file_id, &instant)?,
            };
            create_once(store, &format!("{path}/{name}"), &content)?;
        }
        let statuses = match contents {
            NewContents::Records(records) => {
                let records = records.divided(at(file_groups))?;
                let write = |number| write_base_file(folder, &kind, number, &instant, &records.group(number)?);
                (0..file_groups).filter_map(|number| write(number).transpose()).collect::<Result<Vec<_>>>()?
            }
            NewContents::Keys(builder, table, slices) => {
                let index = NewRecordIndex { store: folder.store(), instant: &instant, file_groups };
                builder.write_record_index(table, slices, &index)?
            }
            NewContents::SecondaryKeys(index, table, slices) => {
                let new = NewSecondaryIndex { folder, kind: &kind, instant: &instant, file_groups };
                new.write(table, slices, &index)?
            }
        };
        let stats = statuses.iter().filter_map(WriteStatus::to_write_stat).collect();
        complete(folder, &instant, WriteOperation::BulkInsertPrepped, vec![(kind.folder(), stats)], clock, table)
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

/// The name and content of a log file with an empty delete block.
fn first_block(kind: &PartitionKind, file_id: &str, instant: &RequestedTime) -> Result<(String, Bytes)> {
    let log = LogFileName::compose(file_id, instant, 1, WRITE_TOKEN)?;
    let block = deleted_keys(kind, &[], &BlockHeader::new(instant))?;
    Ok((log.name, Bytes::copy_from_slice(block.bytes())))
}

/// Writes the base file of a file group, if it has records.
fn write_base_file(
    folder: &MetadataFolder,
    kind: &PartitionKind,
    number: u32,
    instant: &RequestedTime,
    records: &GroupRecords<'_>,
) -> Result<Option<WriteStatus>> {
    if records.upserts.is_empty() {
        return Ok(None);
    }
    let name = BaseFileName::compose(&kind.file_group(number), WRITE_TOKEN, instant, "hfile")?.name;
    let path = format!("{}/{name}", kind.folder());
    let mut file = BaseHFileUpload::create(folder.store().as_ref(), format!("{ROOT}/{path}"), folder.schema().block)?;
    records.upserts.iter().try_for_each(|(key, record)| file.append(key.as_bytes(), record))?;
    Ok(Some(written(kind, number, path, records.upserts.len() as u64, file.finish()?)))
}
