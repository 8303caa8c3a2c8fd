//! An opened table: its properties and its timeline, read once.

use std::sync::{Arc, Mutex, OnceLock};

use super::known_schema::KnownSchema;
use crate::config::{MergeConfig, ReadOptions, TableConfig};
use crate::error::{Error, Result};
use crate::metadata_table::MetadataTable;
use crate::storage::{self, RequestCounters, Storage, StorageOptions};
use crate::timeline::Timeline;

/// The files that opening a table and its metadata table may read, for both layouts of the timeline. On remote storage
/// all are requested at once: a missing file is answered as fast, and waiting for the layout would take another round
/// trip.
const OPENED_FILES: [&str; 2] = [".hoodie/hoodie.properties", ".hoodie/metadata/.hoodie/hoodie.properties"];
const OPENED_FOLDERS: [&str; 3] = [".hoodie", ".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline"];

/// A Hudi table whose properties and timeline have been read.
pub struct OpenTable {
    pub(crate) uri: String,
    pub(crate) storage: StorageOptions,
    pub(crate) place: Arc<dyn Storage>,
    pub(crate) config: TableConfig,
    pub(crate) merge: MergeConfig,
    pub(crate) timeline: Timeline,
    pub(crate) options: ReadOptions,
    /// Opened on first use.
    pub(crate) metadata: OnceLock<std::result::Result<MetadataTable, Arc<Error>>>,
    /// The schema that was last used.
    pub(super) known_schema: Mutex<Option<KnownSchema>>,
}

impl OpenTable {
    /// Opens the table at a path or URI. [`crate::ErrorKind::NotFound`] if there is none, [`crate::ErrorKind::Unsupported`] for
    /// tables that this release cannot read.
    pub fn open(uri: &str, storage: &StorageOptions, options: ReadOptions) -> Result<Self> {
        Self::at(storage::open(uri, storage, options.mmap)?, uri, storage, options)
    }

    /// Opens a table in a storage that is already open; splits are read at `uri`.
    ///
    /// # Errors
    /// As for [`OpenTable::open`].
    pub fn at(place: Arc<dyn Storage>, uri: &str, storage: &StorageOptions, options: ReadOptions) -> Result<Self> {
        let place = match place.requests() {
            Some(_) => place,
            None => storage::counted(place, &Arc::new(RequestCounters::default())),
        };
        if let Some(requests) = place.requests() {
            requests.budget().set_limit(options.memory_limit / 4, 1);
        }
        place.begin(&OPENED_FILES, &OPENED_FOLDERS)?;
        Self::read(place, uri, storage, options)
    }

    /// Reads the properties and the timeline of a table. The files have been prefetched, or the storage is local.
    pub(super) fn read(
        place: Arc<dyn Storage>,
        uri: &str,
        storage: &StorageOptions,
        options: ReadOptions,
    ) -> Result<Self> {
        let config = TableConfig::load(place.as_ref())?;
        let merge = config.merge_by(options.semantics).map_err(|error| error.in_file(uri))?;
        let timeline = Timeline::load(&place, &config)?;
        let (uri, storage, metadata) = (uri.to_owned(), storage.clone(), OnceLock::new());
        let known_schema = Mutex::default();
        Ok(Self { uri, storage, place, config, merge, timeline, options, metadata, known_schema })
    }
}
