//! A table that a service job works on: where it is, and how it is opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commit::{Clock, Concurrency, TimelineWriter};
use crate::metadata_upkeep::MetadataUpkeep;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{ReadOptions, TableConfig, WriteOptions};
use mortice_storage::{FileStore, StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;

/// A table, its storage and the options of a service.
pub struct TableAccess {
    uri: String,
    storage: StorageOptions,
    options: BTreeMap<String, String>,
    /// The table's root.
    pub(super) store: Arc<dyn FileStore>,
    /// How its writers keep out of each other's way.
    pub(super) concurrency: Concurrency,
}

impl TableAccess {
    /// Opens a table for a service.
    ///
    /// Args:
    ///     uri: The table's base path.
    ///     storage: Options of its storage.
    ///     options: Options of the service, by Hudi's names.
    ///     service: What messages call it.
    ///
    /// # Errors
    /// `Unsupported` for versions of tables that are not written to; `InvalidArgument` and `Unsupported` for options, by name; those of
    /// the storage.
    pub fn open(
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        service: &str,
    ) -> Result<(Self, Vec<String>)> {
        Self::at(open_file_store(uri, storage)?, uri, storage, options, service)
    }

    /// The same, of a store that is open already.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn at(
        store: Arc<dyn FileStore>,
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        service: &str,
    ) -> Result<(Self, Vec<String>)> {
        let table = OpenTable::open(uri, storage, ReadOptions::default())?;
        check_version(&table.config).map_err(|error| error.in_file(uri))?;
        let parsed = WriteOptions::parse(options, service, &table.config)?;
        let concurrency = Concurrency::from_options(&store, storage, parsed.values())?;
        let options = parsed.values().clone();
        let access = Self { uri: uri.to_owned(), storage: storage.clone(), options, store, concurrency };
        Ok((access, parsed.warnings().to_vec()))
    }

    /// The table of a write, for the services after it. The options are those of the write, checked.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn of_write(uri: &str, storage: &StorageOptions, options: &BTreeMap<String, String>) -> Result<Self> {
        let store = open_file_store(uri, storage)?;
        let concurrency = Concurrency::from_options(&store, storage, options)?;
        let (uri, storage, options) = (uri.to_owned(), storage.clone(), options.clone());
        Ok(Self { uri, storage, options, store, concurrency })
    }

    /// The options by their newest names.
    pub(super) fn options(&self) -> &BTreeMap<String, String> {
        &self.options
    }

    /// Opens the table as it is now.
    pub(super) fn table(&self) -> Result<Arc<OpenTable>> {
        OpenTable::open(&self.uri, &self.storage, ReadOptions::default()).map(Arc::new)
    }

    /// The metadata table of the table as it is now; none if it has none.
    pub(super) fn metadata(&self, table: &Arc<OpenTable>) -> Result<Option<MetadataUpkeep>> {
        MetadataUpkeep::open(Arc::clone(&self.store), table, &self.options)
    }

    pub(super) fn clock(&self, config: &TableConfig) -> Clock {
        Clock::new(config)
    }

    pub(super) fn timeline_writer(&self, config: &TableConfig) -> TimelineWriter {
        TimelineWriter::new(Arc::clone(&self.store), config)
    }
}

/// Tables of other versions have other timelines, markers or metadata tables; Hudi upgrades them when it writes.
fn check_version(config: &TableConfig) -> Result<()> {
    match config.version.number() {
        6 | 8 | 9 => Ok(()),
        other => Err(Error::unsupported(format!(
            "services of a table of version {other} (supported: 6, 8, 9); upgrade it with Hudi (`upgrade table` of its CLI)"
        ))),
    }
}
