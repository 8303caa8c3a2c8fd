//! An opened table: its properties and its timeline, read once.

use std::sync::{Arc, Mutex, OnceLock};

use super::known_schema::KnownSchema;
use crate::metadata_table::MetadataTable;
use crate::timeline::{Instant, Timeline};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{MergeConfig, ReadOptions, TableConfig};
use mortice_storage::{self as storage, RequestCounters, Storage, StorageOptions};

/// The files that opening a table and its metadata table may read, for both layouts of the timeline. On remote storage
/// all are requested at once: a missing file is answered as fast, and waiting for the layout would take another round
/// trip.
const OPENED_FILES: [&str; 2] = [".hoodie/hoodie.properties", ".hoodie/metadata/.hoodie/hoodie.properties"];
const OPENED_FOLDERS: [&str; 3] = [".hoodie", ".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline"];

/// A Hudi table whose properties and timeline have been read.
pub struct OpenTable {
    /// The base path, as it was given.
    pub uri: String,
    /// Options of the storage.
    pub storage_options: StorageOptions,
    /// The storage, rooted at the base path.
    pub storage: Arc<dyn Storage>,
    /// The table's properties.
    pub config: TableConfig,
    /// How its records are merged.
    pub merge: MergeConfig,
    /// Its timeline, as of opening the table.
    pub timeline: Timeline,
    /// Options of reading.
    pub options: ReadOptions,
    /// Opened on first use.
    pub(super) metadata: OnceLock<std::result::Result<MetadataTable, Arc<Error>>>,
    /// The schema that was last used.
    pub(super) known_schema: Mutex<Option<KnownSchema>>,
}

impl OpenTable {
    /// Opens the table at a path or URI. [`mortice_base::ErrorKind::NotFound`] if there is none,
    /// [`mortice_base::ErrorKind::Unsupported`] for tables that this release cannot read.
    pub fn open(uri: &str, storage_options: &StorageOptions, options: ReadOptions) -> Result<Self> {
        Self::at(storage::open(uri, storage_options, options.mmap)?, uri, storage_options, options)
    }

    /// Opens a table in a storage that is already open; splits are read at `uri`.
    ///
    /// # Errors
    /// As for [`OpenTable::open`].
    pub fn at(
        storage: Arc<dyn Storage>,
        uri: &str,
        storage_options: &StorageOptions,
        options: ReadOptions,
    ) -> Result<Self> {
        let storage = match storage.requests() {
            Some(_) => storage,
            None => storage::counted(storage, &Arc::new(RequestCounters::default())),
        };
        if let Some(requests) = storage.requests() {
            requests.budget().set_limit(options.memory_limit / 4, 1);
        }
        storage.begin(&OPENED_FILES, &OPENED_FOLDERS)?;
        Self::read(storage, uri, storage_options, options)
    }

    /// Reads the properties and the timeline of a table. The files have been prefetched, or the storage is local.
    pub(super) fn read(
        storage: Arc<dyn Storage>,
        uri: &str,
        storage_options: &StorageOptions,
        options: ReadOptions,
    ) -> Result<Self> {
        let config = TableConfig::load(storage.as_ref())?;
        let timeline = Timeline::load(&storage, &config)?;
        Self::from_parts(storage, (uri, storage_options), options, config, timeline)
    }

    /// The table with these properties and this timeline.
    pub(super) fn from_parts(
        storage: Arc<dyn Storage>,
        (uri, storage_options): (&str, &StorageOptions),
        options: ReadOptions,
        config: TableConfig,
        timeline: Timeline,
    ) -> Result<Self> {
        let merge = config.merge_by(options.semantics).map_err(|error| error.in_file(uri))?;
        let (uri, storage_options, metadata) = (uri.to_owned(), storage_options.clone(), OnceLock::new());
        let known_schema = Mutex::default();
        Ok(Self { uri, storage_options, storage, config, merge, timeline, options, metadata, known_schema })
    }

    /// The table with other options of reading, in the state that it has. Nothing is read.
    ///
    /// # Errors
    /// As for the merge configuration in [`OpenTable::open`].
    pub fn with_read_options(&self, options: ReadOptions) -> Result<Self> {
        let (storage, timeline) = (Arc::clone(&self.storage), self.timeline.clone());
        let place = (self.uri.as_str(), &self.storage_options);
        Self::from_parts(storage, place, options, self.config.clone(), timeline)
    }

    /// The table with an instant in a state that it has reached since it was opened. Nothing is read.
    ///
    /// # Errors
    /// As for the merge configuration in [`OpenTable::open`], which the table has passed.
    pub fn with_instant(&self, reached: Instant) -> Result<Self> {
        let (storage, timeline) = (Arc::clone(&self.storage), self.timeline.with_instant(reached));
        let place = (self.uri.as_str(), &self.storage_options);
        Self::from_parts(storage, place, self.options.clone(), self.config.clone(), timeline)
    }
}
