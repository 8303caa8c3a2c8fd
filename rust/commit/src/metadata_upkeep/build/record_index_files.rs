//! The base files of a new record index, written from keys that are sorted outside memory.
//!
//! | in memory are | bytes |
//! |---|---|
//! | keys that are sorted | [`SORT_MEMORY`] of all threads together; others are in files of the table's `spill_dir` |
//! | the locations of the file slices | some 100 for each slice |
//! | of the file that is being written | its Bloom filter, some 600,000, and an entry for each block |

use std::collections::BTreeMap;
use std::sync::Arc;

use super::base_hfile::BaseHFileUpload;
use crate::metadata_upkeep::metadata_folder::{ROOT, WRITE_TOKEN};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use crate::metadata_upkeep::records::record_index::location;
use crate::metadata_upkeep::records::record_schema::RecordSchema;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, RequestedTime};
use mortice_base::progress::Progress;
use mortice_base::row_number::at;
use mortice_formats::filter::Filter;
use mortice_merge::spill::{EntrySorter, SpillFolder};
use mortice_storage::{FileStore, parallel};
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::shard;
use mortice_table::plan::OpenTable;
use mortice_write::write::{WriteStatus, WrittenFile};

/// Bytes of keys that are sorted in memory.
pub(super) const SORT_MEMORY: usize = 256 << 20;
/// Bytes of each thread, at least.
pub(super) const LEAST_BUFFER: usize = 1 << 20;

/// A record index that is written.
pub struct NewRecordIndex<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The init instant.
    pub instant: &'a RequestedTime,
    /// The number of file groups.
    pub file_groups: u32,
}

/// Writes the base files of a record index in this process.
///
/// Args:
///     table: The table.
///     slices: Those whose keys are indexed.
///     index: What is written.
///     progress: Gets how much is done.
pub(super) fn write_record_index(
    table: &OpenTable,
    slices: &[FileSlice],
    index: &NewRecordIndex<'_>,
    progress: &Progress,
) -> Result<Vec<WriteStatus>> {
    let threads = table.slices_at_once();
    let folder = SpillFolder::new(table.options.spill_dir.as_deref());
    let sorter = EntrySorter::new(folder, (SORT_MEMORY / threads).max(LEAST_BUFFER));
    let scan = table.record_keys(slices)?;
    let memory = table.options.memory_limit / u64::try_from(threads).unwrap_or(u64::MAX).max(1);
    let splits: Vec<_> = (0_u32..).zip(scan.splits()).collect();
    progress.begin(splits.len() as u64);
    parallel::map(&splits, threads, |(slice, split)| {
        let (mut buffer, mut entry) = (sorter.buffer(), Vec::new());
        let read = scan.read(split, memory, &mut |keys| {
            keys.iter().flatten().try_for_each(|key| {
                entry.clear();
                entry.extend_from_slice(&shard::number_of(key, index.file_groups).to_be_bytes());
                entry.extend_from_slice(key.as_bytes());
                sorter.add(&mut buffer, &entry, &slice.to_be_bytes())
            })
        });
        sorter.give_back(buffer);
        progress.advance(1);
        read?
    })?;
    let groups: Vec<IndexedGroup> = scan.splits().iter().map(|split| IndexedGroup::of_slice(&split.slice)).collect();
    let sorted = sorter.finish()?;
    let target = IndexTarget { store: index.store.as_ref(), table, instant: index.instant, token: WRITE_TOKEN };
    let mut files = IndexFiles::new(target, &groups);
    for entry in sorted.iter() {
        let entry = entry?;
        let (group, key) = entry.key.split_first_chunk().ok_or_else(lost)?;
        let slice = u32::from_be_bytes(entry.value.try_into().map_err(|_| lost())?);
        files.add(u32::from_be_bytes(*group), key, slice)?;
    }
    files.finish()
}

fn lost() -> Error {
    Error::internal("a record key that was set aside is lost")
}

/// The slices whose keys a new record index has.
pub(in crate::metadata_upkeep) fn indexed_slices(table: &OpenTable) -> Result<Vec<FileSlice>> {
    match table.timeline.latest_visible() {
        None => Ok(Vec::new()),
        Some(_) => table.file_slices(None, &Filter::default()),
    }
}

/// What the record index says of a file slice.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexedGroup {
    partition: String,
    file_id: String,
    instant: RequestedTime,
}

impl IndexedGroup {
    /// That of a slice.
    #[must_use]
    pub fn of_slice(slice: &FileSlice) -> Self {
        Self { partition: slice.partition.clone(), file_id: slice.file_id.clone(), instant: slice.base_instant.clone() }
    }
}

