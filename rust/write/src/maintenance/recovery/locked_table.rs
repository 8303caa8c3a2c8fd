//! A table that is opened for a service, under its lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commit::{Clock, Concurrency, HeldLock};
use crate::metadata_upkeep::MetadataUpkeep;
use crate::services::{MetadataRollback, Rollbacks};
use crate::transaction::check_version;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{ReadOptions, WriteOptions};
use mortice_storage::{FileStore, StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;

/// Where a table is, and the options of what is done to it.
pub(crate) struct ServiceRequest<'a> {
    /// The table's base path.
    pub(crate) uri: &'a str,
    /// Options of its storage.
    pub(crate) storage: &'a StorageOptions,
    /// Options by Hudi's names: those of locks, heartbeats, and the metadata table.
    pub(crate) options: &'a BTreeMap<String, String>,
}

impl ServiceRequest<'_> {
    /// Opens the table as it is now.
    ///
    /// # Errors
    /// As for [`OpenTable::open`].
    pub(crate) fn open(&self) -> Result<Arc<OpenTable>> {
        OpenTable::open(self.uri, self.storage, ReadOptions::default()).map(Arc::new)
    }
}

/// An open table, as it is since its lock was taken.
pub(crate) struct LockedTable {
    pub(crate) store: Arc<dyn FileStore>,
    pub(crate) table: Arc<OpenTable>,
    pub(crate) metadata: Option<MetadataUpkeep>,
    pub(crate) clock: Clock,
    pub(crate) concurrency: Concurrency,
    /// The options by their newest names.
    pub(crate) options: BTreeMap<String, String>,
    lock: Option<Box<dyn HeldLock>>,
}

impl LockedTable {
    /// Opens a table. With `has_lock` it takes the lock of a table that has several writers.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidArgument`, by name, for tables and options that cannot be worked with; `Io` if the lock is not free in
    /// time; those of the storage.
    pub(crate) fn open(request: &ServiceRequest<'_>, operation: &str, has_lock: bool) -> Result<Self> {
        let ServiceRequest { uri, storage, options } = *request;
        let store = open_file_store(uri, storage)?;
        let table = request.open()?;
        check_version(&table.config).map_err(|error| error.in_file(uri))?;
        let options = WriteOptions::parse(options, operation, &table.config)?.values().clone();
        let concurrency = Concurrency::from_options(&store, storage, &options)?;
        let lock = if has_lock { concurrency.lock()? } else { None };
        let table = if lock.is_some() { request.open()? } else { table };
        let metadata = MetadataUpkeep::open(Arc::clone(&store), &table, &options)?;
        let clock = Clock::new(&table.config);
        Ok(Self { store, table, metadata, clock, concurrency, options, lock })
    }

    /// Rollbacks of the table and, with it, of its metadata table.
    pub(crate) fn rollbacks(&self) -> Rollbacks<'_> {
        Rollbacks {
            store: &self.store,
            config: &self.table.config,
            clock: &self.clock,
            metadata: self.metadata.as_ref().map(|metadata| metadata as &dyn MetadataRollback),
        }
    }

    /// Rollbacks of the table alone.
    pub(crate) fn rollbacks_without_metadata(&self) -> Rollbacks<'_> {
        Rollbacks { metadata: None, ..self.rollbacks() }
    }

    /// Releases the lock after what was done, which has failed or not.
    ///
    /// # Errors
    /// That of `done`, or else of the release.
    pub(crate) fn close<T>(self, done: Result<T>) -> Result<T> {
        let released = self.concurrency.release(self.lock);
        done.and_then(|done| released.map(|()| done))
    }
}

/// The requested time that a user names.
///
/// # Errors
/// `InvalidArgument` if the text is no instant.
pub(super) fn requested_time(text: &str) -> Result<RequestedTime> {
    RequestedTime::parse(text).ok_or_else(|| {
        Error::invalid_argument(format!("{text:?} is not the requested time of an instant, such as 20240101120000000"))
    })
}
