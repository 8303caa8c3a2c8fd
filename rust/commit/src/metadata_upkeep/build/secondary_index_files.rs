//! The base files of a new secondary index, written from keys that are sorted outside memory, as those of a record
//! index are.

use super::base_hfile::BaseHFileUpload;
use super::record_index_files::{LEAST_BUFFER, SORT_MEMORY, written};
use crate::metadata_upkeep::metadata_folder::{MetadataFolder, ROOT, WRITE_TOKEN};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use crate::metadata_upkeep::records::record_bytes;
use crate::metadata_upkeep::records::secondary_index::{SecondaryIndex, values_of_table};
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, RequestedTime};
use mortice_merge::spill::{EntrySorter, SpillFolder};
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::shard;
use mortice_table::plan::OpenTable;
use mortice_write::write::WriteStatus;

/// A secondary index that is written.
pub(super) struct NewSecondaryIndex<'a> {
    pub(super) folder: &'a MetadataFolder,
    pub(super) kind: &'a PartitionKind,
    pub(super) instant: &'a RequestedTime,
    pub(super) file_groups: u32,
}

impl<'a> NewSecondaryIndex<'a> {
    /// Writes the base files of the file groups that have keys.
    pub(super) fn write(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        index: &SecondaryIndex<'_>,
    ) -> Result<Vec<WriteStatus>> {
        if slices.is_empty() {
            return Ok(Vec::new());
        }
        let threads = table.slices_at_once();
        let folder = SpillFolder::new(table.options.spill_dir.as_deref());
        let sorter = EntrySorter::new(folder, (SORT_MEMORY / threads).max(LEAST_BUFFER));
        let values = values_of_table(table, index)?;
        parallel::map(slices, threads, |slice| {
            let (mut buffer, mut entry) = (sorter.buffer(), Vec::new());
            let scan = values.stored(table, std::slice::from_ref(slice))?;
            let read = values.for_each(&scan, &table.storage, &mut |key| {
                entry.clear();
                let group = shard::number_of(index.version.hashed_part(&key), self.file_groups);
                entry.extend_from_slice(&group.to_be_bytes());
                entry.extend_from_slice(key.as_bytes());
                sorter.add(&mut buffer, &entry, &[])
            });
            sorter.give_back(buffer);
            read
        })?;
        let record = record_bytes::secondary_index(self.folder.schema());
        let (mut open, mut last, mut statuses) = (None, Vec::new(), Vec::new());
        for entry in sorter.finish()?.iter() {
            let entry = entry?;
            if entry.key == last {
                continue;
            }
            last.clear();
            last.extend_from_slice(entry.key);
            let (group, key) = entry.key.split_first_chunk().ok_or_else(lost)?;
            let number = u32::from_be_bytes(*group);
            if open.as_ref().is_none_or(|file: &OpenFile<'_>| file.number != number) {
                statuses.extend(open.take().map(|file| file.finish(self.kind)).transpose()?);
            }
            let file = match &mut open {
                Some(file) => file,
                None => open.insert(self.start(number)?),
            };
            file.upload.append(key, &record)?;
            file.records = file.records.saturating_add(1);
        }
        statuses.extend(open.take().map(|file| file.finish(self.kind)).transpose()?);
        Ok(statuses)
    }

    /// Starts the base file of a file group.
    fn start(&self, number: u32) -> Result<OpenFile<'a>> {
        let name = BaseFileName::compose(&self.kind.file_group(number), WRITE_TOKEN, self.instant, "hfile")?.name;
        let path = format!("{}/{name}", self.kind.folder());
        let (store, schema) = (self.folder.store().as_ref(), self.folder.schema().block);
        let upload = BaseHFileUpload::create(store, format!("{ROOT}/{path}"), schema)?;
        Ok(OpenFile { number, path, upload, records: 0 })
    }
}

/// The base file that is being written.
struct OpenFile<'a> {
    number: u32,
    path: String,
    upload: BaseHFileUpload<'a>,
    records: u64,
}

impl OpenFile<'_> {
    fn finish(self, kind: &PartitionKind) -> Result<WriteStatus> {
        let bytes = self.upload.finish()?;
        Ok(written(kind, self.number, self.path, self.records, bytes))
    }
}

fn lost() -> Error {
    Error::internal("a key of a secondary index that was set aside is lost")
}
