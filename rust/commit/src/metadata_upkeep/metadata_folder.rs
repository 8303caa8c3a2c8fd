//! The metadata table as a table to be written: its folder, properties, timeline and file groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::partition_kind::PartitionKind;
use super::records::record_schema::RecordSchema;
use crate::commit::TimelineWriter;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStore, Storage, SubfolderStorage};
use mortice_table::file_group::{FileSystemView, PartitionFiles, files_of};
use mortice_table::timeline::Timeline;
use mortice_write::write::Markers;

/// Where it is, relative to the table.
pub use mortice_table::metadata_table::FOLDER as ROOT;
/// The token of all files that are written to it: a commit is written by one process, once.
pub(super) const WRITE_TOKEN: &str = "0-0-0";

/// Whether an error of reading a metadata table says that it is not sound, and not that the storage failed.
#[must_use]
pub fn is_defect(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidTable | ErrorKind::CorruptLog)
}

/// A metadata table that has been opened.
pub(super) struct MetadataFolder {
    store: Arc<dyn FileStore>,
    place: Arc<dyn Storage>,
    pub(super) config: TableConfig,
    pub(super) timeline: Timeline,
}

/// The next log file of a file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NextLog {
    pub(super) file_id: String,
    pub(super) name: String,
    pub(super) version: i32,
    /// The instant of the slice; from table version 8 on that of the commit.
    pub(super) slice_instant: RequestedTime,
    /// The slice's base file, empty from table version 8 on.
    pub(super) base_file: String,
    /// The slice's log files, the new one last; from table version 8 on the new one alone.
    pub(super) log_files: Vec<String>,
}

impl MetadataFolder {
    /// Reads properties and timeline of the metadata table of the table at the store's root.
    pub(super) fn open(store: &Arc<dyn FileStore>) -> Result<Self> {
        let table: Arc<dyn Storage> = Arc::clone(store) as Arc<dyn Storage>;
        let place: Arc<dyn Storage> = Arc::new(SubfolderStorage::new(table, ROOT));
        let config = TableConfig::load(place.as_ref())?;
        let timeline = Timeline::load(&place, &config)?;
        Ok(Self { store: Arc::clone(store), place, config, timeline })
    }

    pub(super) fn store(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    pub(super) fn schema(&self) -> &'static RecordSchema {
        RecordSchema::of_version(self.config.version)
    }

    pub(super) fn timeline_writer(&self) -> TimelineWriter {
        TimelineWriter::below(Arc::clone(&self.store), ROOT, &self.config)
    }

    pub(super) fn markers(&self, instant: &RequestedTime) -> Markers {
        Markers::below(Arc::clone(&self.store), ROOT, instant)
    }

    /// The partitions that have folders.
    pub(super) fn kinds(&self) -> Result<Vec<PartitionKind>> {
        let entries = self.place.list("")?.unwrap_or_default();
        Ok(entries.iter().filter_map(|entry| PartitionKind::named(entry.name())).collect())
    }

    /// The files of a partition.
    pub(super) fn files(&self, kind: &PartitionKind) -> Result<PartitionFiles> {
        files_of(self.place.as_ref(), kind.folder())
    }

    /// The next log files of all file groups of a partition, in the order of their numbers: the hash of a key is one of
    /// these.
    pub(super) fn next_logs(&self, kind: &PartitionKind, instant: &RequestedTime) -> Result<Vec<NextLog>> {
        let files = self.files(kind)?;
        let ids = self.checked_file_ids(kind, &files)?;
        match self.config.layout() {
            TimelineLayout::V2 => ids.into_iter().map(|id| log_of_commit(id, instant)).collect(),
            TimelineLayout::V1 => self.logs_of_slices(ids, &files),
        }
    }

    /// The ids of the file groups of a partition, in the order of their numbers.
    pub(super) fn checked_file_ids(&self, kind: &PartitionKind, files: &PartitionFiles) -> Result<Vec<String>> {
        let ids = file_ids(files);
        // Before 0.11 there was no number behind that of the file group.
        let is_id = |number: u32, id: &str| {
            let expected = kind.file_group(number);
            id == expected || Some(id) == expected.strip_suffix("-0")
        };
        if !ids.is_empty() && (0..).zip(&ids).all(|(number, id)| is_id(number, id)) {
            return Ok(ids);
        }
        let message = format!(
            "the file groups of the metadata table's partition {} are not those that Hudi creates ({}, …), found: {}; build the metadata \
             table again, with Table.build_metadata(rebuild=True) or `mortice metadata build --rebuild`",
            kind.folder(),
            kind.file_group(0),
            ids.join(", "),
        );
        Err(Error::invalid_table(message).in_file(self.place.full_path(kind.folder())))
    }

    /// Up to table version 7: the next versions of the logs of the latest slices.
    fn logs_of_slices(&self, ids: Vec<String>, files: &PartitionFiles) -> Result<Vec<NextLog>> {
        let view = FileSystemView::new(&self.timeline, &self.config, None)?;
        let mut slices: BTreeMap<String, _> =
            view.slices(files)?.into_iter().map(|slice| (slice.file_id.clone(), slice)).collect();
        let pending = self.timeline.pending_compactions()?;
        let compaction_of = |id: &str| {
            let has = |one: &&mortice_table::timeline::PendingCompaction| {
                one.operations.iter().any(|operation| operation.partition == files.partition && operation.file_id == id)
            };
            pending.iter().rfind(has).map(|one| one.instant.clone())
        };
        let next = |id: String| {
            let slice = slices.remove(&id);
            let slice = slice.ok_or_else(|| {
                Error::invalid_table(format!("the metadata table's file group {id} has no file of a completed instant"))
            })?;
            let compaction = compaction_of(&id);
            let is_cut = compaction.is_some();
            let slice_instant = compaction.unwrap_or(slice.base_instant);
            let logs = files.log_files.iter().filter(|log| log.name.file_id == id && log.name.instant == slice_instant);
            let mut logs: Vec<&LogFileName> = logs.map(|log| &log.name).collect();
            logs.sort_by(|one, other| one.slice_order(other));
            let version = logs.last().map_or(0, |log| log.version).saturating_add(1);
            let name = LogFileName::compose(&id, &slice_instant, version, WRITE_TOKEN)?.name;
            let mut log_files: Vec<String> = logs.into_iter().map(|log| log.name.clone()).collect();
            log_files.push(name.clone());
            let base_file = slice.base_file.filter(|_| !is_cut).map(|base| base.name().to_owned()).unwrap_or_default();
            let version = i32::try_from(version)
                .map_err(|_| Error::invalid_table(format!("log file {name} has too large a version")))?;
            Ok(NextLog { file_id: id, name, version, slice_instant, base_file, log_files })
        };
        ids.into_iter().map(next).collect()
    }
}

fn log_of_commit(id: String, instant: &RequestedTime) -> Result<NextLog> {
    let name = LogFileName::compose(&id, instant, 1, WRITE_TOKEN)?.name;
    let (slice_instant, log_files) = (instant.clone(), vec![name.clone()]);
    Ok(NextLog { file_id: id, name, version: 1, slice_instant, base_file: String::new(), log_files })
}

/// Ids of file groups, sorted.
fn file_ids(files: &PartitionFiles) -> Vec<String> {
    let bases = files.base_files.iter().map(|base| base.name.file_id.clone());
    let logs = files.log_files.iter().map(|log| log.name.file_id.clone());
    let ids: std::collections::BTreeSet<String> = bases.chain(logs).collect();
    ids.into_iter().collect()
}
