//! A table that services work on: the table at the root of a store, or its metadata table. Both have timelines, markers
//! and partitions of the same form.

use std::sync::Arc;

use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::TimelineWriter;
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStore, Storage, SubfolderStorage};
use mortice_table::file_group::{PartitionFiles, files_of};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;
use mortice_write::write::Markers;

/// An open table. Paths that its functions take and return are relative to the table, unless they are said to be those
/// of the store.
pub(crate) struct ServiceTable {
    pub(crate) store: Arc<dyn FileStore>,
    pub(crate) storage: Arc<dyn Storage>,
    /// Where the table is in the store; empty for the store's root.
    pub(crate) root: &'static str,
    pub(crate) config: TableConfig,
    pub(crate) timeline: Timeline,
}

impl ServiceTable {
    /// Opens the metadata table of the table at the root of a store.
    pub(crate) fn open_metadata(store: &Arc<dyn FileStore>) -> Result<Self> {
        let table: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(store);
        let storage: Arc<dyn Storage> = Arc::new(SubfolderStorage::new(table, METADATA_ROOT));
        let config = TableConfig::load(storage.as_ref())?;
        let timeline = Timeline::load(&storage, &config)?;
        Ok(Self { store: Arc::clone(store), storage, root: METADATA_ROOT, config, timeline })
    }

    /// The table at the root of a store with other properties: of another layout. Its own timeline is that of before.
    pub(crate) fn with_config(store: &Arc<dyn FileStore>, config: &TableConfig, before: &Timeline) -> Self {
        let storage: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(store);
        Self { store: Arc::clone(store), storage, root: "", config: config.clone(), timeline: before.clone() }
    }

    /// The table at the root of a store, as it was opened.
    pub(crate) fn new(store: &Arc<dyn FileStore>, table: &OpenTable) -> Self {
        let storage: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(store);
        let (config, timeline) = (table.config.clone(), table.timeline.clone());
        Self { store: Arc::clone(store), storage, root: "", config, timeline }
    }

    /// Reads the timeline again.
    pub(crate) fn reload(&mut self) -> Result<()> {
        self.timeline = Timeline::load(&self.storage, &self.config)?;
        Ok(())
    }

    pub(crate) fn is_v1(&self) -> bool {
        self.config.layout() == TimelineLayout::V1
    }

    /// A path of the table as a path of the store.
    pub(crate) fn in_store(&self, path: &str) -> String {
        if self.root.is_empty() { path.to_owned() } else { format!("{}/{path}", self.root) }
    }

    /// A path of the table as messages have it.
    pub(crate) fn full_path(&self, path: &str) -> String {
        self.store.full_path(&self.in_store(path))
    }

    pub(crate) fn timeline_writer(&self) -> TimelineWriter {
        match self.root {
            "" => TimelineWriter::new(Arc::clone(&self.store), &self.config),
            root => TimelineWriter::below(Arc::clone(&self.store), root, &self.config),
        }
    }

    pub(crate) fn markers(&self, instant: &RequestedTime) -> Markers {
        match self.root {
            "" => Markers::new(Arc::clone(&self.store), instant),
            root => Markers::below(Arc::clone(&self.store), root, instant),
        }
    }

    /// The data files of a partition, by listing the storage.
    pub(crate) fn files(&self, partition: &str) -> Result<PartitionFiles> {
        files_of(self.storage.as_ref(), partition)
    }

    /// Deletes a file. A file that is not there is no error.
    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        self.store.delete(&self.in_store(path))
    }
}
