//! The metadata table in storage: its own timeline and files.

use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use super::stored_files::{ArchivedWrites, StoredFiles, joined};
use super::uncommitted_files::uncommitted_files;
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::LogFileName;
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStore, Storage, SubfolderStorage};
use mortice_table::metadata_table::is_init_instant;
use mortice_table::timeline::{Action, Instant, Timeline};

/// Whether an error says that the metadata table is damaged or gone, not that the storage cannot be reached.
const fn is_of_table(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::InvalidTable
            | ErrorKind::Unsupported
            | ErrorKind::CorruptLog
            | ErrorKind::InvalidArgument
    )
}

/// The metadata table as a table.
pub(super) struct MetadataStorage {
    pub(super) config: TableConfig,
    pub(super) timeline: Timeline,
    /// Its files, by partitions relative to the data table.
    pub(super) stored: StoredFiles,
}

impl MetadataStorage {
    /// Opens it. None if it is not there or cannot be opened: then the table's files cannot be compared with it either,
    /// and that is a finding.
    pub(super) fn open(store: &Arc<dyn FileStore>) -> Result<Option<Self>> {
        let place: Arc<dyn Storage> =
            Arc::new(SubfolderStorage::new(Arc::clone(store) as Arc<dyn Storage>, METADATA_ROOT));
        let opened = TableConfig::load(place.as_ref()).and_then(|config| {
            let timeline = Timeline::load(&place, &config)?;
            Ok(Self { config, timeline, stored: StoredFiles::list_at(place.as_ref(), METADATA_ROOT)? })
        });
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if is_of_table(error.kind()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Files of instants that are not on its timeline, such as those of a writer that went on after it was rolled back.
    /// Once the timeline begins after such an instant, its records count as committed.
    pub(super) fn orphans(&self) -> Result<Vec<Finding>> {
        let is_v1 = self.config.layout() == TimelineLayout::V1;
        let (archived, mut found) = (ArchivedWrites::new(&self.timeline), Vec::new());
        for (partition, name, instant, status) in self.stored.data_files() {
            // Up to version 7 the name of a log has the instant of its slice.
            let is_named_by_slice = is_v1 && LogFileName::parse(name).is_some();
            let is_known =
                self.timeline.writes_at(&instant).next().is_some() || self.timeline.is_before_start(&instant);
            if !is_known && !is_named_by_slice && !archived.has(&instant)? {
                let message = format!("no instant {instant} is on the timeline of the metadata table");
                found.push(
                    Finding::new(FindingKind::OrphanFile, joined(partition, name), message).with_bytes(status.len),
                );
            }
        }
        Ok(found)
    }

    /// Pending delta commits of instants that are not pending in the table: of writers that were stopped, or went on
    /// after they were rolled back. No archival goes past them.
    pub(super) fn orphan_instants(&self, table: &Timeline) -> Vec<Finding> {
        let pending = self.timeline.pending(Action::DeltaCommit).filter(|instant| {
            let time = &instant.requested_time;
            !is_init_instant(time) && table.instants_at(time).iter().all(Instant::is_completed)
        });
        let finding = |instant: &Instant| {
            let path = format!("{METADATA_ROOT}/{}/{}", self.config.timeline_folder, instant.file_name);
            let message = "the instant is pending in the metadata table, and not pending in the table";
            Finding::new(FindingKind::OrphanFile, path, message)
        };
        pending.map(finding).collect()
    }

    /// See [`uncommitted_files`].
    pub(super) fn uncommitted(&self) -> Result<Vec<Finding>> {
        uncommitted_files(&self.timeline, &self.stored, self.config.layout())
    }
}