/// Where base files are written.
#[derive(Clone, Copy)]
pub struct IndexTarget<'a> {
    /// The table's root.
    pub store: &'a dyn FileStore,
    /// The table.
    pub table: &'a OpenTable,
    /// The init instant.
    pub instant: &'a RequestedTime,
    /// The write token of the files.
    pub token: &'a str,
}

/// Writes base files of a record index, from keys that are sorted by file group and then byte by byte.
pub struct IndexFiles<'a> {
    target: IndexTarget<'a>,
    schema: &'static RecordSchema,
    groups: &'a [IndexedGroup],
    /// The records of slices, by number.
    locations: BTreeMap<u32, Vec<u8>>,
    /// The file group whose file is written, the file, and its records.
    open: Option<(u32, BaseHFileUpload<'a>, u64)>,
    /// The last key, which waits for a later slice of the same key.
    waiting: Option<(u32, Vec<u8>, u32)>,
    written: Vec<WriteStatus>,
}

impl<'a> IndexFiles<'a> {
    /// No files. Keys have the numbers of slices, which stand for `groups`.
    #[must_use]
    pub fn new(target: IndexTarget<'a>, groups: &'a [IndexedGroup]) -> Self {
        let schema = RecordSchema::of_version(target.table.config.version);
        let (locations, written) = (BTreeMap::new(), Vec::new());
        Self { target, schema, groups, locations, open: None, waiting: None, written }
    }

    /// Adds a key of a file group of the index. Of several slices that have it, the one with the greatest number
    /// counts, which is the last one.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn add(&mut self, file_group: u32, key: &[u8], slice: u32) -> Result<()> {
        if let Some((last_group, last_key, last_slice)) = &mut self.waiting
            && *last_group == file_group
            && last_key.as_slice() == key
        {
            *last_slice = slice;
            return Ok(());
        }
        let mut waiting = match self.waiting.take() {
            None => Vec::new(),
            Some((group, key, slice)) => {
                self.append(group, &key, slice)?;
                key
            }
        };
        waiting.clear();
        waiting.extend_from_slice(key);
        self.waiting = Some((file_group, waiting, slice));
        Ok(())
    }

    fn append(&mut self, file_group: u32, key: &[u8], slice: u32) -> Result<()> {
        if self.open.as_ref().is_none_or(|(open, ..)| *open != file_group) {
            self.close()?;
            let path = format!("{ROOT}/{}", self.path(file_group)?);
            // Names of attempts of tasks are their own.
            let start = if self.target.token == WRITE_TOKEN { BaseHFileUpload::create } else { BaseHFileUpload::start };
            let file = start(self.target.store, path, self.schema.block)?;
            self.open = Some((file_group, file, 0));
        }
        if !self.locations.contains_key(&slice) {
            let group = self.groups.get(at(slice)).ok_or_else(|| Error::internal("a slice that is not there"))?;
            let (schema, table) = (self.schema, self.target.table);
            let location = location(schema, table, &group.partition, &group.file_id, &group.instant)?;
            self.locations.insert(slice, location);
        }
        match (&mut self.open, self.locations.get(&slice)) {
            (Some((_, file, records)), Some(location)) => {
                *records = records.saturating_add(1);
                file.append(key, location)
            }
            _ => Err(Error::internal("a record index without a file")),
        }
    }

    /// The path of a file, relative to the metadata table.
    fn path(&self, file_group: u32) -> Result<String> {
        let kind = PartitionKind::RecordIndex;
        let file_id = kind.file_group(file_group);
        let name = BaseFileName::compose(&file_id, self.target.token, self.target.instant, "hfile")?.name;
        Ok(format!("{}/{name}", kind.folder()))
    }

    fn close(&mut self) -> Result<()> {
        let Some((file_group, file, records)) = self.open.take() else { return Ok(()) };
        let path = self.path(file_group)?;
        let bytes =
            file.finish().map_err(|error| error.in_file(self.target.store.full_path(&format!("{ROOT}/{path}"))))?;
        self.written.push(written(&PartitionKind::RecordIndex, file_group, path, records, bytes));
        Ok(())
    }

    /// Ends the last file. Returns the files, in the order of their file groups.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn finish(mut self) -> Result<Vec<WriteStatus>> {
        if let Some((group, key, slice)) = self.waiting.take() {
            self.append(group, &key, slice)?;
        }
        self.close()?;
        Ok(self.written)
    }
}

/// The status of a new base file.
pub(in crate::metadata_upkeep) fn written(
    kind: &PartitionKind,
    file_group: u32,
    path: String,
    records: u64,
    bytes: u64,
) -> WriteStatus {
    let mut status = WriteStatus::new(kind.folder(), &kind.file_group(file_group));
    (status.writes, status.inserts) = (records, records);
    status.file = Some(WrittenFile::new(path, bytes));
    status
}
